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

// narrow tests tables of one plain column. Some engines keep their rows as single cells.
// A row exists whatever its column holds.
func narrow(t testing.TB, open Open) {
	c := begin(t, open, "narrow.yaml").client()
	c.write("put", "p", "a", "v")
	c.write("put", "p", "b", "")
	c.write("put", "p", "c", nil)
	c.write("touch", "p", "a") // the column stays as it is
	c.write("touch", "p", "d")
	all := []string{"a v", `b ""`, "c null", "d null"}
	c.expect(all, "all", "p")
	c.expect([]string{"null"}, "get", "p", "d")
	c.expect(nil, "get", "p", "e")
	c.expect([]string{"a"}, "with_v", "p", "v")
	c.expect([]string{"b"}, "with_v", "p", "")

	attempt := func(applied bool, pattern string, vals ...any) {
		t.Helper()
		r, err := c.try(pattern, vals...)
		if err != nil {
			t.Fatal(err)
		}
		if r.Applied != applied {
			t.Fatalf("%s %v: applied %v, expected %v", pattern, vals, r.Applied, applied)
		}
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		attempt(false, "create", "p", k, "new")
	}
	c.expect(all, "all", "p")
	attempt(true, "create", "p", "e", "")
	attempt(false, "create", "p", "e", "again")
	attempt(false, "change", "p", "b", "x", nil) // empty is not null
	attempt(false, "change", "p", "b", "x", "v")
	attempt(true, "change", "p", "b", "x", "")
	attempt(true, "change", "p", "c", "y", nil)
	attempt(true, "change", "p", "a", nil, "v")
	attempt(true, "change", "p", "a", "z", nil)
	c.expect([]string{"a z", "b x", "c y", "d null", `e ""`}, "all", "p")
	c.write("put", "p", "b", nil)
	c.write("drop", "p", "c")
	c.expect([]string{"a z", "b null", "d null", `e ""`}, "all", "p")
	attempt(true, "create", "p", "c", nil)
	attempt(false, "create", "p", "c", "again")
	c.expect([]string{"a z", "b null", "c null", "d null", `e ""`}, "all", "p")

	// A blob is neither null nor another blob, whatever it holds.
	var want []string
	values := []any{
		[]byte{},
		nil,
		[]byte{0},
		[]byte{1},
		[]byte{0xff},
		[]byte{0xff, 0},
		[]byte("\xff\x00mb"), []byte("\xff\x00mbe"),
		[]byte("\xff\x00mbn"), []byte("\xff\x00mbv"), []byte("\xff\x00mbvv"), []byte("null"),
	}
	for k, v := range values {
		c.write("put_blob", "p", k, v)
		want = append(want, row(k, v))
	}
	c.expect(want, "blobs", "p")
}

// nested tests tables in tables. Their rows have keys below those of their parents.
func nested(t testing.TB, open Open) {
	c := begin(t, open, "nested.yaml").client()
	data := func(n int) []byte { return []byte{byte(n)} }
	fill := func(u, f string) {
		c.write("put_folder", u, f, "T")
		for m := 1; m <= 2; m++ {
			c.write("put_message", u, f, m, fmt.Sprint("s", m), m)
			for n := range 3 {
				c.write("put_chunk", u, f, m, n, data(10*m+n))
			}
		}
	}
	c.write("put_user", "u", "U")
	for _, f := range []string{"in", "in\x00", "inbox", "im"} {
		fill("u", f)
	}
	fill("v", "in")
	c.expect([]string{"u U"}, "users") // v has rows in nested tables, but no row itself
	c.expect(nil, "user", "v")
	c.expect([]string{"im T", "in T", `"in\x00" T`, "inbox T"}, "folders", "u")
	c.expect([]string{"2 s2", "1 s1"}, "messages", "u", "in")
	c.expect([]string{"1"}, "messages_back", "u", "in")
	c.expect([]string{"im 2", "im 1", "in 2", "in 1", `"in\x00" 2`, `"in\x00" 1`, "inbox 2", "inbox 1"},
		"messages_of_user", "u")
	c.expect([]string{"s1 1"}, "message", "u", "in", 1)
	c.expect([]string{"0 0x0a", "1 0x0b", "2 0x0c"}, "chunks", "u", "in", 1)
	c.expect([]string{"2 0 0x14", "2 1 0x15", "2 2 0x16", "1 0 0x0a", "1 1 0x0b", "1 2 0x0c"}, "chunks_of_folder", "u",
		"in")
	c.expect([]string{"1 0", "1 1", "1 2"}, "chunks_of_two", "u", "in", list{1, 7, 2})
	c.expect([]string{"1", "2"}, "chunk_range", "u", "in", 1, 1)
	if got := c.read("all_chunks"); len(got) != 30 {
		t.Fatalf("a scan yields %d of 30 chunks", len(got))
	}

	// A row needs no parents, and stays when its parents are deleted.
	c.write("put_chunk", "w", "f", 1, 0, data(1))
	c.expect([]string{"0 0x01"}, "chunks", "w", "f", 1)
	c.expect(nil, "message", "w", "f", 1)
	c.write("drop_message", "u", "in", 1)
	c.expect([]string{"2 s2"}, "messages", "u", "in")
	c.expect([]string{"0 0x0a", "1 0x0b", "2 0x0c"}, "chunks", "u", "in", 1)
	c.write("drop_chunks", "u", "in", 1)
	c.expect([]string{"2 0 0x14", "2 1 0x15", "2 2 0x16"}, "chunks_of_folder", "u", "in")
	c.write("drop_chunks_of_folder", "u", "in")
	c.expect(nil, "chunks_of_folder", "u", "in")
	c.expect([]string{"0 0x14", "1 0x15", "2 0x16"}, "chunks", "u", "in\x00", 2)
	c.expect([]string{"2 s2"}, "messages", "u", "in")
	c.write("drop_folder", "u", "in")
	c.expect([]string{"2 s2"}, "messages", "u", "in")
	c.write("drop_messages", "u", "in")
	c.expect([]string{"im 2", "im 1", `"in\x00" 2`, `"in\x00" 1`, "inbox 2", "inbox 1"}, "messages_of_user", "u")
	c.expect([]string{"im T", `"in\x00" T`, "inbox T"}, "folders", "u")
	c.write("drop_user", "u")
	c.expect(nil, "user", "u")
	c.expect([]string{"0 0x0a", "1 0x0b", "2 0x0c"}, "chunks", "u", "im", 1) // rows of nested tables stay
	c.write("drop_chunks_of_user", "u")
	c.expect(nil, "chunks", "u", "im", 1)
	c.expect([]string{"2 s2", "1 s1"}, "messages", "u", "im")
	c.expect([]string{"0 0x0a", "1 0x0b", "2 0x0c"}, "chunks", "v", "in", 1)
	headers(c)
}

// headers tests two tables below one that stores nothing itself.
func headers(c *client) {
	for id := range 3 {
		c.write("put_meta", "h", id, "from", fmt.Sprint("f", id))
		c.write("put_meta", "h", id, "to", fmt.Sprint("t", id))
		c.write("put_body", "h", id, 0, []byte{byte(id)})
	}
	c.expect([]string{"from f1", "to t1"}, "metas", "h", 1)
	c.expect([]string{"0 0x01"}, "bodies", "h", 1)
	c.expect([]string{"0 from", "0 to", "1 from", "1 to", "2 from", "2 to"}, "metas_of_all", "h")
	c.expect([]string{"2 from f2", "2 to t2", "0 from f0", "0 to t0"}, "metas_of", "h", list{2, 9, 0})
	c.write("drop_meta", "h", 1)
	c.expect(nil, "metas", "h", 1)
	c.expect([]string{"0 0x01"}, "bodies", "h", 1)
	c.expect([]string{"from f0", "to t0"}, "metas", "h", 0)
	c.expect([]string{"from f2", "to t2"}, "metas", "h", 2)
}
