package hbase

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestScanned counts the rows that HBase reads for a filter, and for a traced slice: the same in
// memory and in files, wherever the scan begins.
func TestScanned(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, `
schema: 1
name: examined
tables:
  mail: {partition: [p text], clustering: [k int], columns: {a: text, n: int}}
patterns:
  put: {put: mail}
  all: {slice: mail, by: p, columns: [k, a]}
  with: {slice: mail, by: p, filter: a, columns: [k]}
  page: {slice: mail, by: p, filter: a, after: k, limit: arg, columns: [k]}
  back: {slice: mail, by: p, filter: a, reverse: true, columns: [k]}
  some: {slice: mail, by: p, in: k, filter: a, columns: [k]}
  scan: {scan: mail, filter: a, columns: [k]}
`)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	p, x := drivers.Text("pp"), drivers.Text("x")
	for k := range 5 {
		w.write("put", p, drivers.Int(int32(2*k)), x, drivers.Int(0))
		x = drivers.Value{} // all but the first row are filtered out
	}
	w.write("put", drivers.Text("pq"), drivers.Int(1), drivers.Text("y"), drivers.Int(0))
	x = drivers.Text("x")
	list := drivers.ListOf([]drivers.Value{drivers.Int(0), drivers.Int(3), drivers.Int(4)})
	traced, err := st.Traced()
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close()
	for _, where := range []string{"memory", "files"} {
		w.session.Take()
		for _, r := range []struct {
			pattern string
			args    []drivers.Value
			want    int64
		}{
			{"with", []drivers.Value{p, x}, 5},
			{"page", []drivers.Value{p, x, drivers.Int(3), drivers.Bigint(10)}, 3},
			{"back", []drivers.Value{p, x}, 5},
			{"some", []drivers.Value{p, list, x}, 3}, // it passes row 2 on its way to row 4
			{"scan", []drivers.Value{x}, 6},
		} {
			w.numbers(r.pattern, r.args...)
			if c := w.session.Take(); c.RowsScanned != r.want || c.Unreported > 0 {
				t.Errorf("in %s, %s examines %d rows, want %d (%d untold)", where, r.pattern, c.RowsScanned, r.want, c.Unreported)
			}
		}
		traced.Begin()
		rows := 0
		err := traced.Read(t.Context(), w.prepare("all"), []drivers.Value{p}, func([]drivers.Value) error { rows++; return nil })
		work, werr := traced.Work(t.Context())
		if err != nil || werr != nil || len(work) != 1 || work[0].Rows != 5 || rows != 5 {
			t.Errorf("in %s, a traced slice of 5 rows yields %d, and its work is %+v; %v, %v", where, rows, work, err, werr)
		}
		if err := st.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
