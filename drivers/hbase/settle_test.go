package hbase

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// TestSettleYoung: what was written to tables that no region server has reported yet
// is flushed too.
func TestSettleYoung(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	noise := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 1<<20)
	for k := range 4 {
		noise.Read(large)
		w.write("put", drivers.Text("p"), drivers.Int(int32(k)), drivers.TextBytes([]byte(hex.EncodeToString(large))))
	}
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := st.Observe(); o.DiskBytes < 7<<20 {
		t.Errorf("%d bytes are in files, expected at least 7 MiB", o.DiskBytes)
	}
}

// TestSettleMoved: a region that moves while HBase settles is flushed where it is.
func TestSettleMoved(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	awaitRegions(t, st, 2)
	reported, _, err := st.servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := true
	err = st.everywhere(t.Context(), func(servers []server) error {
		if first { // the report of servers is old now
			first = false
			servers = reported
			for _, sv := range servers {
				for _, r := range sv.regions {
					move(t, st, r)
				}
			}
		}
		return flushAll(t.Context(), servers)
	})
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := st.servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sv := range reported {
		for _, r := range sv.regions {
			if slices.ContainsFunc(now, func(n server) bool {
				return n.addr == sv.addr && slices.ContainsFunc(n.regions, func(k []byte) bool { return bytes.Equal(k, r) })
			}) {
				t.Errorf("%s has region %s still", sv.addr, r)
			}
		}
	}
}

// move makes the master move a region to another server, and waits until it is there.
func move(t *testing.T, st *Store, region []byte) {
	t.Helper()
	encoded := bytes.Split(region, []byte("."))
	request := &pb.MoveRegionRequest{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_ENCODED_REGION_NAME.Enum(), Value: encoded[len(encoded)-2]}}
	if err := st.askMaster(t.Context(), "MoveRegion", request, &pb.MoveRegionResponse{}); err != nil {
		t.Fatal(err)
	}
}

// TestSettle flushes and compacts a table in whose files deletes and puts of
// the same moments lie: what was written last is there at each stage, and
// Settle is back once HBase is quiet.
func TestSettle(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	awaitRegions(t, st, 2)
	w := newWorker(t, st, s)
	p := drivers.Text("p")
	const rows = 60
	write := func(round int) {
		for k := range rows {
			key := drivers.Int(int32(k))
			w.write("put", p, key, drivers.Text("old"))
			w.write("put_tags", p, key, drivers.SetOf([]drivers.Value{drivers.Text("old")}))
			w.write("drop", p, key)
			if k%2 == 0 {
				w.write("put", p, key, drivers.Text(fmt.Sprint("new", round)))
				w.write("put_tags", p, key, drivers.SetOf([]drivers.Value{drivers.Text("new")}))
				w.write("add", p, key, drivers.Bigint(int64(round)))
			}
		}
	}
	check := func(stage string, round int) {
		t.Helper()
		for k := range rows {
			n, want := 0, (k+1)%2
			err := w.session.Read(t.Context(), w.prepare("get"), []drivers.Value{p, drivers.Int(int32(k))}, func(row []drivers.Value) error {
				n++
				if tags := row[2].Elems(); row[0].Str() != fmt.Sprint("new", round) || row[1].Int64() != int64(round) || len(tags) != 1 || tags[0].Str() != "new" {
					t.Errorf("%s: row %d holds %v", stage, k, row)
				}
				return nil
			})
			if err != nil || n != want {
				t.Fatalf("%s: %d rows with key %d, %v; expected %d", stage, n, k, err, want)
			}
		}
	}
	for round := 1; round <= 3; round++ { // three files, with newer and older cells of the same rows
		write(round)
		check("in memory", round)
		if err := st.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("flushed", round)
	}
	majorCompact(t, st)
	err := st.everywhere(t.Context(), func(servers []server) error {
		for _, sv := range servers {
			if busy, err := sv.compacting(t.Context()); busy || err != nil {
				return fmt.Errorf("settled, and compacting %v: %w", busy, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	check("compacted", 3)
	noise := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 1<<20)
	for k := range 6 {
		noise.Read(large)
		w.write("put", p, drivers.Int(int32(rows+k)), drivers.TextBytes([]byte(hex.EncodeToString(large))))
	}
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := st.Observe() // sizes are reported in whole megabytes, a family each
	if o.DiskBytes < 11<<20 || o.DiskBytes > 16<<20 || o.Settings["region_servers"] == "" || o.Settings["regions"] != "2" {
		t.Errorf("observed %+v", o)
	}
}
