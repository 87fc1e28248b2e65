package hbase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

const saltSchema = `
schema: 1
name: salted
tables:
  mail:
    partition: [id timeuuid]
    clustering: [n int]
    static: {title: text}
    columns: {a: text, b: bigint}
    hints: {hbase: {salt: 8}}
  mail.parts: {parent: mail, clustering: [part int], columns: {data: blob}}
  plain: {partition: [id timeuuid], columns: {a: blob, b: bigint}}
  users: {partition: [user text], columns: {b: bigint}, rows: [{each: user, sizes: {user: address}}]}
patterns:
  put: {put: mail}
  title: {put: mail, static: true, by: id}
  rows: {slice: mail, by: id, columns: [n, a, title]}
  behind: {slice: mail, by: id, after: n, limit: arg, columns: n}
  back: {slice: mail, by: id, from: n, reverse: true, columns: n}
  some: {get: mail, in: n, columns: n}
  scan: {scan: mail, columns: [n, id]}
  part: {put: mail.parts}
  parts: {slice: mail.parts, by: [id, n], columns: part}
  drop: {delete: mail, by: [id, n]}
  wipe: {delete: mail, by: id}
  plain: {put: plain}
  user: {put: users}
`

// idOf is a timeuuid, the later the larger n is.
func idOf(n int) drivers.Value {
	return drivers.TimeUUID([16]byte{0: byte(n >> 24), 1: byte(n >> 16), 2: byte(n >> 8), 3: byte(n), 6: 0x10, 8: 0x80})
}

// TestSalt reads, divides and deletes rows of a salted table as of any other.
func TestSalt(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, saltSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	n := func(i int) drivers.Value { return drivers.Int(int32(i)) }
	for i := range 40 {
		for k := range 3 {
			w.write("put", idOf(i), n(k), drivers.Text("a"), drivers.Bigint(1))
			w.write("part", idOf(i), n(k), n(7), drivers.Blob([]byte("data")))
		}
		w.write("title", idOf(i), drivers.Text("title"))
	}
	expect := func(what string, want, got []int) {
		t.Helper()
		if !slices.Equal(want, got) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	for i := range 40 {
		expect("rows", []int{0, 1, 2}, w.numbers("rows", idOf(i)))
		expect("the page behind", []int{1, 2}, w.numbers("behind", idOf(i), n(0), drivers.Bigint(9)))
		expect("backwards", []int{2, 1}, w.numbers("back", idOf(i), n(1)))
		expect("a list", []int{2, 0}, w.numbers("some", idOf(i), drivers.ListOf([]drivers.Value{n(2), n(5), n(0)})))
		expect("a nested table", []int{7}, w.numbers("parts", idOf(i), n(1)))
	}
	ranges, err := st.Split(t.Context(), w.prepare("scan"), 5)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := st.Within(t.Context(), w.prepare("scan"), ranges)
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, %v; expected some", len(parts), err)
	}
	rows := 0
	for _, part := range parts {
		if err := w.session.Read(t.Context(), part, nil, func([]drivers.Value) error { rows++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if all := len(w.numbers("scan")); rows != 120 || all != 120 {
		t.Errorf("%d rows in all parts, %d in one scan; expected 120", rows, all)
	}
	w.write("drop", idOf(3), n(1))
	expect("after a delete", []int{0, 2}, w.numbers("rows", idOf(3)))
	w.write("wipe", idOf(4))
	expect("after a delete of a partition", nil, w.numbers("rows", idOf(4)))
	expect("its neighbor", []int{0, 1, 2}, w.numbers("rows", idOf(5)))
	back, err := st.Inspect(t.Context(), s.Name)
	if err != nil || back.Table("mail").Hints["hbase"]["salt"] != "8" {
		t.Errorf("inspected: %v, %v", back, err)
	}
	for _, hint := range []string{"salt: 1", "salt: 257", "salt: many"} {
		if _, err := newLayout("", parse(t, "schema: 1\nname: x\ntables:\n  a: {partition: [p text], columns: {v: text}, hints: {hbase: {"+hint+"}}}\n")); err == nil {
			t.Errorf("hint %s is taken", hint)
		}
	}
}

// TestSaltSpreads writes rows in the order of their time, as deliveries do. On two region servers
// each takes about half of those of a salted table, and one takes all of another table's. Of the
// users, whose addresses all begin with the same letters, each has about half as well.
func TestSaltSpreads(t *testing.T) {
	in := live.HBase2(t)
	user := func(i int) string { return fmt.Sprintf("ann.%04d@mailbench.example", i) }
	o := drivers.Options{Contact: in.Contact(), Namespace: newNamespace(), Settings: map[string]string{"pre_split": "8"}}
	for i := range 100 {
		o.Users = append(o.Users, user(i*20))
	}
	st := drivertest.OpenLive(t, Engine(), o).(*Store)
	balancer(t, st, false)
	s := parse(t, saltSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	const rows = 2000
	for i := range rows {
		w.write("put", idOf(i), drivers.Int(1), drivers.Text("a"), drivers.Bigint(1))
		w.write("plain", idOf(i), drivers.Blob(nil), drivers.Bigint(1))
		w.write("user", drivers.Text(user(i)), drivers.Bigint(1))
	}
	for table, spread := range map[string]bool{"mail": true, "plain": false, "users": true} {
		writes := writesOf(t, st, s, table)
		var all, most int64
		for _, n := range writes {
			all, most = all+n, max(most, n)
		}
		t.Logf("table %s: writes of the region servers %v", table, slices.Sorted(maps.Values(writes)))
		if share := float64(most) / float64(all); all < rows || spread != (share <= 0.6) {
			t.Errorf("table %s: one region server takes %.0f %% of %d writes", table, 100*share, all)
		}
	}
}

// balancer turns HBase's balancer on or off for a test: a region that moves counts its writes from 0 again.
func balancer(t *testing.T, st *Store, on bool) {
	t.Helper()
	var before pb.SetBalancerRunningResponse
	request := &pb.SetBalancerRunningRequest{On: &on, Synchronous: new(true)}
	if err := st.askMaster(t.Context(), "SetBalancerRunning", request, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		request := &pb.SetBalancerRunningRequest{On: before.PrevBalanceValue, Synchronous: new(true)}
		if err := st.askMaster(context.Background(), "SetBalancerRunning", request, &before); err != nil {
			t.Error(err)
		}
	})
}

// writesOf returns how many writes each region server has counted for a table's regions.
func writesOf(t *testing.T, st *Store, s *schemas.Schema, table string) map[string]int64 {
	t.Helper()
	if err := st.awaitReports(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := st.status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writes := make(map[string]int64)
	for _, live := range status.GetLiveServers() {
		for _, r := range live.GetServerLoad().GetRegionLoads() {
			if strings.HasPrefix(string(r.GetRegionSpecifier().GetValue()), prefixOf(st.Namespace, s.Name)+table+",") {
				writes[fmt.Sprint(live.GetServer().GetHostName(), live.GetServer().GetPort())] += int64(r.GetWriteRequestsCount())
			}
		}
	}
	return writes
}
