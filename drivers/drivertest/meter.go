package drivertest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// meter tests what sessions and their meter count. How many requests a batch is, and how many rows
// a condition reads, is the engine's own affair: see between.
func meter(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	var traced int64
	trace := func(_ drivers.Statement, calls int64) { traced += calls }
	c.session.Trace = trace
	tells := c.caps.InProcess
	// A server may take a request for each element of a list of three, and for a put of some
	// columns one that changes the row and one that makes it.
	listed, put := int64(3), int64(2)
	if c.caps.InProcess {
		listed, put = 1, 1
	}
	check := func(what string, got, want drivers.Cost) {
		t.Helper()
		if !tells { // an engine that tells nothing of one call tells nothing of all
			want.Untold, want.RowsExamined = got.Untold, 0
		}
		if !tells && got.Untold == 0 {
			t.Errorf("%s: %+v; want the rows examined untold, as before", what, got)
		}
		if got != want {
			t.Errorf("%s costs %+v, expected %+v", what, got, want)
		}
		if traced != want.Calls {
			t.Errorf("%s: %d calls were traced, expected %d", what, traced, want.Calls)
		}
		traced = 0
	}
	cost := func(what string, want drivers.Cost) {
		t.Helper()
		check(what, c.session.Take(), want)
	}
	between := func(what string, least, most drivers.Cost) {
		t.Helper()
		got := c.session.Take()
		least.Calls = min(max(got.Calls, least.Calls), most.Calls)
		least.RowsExamined = min(max(got.RowsExamined, least.RowsExamined), most.RowsExamined)
		check(what, got, least)
	}
	c.write("put_a", "z", 1, "v")
	tells = c.session.Take().Untold == 0 || tells
	traced = 0
	c.write("put", "pp", 1, "12345", []byte{1, 2, 3}, 4, 5, true, someUUID, someTimeUUID, 6)
	cost("a put of all kinds", drivers.Cost{
		Calls: 1, RowsWritten: 1,
		BytesWritten: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8,
	})
	c.read("get", "pp", 1)
	cost("a get of them", drivers.Cost{
		Calls: 1, RowsExamined: 1, RowsRead: 1,
		BytesRead: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8,
	})
	c.write("put", "pp", 2, nil, nil, nil, nil, nil, nil, nil, nil)
	cost("a put of nulls", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	c.read("get", "pp", 3)
	cost("a get of nothing", drivers.Cost{Calls: 1})
	c.read("all", "pp")
	cost("a slice of two rows", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4 + 5 + 4})
	c.read("several", "pp", list{2, 7, 1})
	between("a get with a list in one partition",
		drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4 + 5 + 4},
		drivers.Cost{Calls: listed, RowsExamined: 2})
	c.read("first", "pp")
	cost("a slice with limit 1", drivers.Cost{Calls: 1, RowsExamined: 1, RowsRead: 1, BytesRead: 4 + 5})
	c.read("with_a", "pp", "12345")
	cost("a filtered slice", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 1, BytesRead: 4})
	c.write("drop", "pp", 1)
	cost("a delete", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	for i := range 3 {
		c.write("put_single", "s", []byte{byte(i)}, "v", nil)
	}
	cost("three puts", drivers.Cost{Calls: 3, RowsWritten: 3, BytesWritten: 3 * 3})
	c.read("get_singles", "s", list{[]byte{2}, []byte{9}, []byte{0}})
	between("a get over three partitions", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4},
		drivers.Cost{Calls: 3, RowsExamined: 2})
	must(c, c.batch("several_puts", with(0, "b", 1, "xy"), with(0, "b", 2, "z")))
	between("a batch that is not atomic", drivers.Cost{Calls: 1, RowsWritten: 2, BytesWritten: 7 + 6},
		drivers.Cost{Calls: 2 * put})
	for i := range 3 {
		c.write("put_a", "d", i, "v")
	}
	c.session.Take()
	traced = 0
	c.session.Repeating(true)
	c.read("all", "d")
	c.write("put_a", "d", 2, "v")
	c.session.Repeating(false)
	got := c.session.Take()
	if want := (drivers.Cost{Retries: 2, RowsWritten: 1, BytesWritten: 1 + 4 + 1}); got != want || traced != 0 {
		t.Errorf("a read and a put that repeat earlier ones cost %+v and %d traced calls, expected %+v and none", got, traced, want)
	}

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
	between("a put-if that is applied and one that is not",
		drivers.Cost{Calls: 2, RowsExamined: 1, RowsWritten: 1, BytesWritten: 1 + 4 + 1 + 8 + 1},
		drivers.Cost{Calls: 2, RowsExamined: 2})
}
