package drivertest

import (
	"fmt"
	"slices"
	"testing"
)

// numbered puts rows 1 to n into a partition; their column a is x in every
// third row and y in the others.
func numbered(c *client, p string, n int) {
	for k := 1; k <= n; k++ {
		c.write("put_a", p, k, mark(k))
	}
}

func mark(k int) string {
	if k%3 == 0 {
		return "x"
	}
	return "y"
}

// numbers returns the lines of the rows from one number to another, up or down.
func numbers(from, to int) []string {
	want := []string{row(from, mark(from))}
	for from != to {
		if from < to {
			from++
		} else {
			from--
		}
		want = append(want, row(from, mark(from)))
	}
	return want
}

// limits tests that no read yields more rows than its limit.
func limits(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	numbered(c, "p", 40)
	c.expect(numbers(1, 1), "first", "p")
	c.expect(numbers(40, 40), "last", "p")
	for _, n := range []int{1, 2, 39, 40} {
		c.expect(numbers(1, n), "page", "p", nil, n)
	}
	c.expect(numbers(1, 40), "page", "p", nil, 41)
	c.expect(numbers(1, 40), "page", "p", nil, 1<<31) // more than an int32 holds
	c.expect(nil, "first", "empty")
	// With a list, the limit counts all rows together, and no missing ones.
	c.expect([]string{"9 x", "2 y", "7 y"}, "several_first", "p", list{9, 99, 2, 7, 1}, 3)
	c.expect([]string{"9 x"}, "several_first", "p", list{9, 2}, 1)
	c.expect([]string{"9 x", "2 y"}, "several_first", "p", list{9, 2}, 5)
	c.expect([]string{"9 x", "2 y"}, "several_ends", "p", list{9, 2, 5})
	// With a filter, the limit counts the rows that pass it.
	c.expect([]string{"3 null", "6 null", "9 null"}, "with_a_some", "p", "x")
	c.expect([]string{"3", "6"}, "with_a_paged", "p", "x", nil, 2)
	c.expect([]string{"33", "36", "39"}, "with_a_paged", "p", "x", 30, 4)
	if got := c.read("scan_some"); len(got) != 7 {
		t.Errorf("a scan with limit 7 yields %d rows", len(got))
	}

	g := begin(t, open, "composite.yaml").client()
	fillGrid(g, "p", 0)
	all := where("p", 0, everywhere)
	for _, n := range []int{1, 14, 15, 16} { // within, at and past the end of one x
		g.expect(all[:n], "page", "p", 0, nil, nil, nil, n)
	}
	at := where("p", 0, func(k cell) bool { return k.x == 1 && k.y == "b" })
	at = append(at, where("p", 0, func(k cell) bool { return k.x == 1 && k.y == "a" })...)
	for n := range 6 {
		g.expect(at[:n+1], "in_y", "p", 0, 1, list{"b", "nowhere", "a"}, n+1)
	}
}

// paging tests that all pages together are the whole partition.
func paging(t testing.TB, open Open) {
	c := begin(t, open, "composite.yaml").client()
	fillGrid(c, "p", 0)
	all := cells()
	for _, limit := range []int{1, 7, 15, 75} {
		pages(c, "page", all, limit)
	}
	slices.Reverse(all)
	pages(c, "page_back", all, 7)

	// The row after which a page begins may have been deleted.
	gone := all[20]
	c.write("drop", "p", 0, gone.x, gone.y, gone.z)
	c.expect([]string{all[21].line("p", 0)}, "page_back", "p", 0, gone.x, gone.y, gone.z, 1)
	c.expect([]string{all[19].line("p", 0)}, "page", "p", 0, gone.x, gone.y, gone.z, 1)
	// That row may never have existed.
	c.expect([]string{cell{1, "", 1}.line("p", 0)}, "page", "p", 0, 2, "zz", 0, 1)
	c.expect([]string{cell{300, "b", -1}.line("p", 0)}, "page_back", "p", 0, 2, "zz", 0, 1)
}

// pages reads all cells page by page.
func pages(c *client, pattern string, all []cell, limit int) {
	c.fail.Helper()
	after := []any{nil, nil, nil}
	for len(all) > 0 {
		page := all[:min(limit, len(all))]
		var want []string
		for _, k := range page {
			want = append(want, k.line("p", 0))
		}
		c.expect(want, pattern, append(append([]any{"p", 0}, after...), limit)...)
		last := page[len(page)-1]
		after = []any{last.x, last.y, last.z}
		all = all[len(page):]
	}
	c.expect(nil, pattern, append(append([]any{"p", 0}, after...), limit)...)
}

// multiget tests reads with a list of keys. Rows come in list order, and missing rows
// are left out.
func multiget(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	numbered(c, "p", 12)
	c.expect([]string{"7 y", "3 x", "12 x", "1 y"}, "several", "p", list{7, 99, 3, 12, -1, 1})
	c.expect([]string{"1 y", "2 y", "3 x"}, "several", "p", list{1, 2, 3})
	c.expect(nil, "several", "p", list{98, 99})
	c.expect(nil, "several", "p", list{})
	c.expect(nil, "several", "nowhere", list{1, 2})
	var keys list
	var want []string
	for i := range 100 { // a long list of few rows
		keys = append(keys, 100-i)
		if 100-i <= 12 {
			want = append(want, row(100-i, mark(100-i)))
		}
	}
	c.expect(want, "several", "p", keys)

	// A list may name partitions, which an engine may read in parallel.
	for i := range 9 {
		c.write("put_single", "p", []byte{byte(i)}, fmt.Sprint("v", i), nil)
	}
	c.write("put_single", "q", []byte{77}, "neighbour", nil)
	c.expect([]string{"0x08 v8", "0x00 v0", "0x03 v3"}, "get_singles", "p",
		list{[]byte{8}, []byte{77}, []byte{0}, []byte{3}})

	g := begin(t, open, "composite.yaml").client()
	fillGrid(g, "p", 0)
	at := func(x int) []string { return where("p", 0, func(k cell) bool { return k.x == x }) }
	g.expect(slices.Concat(at(-2), at(300), at(0)), "in_x", "p", 0, list{-2, 300, 5, 0})
}

// filters tests plain columns that are compared after reading.
func filters(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	numbered(c, "p", 7)
	c.write("put", "p", 8, "x", nil, nil, 5, nil, nil, nil, nil)
	c.write("put", "p", 9, "x", nil, nil, 5, nil, nil, nil, nil)
	c.write("put", "p", 10, nil, nil, nil, 5, nil, nil, nil, nil)
	c.expect([]string{"3", "6", "8", "9"}, "with_a", "p", "x")
	c.expect(nil, "with_a", "p", "z")
	c.expect(nil, "with_a", "p", "")
	c.expect([]string{"9", "8"}, "with_an", "p", "x", 5)
	c.write("put_a", "p", 6, "z")
	c.write("put_a", "p", 1, "x")
	c.expect([]string{"1", "3", "8", "9"}, "with_a", "p", "x")
	c.same([]string{"p 1", "p 3", "p 8", "p 9"}, "scan_x", "x")
}

// scans tests reads of whole tables. They yield every row once, and nothing else.
func scans(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	c.same(nil, "scan")
	var want []string
	for i := range 12 {
		p := fmt.Sprint("p", i)
		numbered(c, p, 10)
		c.write("drop", p, 4)
		for k := 1; k <= 10; k++ {
			if k != 4 && i != 7 {
				want = append(want, row(p, k, mark(k)))
			}
		}
		c.write("mark", p, "another table")
		c.write("put_single", p, []byte{}, "another table", nil)
	}
	c.write("drop_all", "p7")
	c.same(want, "scan")
	if got := c.read("scan_some"); len(got) != 7 {
		t.Errorf("a scan with limit 7 yields %d rows", len(got))
	}
}
