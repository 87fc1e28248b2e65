package drivertest

import (
	"fmt"
	"testing"
)

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
