package drivertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sets tests sets. They have no order, and no element twice.
func sets(t testing.TB, open Open) {
	c := begin(t, open, "collections.yaml").client()
	tags := func(want string, k int) {
		c.fail.Helper()
		c.expect([]string{"null " + want + " null null"}, "get", "p", k)
	}
	c.write("put_tags", "p", 1, list{"b", "a", "b"})
	tags("{a,b}", 1)
	c.write("put_tags", "p", 1, list{"d"}) // a put replaces
	tags("{d}", 1)
	c.write("put_tags", "p", 1, list{"", "\x00", "d\x00", "é", "d"})
	tags(`{"","\x00","d\x00","é",d}`, 1)
	c.write("put_tags", "p", 1, list{})
	tags("null", 1) // the row stays when its last element goes
	c.write("put_tags", "p", 2, list{"created"})
	tags("{created}", 2)
	c.write("put_tags", "p", 2, nil)
	tags("null", 2)
	c.write("put_tags", "p", 2, list{"again"})
	tags("{again}", 2) // replaced elements do not come back
	c.write("put_tags", "p", 2, nil)

	c.write("put_rest", "p", 1, list{3, -1, 2, 3}, list{7, []byte{0}, -7, []byte{}})
	c.expect([]string{"{-1,2,3} {-7:0x,7:0x00}"}, "get_rest", "p", 1)
	c.expect([]string{"1 null null null", "2 null null null"}, "all", "p")
	wholeRows(c)
}

// wholeRows tests that collections go with their row.
func wholeRows(c *client) {
	full := []any{"s", list{"t"}, list{"x", "y"}, list{"f", 1}}
	for k := 1; k <= 3; k++ {
		c.write("put", append([]any{"rows", k}, full...)...)
	}
	c.write("put_subject", "rows", 1, "new")
	c.expect([]string{"new {t} [x,y] {f:1}"}, "get", "rows", 1)
	c.expect([]string{"3 s [x,y]", "2 s [x,y]", "1 new [x,y]"}, "back", "rows", 25)
	c.expect([]string{"3 s [x,y]", "2 s [x,y]"}, "back", "rows", 2)
	c.write("put", "rows", 3, nil, list{"u"}, nil, list{"g", 2})
	c.expect([]string{"null {u} null {g:2}"}, "get", "rows", 3)
	c.write("drop", "rows", 2)
	c.expect([]string{"1 {t} [x,y] {f:1}", "3 {u} null {g:2}"}, "all", "rows")
	c.write("put_subject", "rows", 2, "again")
	c.expect([]string{"again null null null"}, "get", "rows", 2)
	c.write("drop_all", "rows")
	c.write("put_subject", "rows", 1, "again")
	c.expect([]string{"1 null null null"}, "all", "rows")
	if c.caps.Atomic > 0 {
		err := c.batch("post", with(0, "rows", 4, "s", list{"a"}, list{"r"}, nil), with(1, "rows", 4, list{"b", "c"}),
			with(2, "rows", 4, list{"q"}), with(2, "rows", 4, list{"p"}), with(3, "rows", 4, "t"))
		if err != nil {
			c.fail.Fatalf("a batch over one row with collections: %v", err)
		}
		c.expect([]string{"t {b,c} [r,q,p] null"}, "get", "rows", 4)
	}
}

// lists tests lists. Elements keep the order of appending, and equal elements stay.
func lists(t testing.TB, open Open) {
	s := begin(t, open, "collections.yaml")
	c := s.client()
	seen := func(want string, k int) {
		c.fail.Helper()
		c.expect([]string{"null null " + want + " null"}, "get", "p", k)
	}
	c.write("add_seen", "p", 1, list{"c"}) // an append creates the row
	c.write("add_seen", "p", 1, list{"a", "z"})
	c.write("add_seen", "p", 1, list{"b"})
	c.write("add_seen", "p", 1, list{"a"})
	seen("[c,a,z,b,a]", 1)
	c.write("take_seen", "p", 1, list{"a", "nowhere"}) // removes every "a"
	seen("[c,z,b]", 1)
	c.write("put_seen", "p", 1, list{"2", "1", "2"})
	seen("[2,1,2]", 1)
	c.write("add_seen", "p", 1, list{"0", ""})
	seen(`[2,1,2,0,""]`, 1)
	c.write("put_seen", "p", 1, list{})
	seen("null", 1)
	c.write("add_seen", "p", 1, list{"new"})
	seen("[new]", 1)
	c.write("put_seen", "p", 1, nil)
	c.write("add_seen", "p", 1, list{"newer"})
	seen("[newer]", 1)

	// Several sessions append many elements. Each keeps its order, and none is lost.
	const readers, each = 4, 25
	s.parallel(readers, func(i int, c *client) error {
		for n := range each {
			if _, err := c.try("add_seen", "p", 2, list{fmt.Sprintf("%d.%02d", i, n)}); err != nil {
				return err
			}
		}
		return nil
	})
	got := strings.Join(c.read("several", "p", list{2}), "; ")
	words := strings.Split(strings.Trim(strings.TrimPrefix(got, "2 "), "[]"), ",")
	if len(words) != readers*each {
		t.Fatalf("a list after %d appends has %d elements: %s", readers*each, len(words), got)
	}
	next := make([]int, readers)
	for _, w := range words {
		var i, n int
		if _, err := fmt.Sscanf(w, "%d.%d", &i, &n); err != nil || n != next[i] {
			t.Fatalf("appends of one session are out of order, at %s of %s", w, got)
		}
		next[i]++
	}
	c.expect([]string{"2 " + "[" + strings.Join(words, ",") + "]", "1 [newer]"}, "several", "p", list{2, 1})
}

// maps tests maps and single elements of them.
func maps(t testing.TB, open Open) {
	c := begin(t, open, "collections.yaml").client()
	files := func(want string, k int) {
		c.fail.Helper()
		c.expect([]string{"null null null " + want}, "get", "p", k)
	}
	c.write("put_files", "p", 1, list{"b.txt", 2, "a.txt", 1})
	files("{a.txt:1,b.txt:2}", 1)
	c.write("put_files", "p", 1, list{"a.txt", -10, "c", 3})
	files("{a.txt:-10,c:3}", 1)
	c.expect([]string{"-10"}, "file", "p", 1, "a.txt")
	c.expect(nil, "file", "p", 1, "a.tx")
	c.expect(nil, "file", "p", 1, "a.txt\x00")
	c.expect(nil, "file", "p", 9, "a.txt")
	c.write("put_files", "p", 1, list{"", 5, "a", 6, "a\x00", 7})
	files(`{"":5,"a\x00":7,a:6}`, 1)
	c.expect([]string{"5"}, "file", "p", 1, "")
	c.expect([]string{"7"}, "file", "p", 1, "a\x00")
	c.write("put_files", "p", 2, list{"created", 1})
	files("{created:1}", 2)

	// Maps and elements may be large.
	const n = 500
	var pairs list
	var words []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("%04d", i), i)
		words = append(words, fmt.Sprintf("%04d:%d", i, i))
	}
	c.write("put_files", "p", 3, pairs)
	files("{"+strings.Join(words, ",")+"}", 3)
	c.expect([]string{"321"}, "file", "p", 3, "0321")
	big := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	c.write("put_rest", "p", 3, nil, list{1, big, 2, big[1:]})
	c.expect([]string{row(big[1:])}, "blob", "p", 3, 2)
}
