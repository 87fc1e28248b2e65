package drivertest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// meter tests that a call is counted in the same way on every engine.
func meter(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	var traced int64
	trace := func(_ drivers.Statement, calls int64) { traced += calls }
	c.session.Trace = trace
	cost := func(what string, want drivers.Cost) {
		t.Helper()
		if got := c.session.Take(); got != want {
			t.Errorf("%s costs %+v, expected %+v", what, got, want)
		}
		if traced != want.Calls {
			t.Errorf("%s: %d calls were traced, expected %d", what, traced, want.Calls)
		}
		traced = 0
	}
	c.write("put", "pp", 1, "12345", []byte{1, 2, 3}, 4, 5, true, someUUID, someTimeUUID, 6)
	cost("a put of all kinds", drivers.Cost{
		Calls: 1, RowsWritten: 1,
		BytesWritten: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8,
	})
	c.read("get", "pp", 1)
	cost("a get of them", drivers.Cost{Calls: 1, RowsRead: 1, BytesRead: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8})
	c.write("put", "pp", 2, nil, nil, nil, nil, nil, nil, nil, nil)
	cost("a put of nulls", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	c.read("get", "pp", 3)
	cost("a get of nothing", drivers.Cost{Calls: 1})
	c.read("all", "pp")
	cost("a slice of two rows", drivers.Cost{Calls: 1, RowsRead: 2, BytesRead: 4 + 5 + 4})
	c.read("several", "pp", list{2, 7, 1})
	cost("a get with a list in one partition", drivers.Cost{Calls: 1, RowsRead: 2, BytesRead: 4 + 5 + 4})
	c.read("first", "pp")
	cost("a slice with limit 1", drivers.Cost{Calls: 1, RowsRead: 1, BytesRead: 4 + 5})
	c.read("with_a", "pp", "12345")
	cost("a filtered slice", drivers.Cost{Calls: 1, RowsRead: 1, BytesRead: 4})
	c.write("drop", "pp", 1)
	cost("a delete", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	for i := range 3 {
		c.write("put_single", "s", []byte{byte(i)}, "v", nil)
	}
	cost("three puts", drivers.Cost{Calls: 3, RowsWritten: 3, BytesWritten: 3 * 3})
	c.read("get_singles", "s", list{[]byte{2}, []byte{9}, []byte{0}})
	cost("a get over three partitions", drivers.Cost{Calls: 3, RowsRead: 2, BytesRead: 4})
	must(c, c.batch("several_puts", with(0, "b", 1, "xy"), with(0, "b", 2, "z")))
	cost("a batch that is not atomic", drivers.Cost{Calls: 2, RowsWritten: 2, BytesWritten: 7 + 6})

	a := begin(t, open, "batches.yaml")
	if a.offers("in_partition") {
		c = a.client()
		c.session.Trace = trace
		must(c, c.batch("in_partition", with(0, "p", 1, "v", nil), with(2, "p", 1, 1, []byte{1, 2})))
		cost("an atomic batch", drivers.Cost{Calls: 1, RowsWritten: 2, BytesWritten: 6 + 1 + 4 + 4 + 2})
	}
	c = begin(t, open, "conditions.yaml").client()
	c.session.Trace = trace
	c.write("create", "p", 1, "a", 2, true)
	if r, err := c.try("create", "p", 1, "a", 2, true); err != nil || r.Applied {
		t.Fatalf("a second creation: applied %v, %v", r.Applied, err)
	}
	cost("a put-if that is applied and one that is not",
		drivers.Cost{Calls: 2, RowsWritten: 1, BytesWritten: 1 + 4 + 1 + 8 + 1})
}
