package drivertest

import "testing"

// statics tests static columns. They have one value for each partition, beside its rows.
func statics(t testing.TB, open Open) {
	c := begin(t, open, "statics.yaml").client()
	c.expect(nil, "title", "p", 1)
	c.write("put", "p", 1, 1, "a")
	c.write("put", "p", 1, 2, "b")
	c.expect([]string{"2 b null", "1 a null"}, "titled", "p", 1)
	c.write("retitle", "p", 1, "T", 5)
	c.expect([]string{"p 1 T 5"}, "title", "p", 1)
	c.expect([]string{"2 b T", "1 a T"}, "titled", "p", 1)
	c.expect([]string{"2 b", "1 a"}, "rows", "p", 1) // the static columns make no row
	c.expect([]string{"1 T a"}, "one", "p", 1, 1)
	c.write("retitle_only", "p", 1, "U")
	c.expect([]string{"p 1 U 5"}, "title", "p", 1)
	c.expect([]string{"2 b U", "1 a U"}, "titled", "p", 1)

	c.write("retitle", "p", 0, "neighbour", nil)
	c.write("retitle", "p", 2, "", 0)
	c.write("put", "p", 0, 1, "n")
	c.expect([]string{`p 2 "" 0`}, "title", "p", 2) // a partition of nothing but statics
	c.expect(nil, "titled", "p", 2)
	c.write("put", "q", 1, 1, "no title")
	c.same([]string{"p 1 U 5", "p 0 neighbour null", `p 2 "" 0`}, "titles")
	c.same([]string{"p 1 1 U", "p 1 2 U", "p 0 1 neighbour", "q 1 1 null"}, "scan")

	// Static columns stay when rows are deleted, and go with their partition.
	c.write("drop", "p", 1, 1)
	c.write("drop", "p", 1, 2)
	c.expect([]string{"p 1 U 5"}, "title", "p", 1)
	c.expect(nil, "titled", "p", 1)
	c.write("put", "p", 1, 3, "c")
	c.expect([]string{"3 c U"}, "titled", "p", 1)
	c.write("drop_all", "p", 1)
	c.expect(nil, "titled", "p", 1)
	c.expect(nil, "title", "p", 1)
	c.expect([]string{"p 0 neighbour null"}, "title", "p", 0)
	c.expect([]string{"1 n neighbour"}, "titled", "p", 0)
	c.same([]string{"p 0 neighbour null", `p 2 "" 0`}, "titles")
	c.write("put", "p", 1, 4, "d")
	c.expect([]string{"4 d null"}, "titled", "p", 1) // the old title does not come back
}
