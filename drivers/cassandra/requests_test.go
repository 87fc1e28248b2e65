package cassandra

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

var errStop = errors.New("stop")

// TestPagesAreRequests: each page of a result is a request, for the session's counter and for
// Cassandra's own tracing.
func TestPagesAreRequests(t *testing.T) {
	st := openLive(t, map[string]string{"page_size": "2"})
	r := run(t, st, schemaOf(t, "pages", flagsBody))
	for k := range int32(5) {
		r.write("put", drivers.Text("p"), drivers.Int(k), drivers.Bigint(1), drivers.Boolean(true))
	}
	traced, err := st.Traced()
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close()
	for _, x := range []struct{ stop, want int64 }{{0, 3}, {2, 1}, {3, 2}} {
		traced.Begin()
		n := int64(0)
		err := traced.Read(t.Context(), r.stmt("rows_of"), []drivers.Value{drivers.Text("p")}, func([]drivers.Value) error {
			if n++; n == x.stop {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			t.Fatal(err)
		}
		c := traced.Take()
		work, err := traced.Work(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.Requests != x.want || work[0].Requests != x.want {
			t.Errorf("up to row %d: %d requests are counted, and Cassandra traced %d; want %d", x.stop, c.Requests, work[0].Requests, x.want)
		}
	}
}

// TestUnloggedBatches: a batch without a log that is too large goes in several requests, and
// deletes in other partitions come after the puts.
func TestUnloggedBatches(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "parts", `
tables:
  rows: {partition: [p text], clustering: [c int], columns: {a: text}, hints: {cassandra: {batches: unlogged}}}
patterns:
  put: {put: rows}
  drop: {delete: rows, by: [p, c]}
  of: {slice: rows, by: p, columns: c}
  change: {batch: [{run: put, each: x}, {run: drop, each: x}]}
`))
	put := func(p string, c int, size int) drivers.Call {
		return drivers.Call{Args: []drivers.Value{
			drivers.Text(p), drivers.Int(int32(c)), drivers.TextBytes(make([]byte, size)),
		}}
	}
	drop := func(p string, c int) drivers.Call {
		return drivers.Call{Part: 1, Args: []drivers.Value{drivers.Text(p), drivers.Int(int32(c))}}
	}
	limit := int(st.limits.batch)
	var many []drivers.Call
	for i := range 100 {
		many = append(many, put("many", i, limit/20))
	}
	for i := range 100 {
		many = append(many, put("others", i, limit/20))
	}
	var spread []drivers.Call
	for i := range 40 {
		spread = append(spread, put(fmt.Sprint(i), 1, limit/20))
	}
	for _, x := range []struct {
		what  string
		parts []drivers.Call
		want  int64
	}{
		{"two partitions", []drivers.Call{put("a", 1, 10), put("b", 1, 10)}, 1},
		{"puts and deletes of two partitions", []drivers.Call{put("c", 1, 10), drop("a", 1), drop("b", 1)}, 2},
		{"puts and deletes of one", []drivers.Call{put("c", 2, 10), drop("c", 1)}, 1},
		{"one partition is one mutation", many[:100], 1},
		{"two partitions that are too large together", many, 2},
		{"40 partitions of a twentieth of the limit", spread, 3},
		{"two that are too large together", []drivers.Call{put("a", 1, limit*2/3), put("b", 1, limit*2/3)}, 2},
	} {
		r.session.Take()
		if err := r.session.Batch(t.Context(), r.stmt("change"), x.parts); err != nil {
			t.Errorf("%s: %v", x.what, err)
		}
		if got := r.session.Take().Requests; got != x.want {
			t.Errorf("%s: %d requests, want %d", x.what, got, x.want)
		}
	}
	for p, want := range map[string]int{"a": 1, "b": 1, "c": 1, "many": 100, "others": 100} {
		n := 0
		if err := r.session.Read(t.Context(), r.stmt("of"), []drivers.Value{drivers.Text(p)}, func([]drivers.Value) error {
			n++
			return nil
		}); err != nil || n != want {
			t.Errorf("partition %s has %d rows, want %d, %v", p, n, want, err)
		}
	}
}
