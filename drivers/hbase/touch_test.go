package hbase

import (
	"fmt"
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

const touchSchema = `
schema: 1
name: touch
tables:
  texts: {partition: [p text], clustering: [k int], columns: {v: text}}
patterns:
  put: {put: texts}
  touch: {put: texts, columns: []}
  drop: {delete: texts, by: [p, k]}
  wipe: {delete: texts, by: p}
  row: {batch: [{run: put, each: x}, {run: drop, each: x}, {run: touch, each: x}], atomic: row}
  all: {slice: texts, by: p}
`

// TestTouch: a put of no column makes a row exist and leaves the value of one that exists as it is,
// by a plain Put, whatever was written or deleted before, also after files are merged.
func TestTouch(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, touchSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	sent := &recorder{RPCClient: st.regions}
	w.session.(*session).RPC = sent
	row := func(p string) (got string) {
		err := w.session.Read(t.Context(), w.prepare("all"), []drivers.Value{drivers.Text(p)}, func(row []drivers.Value) error {
			got += fmt.Sprint(row[1].Int64(), "=", map[bool]string{true: "null", false: row[2].Str()}[row[2].IsNull()], " ")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	part := func(part int, vals ...drivers.Value) drivers.Call { return drivers.Call{Part: part, Args: vals} }
	for _, c := range []struct {
		what  string
		steps func(p, k drivers.Value)
		want  string
	}{
		{"a touch", func(p, k drivers.Value) { w.write("touch", p, k) }, "1=null "},
		{"a value, a touch", func(p, k drivers.Value) {
			w.write("put", p, k, drivers.Text("v"))
			w.write("touch", p, k)
		}, "1=v "},
		{"a touch, a value, a touch", func(p, k drivers.Value) {
			w.write("touch", p, k)
			w.write("put", p, k, drivers.Text("v"))
			w.write("touch", p, k)
		}, "1=v "},
		{"a value, a delete, a touch", func(p, k drivers.Value) {
			w.write("put", p, k, drivers.Text("v"))
			w.write("drop", p, k)
			w.write("touch", p, k)
		}, "1=null "},
		{"a touch, a delete", func(p, k drivers.Value) {
			w.write("touch", p, k)
			w.write("drop", p, k)
		}, ""},
		{"a touch, a delete of the partition, a touch, a value", func(p, k drivers.Value) {
			w.write("touch", p, k)
			w.write("wipe", p)
			w.write("touch", p, k)
			w.write("put", p, k, drivers.Text("new"))
		}, "1=new "},
		{"a value and a touch at once", func(p, k drivers.Value) {
			batch(w, "row", part(0, p, k, drivers.Text("v")), part(2, p, k))
		}, "1=v "},
		{"over a value, a delete and a touch at once", func(p, k drivers.Value) {
			w.write("put", p, k, drivers.Text("v"))
			batch(w, "row", part(1, p, k), part(2, p, k))
		}, "1=null "},
		{"a touch and a delete at once", func(p, k drivers.Value) {
			batch(w, "row", part(2, p, k), part(1, p, k))
		}, ""},
	} {
		for i := range 20 {
			c.steps(drivers.Text(fmt.Sprint(c.what, i)), drivers.Int(1))
		}
		for i := range 20 {
			if got := row(fmt.Sprint(c.what, i)); got != c.want {
				t.Fatalf("%s, round %d: rows %q, expected %q", c.what, i, got, c.want)
			}
		}
		defer func() { // after the last steps
			for i := range 20 {
				if got := row(fmt.Sprint(c.what, i)); got != c.want {
					t.Errorf("%s, round %d, after a major compaction: rows %q, expected %q", c.what, i, got, c.want)
				}
			}
		}()
	}
	sent.sent = nil
	w.write("touch", drivers.Text("one"), drivers.Int(1))
	if len(sent.sent) != 1 || sent.conditions > 0 {
		t.Errorf("a touch sends %v, with %d conditions; expected one Mutate without any", sent.sent, sent.conditions)
	}
	majorCompact(t, st)
}

func batch(w *worker, pattern string, parts ...drivers.Call) {
	w.Helper()
	if err := w.session.Batch(w.Context(), w.prepare(pattern), parts); err != nil {
		w.Fatal(err)
	}
}

// majorCompact flushes the store's regions and has HBase merge all files of each.
func majorCompact(t *testing.T, st *Store) {
	t.Helper()
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := st.everywhere(t.Context(), func(servers []server) error {
		for _, sv := range servers {
			err := sv.each(t.Context(), "CompactRegion", func(r *pb.RegionSpecifier) proto.Message {
				return &pb.CompactRegionRequest{Region: r, Major: proto.Bool(true)}
			}, &pb.CompactRegionResponse{}, func() {})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}
