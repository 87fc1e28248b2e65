package drivertest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
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

// cell is a row of the table grid, whose clustering is x desc, y, z desc.
type cell struct {
	x int
	y string
	z int
}

func (k cell) compare(l cell) int {
	return cmp.Or(-cmp.Compare(k.x, l.x), cmp.Compare(k.y, l.y), -cmp.Compare(k.z, l.z))
}

func (k cell) value() string { return fmt.Sprintf("%d/%s/%d", k.x, k.y, k.z) }

func (k cell) line(a string, b int) string { return row(a, b, k.x, k.y, k.z, k.value(), nil) }

// cells returns all rows of a grid in clustering order.
func cells() []cell {
	var all []cell
	for _, x := range []int{-2, -1, 0, 1, 300} {
		for _, y := range []string{"", "a", "a\x00", "aa", "b"} {
			for _, z := range []int{-1, 0, 1} {
				all = append(all, cell{x, y, z})
			}
		}
	}
	slices.SortFunc(all, cell.compare)
	return all
}

// fillGrid puts a grid into a partition, in reverse clustering order.
func fillGrid(c *client, a string, b int) {
	for _, k := range slices.Backward(cells()) {
		c.write("put", a, b, k.x, k.y, k.z, k.value(), nil)
	}
}

// where returns the lines of the cells that keep holds for, in clustering order.
func where(a string, b int, keep func(cell) bool) []string {
	var want []string
	for _, k := range cells() {
		if keep(k) {
			want = append(want, k.line(a, b))
		}
	}
	return want
}

func everywhere(cell) bool { return true }

func backward(lines []string) []string {
	slices.Reverse(lines)
	return lines
}

// composite tests keys of several columns with mixed directions.
func composite(t testing.TB, open Open) {
	s := begin(t, open, "composite.yaml")
	c := s.client()
	fillGrid(c, "p", 0)
	for _, b := range []int{-1, 1} { // neighbours of the partition on both sides
		c.write("put", "p", b, 0, "a", 0, "neighbour", nil)
	}
	c.write("put", "p\x00", 0, 0, "a", 0, "neighbour", nil)
	c.write("put", "", 0, 0, "a", 0, "neighbour", nil)
	expect := func(keep func(cell) bool, pattern string, vals ...any) {
		c.fail.Helper()
		c.expect(where("p", 0, keep), pattern, append([]any{"p", 0}, vals...)...)
	}
	backwards := func(keep func(cell) bool, pattern string, vals ...any) {
		c.fail.Helper()
		c.expect(backward(where("p", 0, keep)), pattern, append([]any{"p", 0}, vals...)...)
	}
	expect(everywhere, "all")
	backwards(everywhere, "back")
	for _, k := range []cell{{-2, "", -1}, {0, "a", 0}, {0, "b", -1}, {300, "a\x00", 1}} {
		expect(func(l cell) bool { return l.x == k.x }, "at_x", k.x)
		backwards(func(l cell) bool { return l.x == k.x }, "at_x_back", k.x)
		expect(func(l cell) bool { return l.x == k.x && l.y == k.y }, "at_xy", k.x, k.y)
		expect(func(l cell) bool { return l == k }, "at_xyz", k.x, k.y, k.z)
		expect(func(l cell) bool { return l == k }, "get", k.x, k.y, k.z)
		expect(func(l cell) bool { return l.compare(k) > 0 }, "page", k.x, k.y, k.z, 1000)
		backwards(func(l cell) bool { return l.compare(k) < 0 }, "page_back", k.x, k.y, k.z, 1000)
		expect(func(l cell) bool { return l.x == k.x && l.compare(k) > 0 }, "page_x", k.x, k.y, k.z, 1000)
		expect(func(l cell) bool { return l.x < k.x }, "after_x", k.x)
		expect(func(l cell) bool { return l.x < k.x || l.x == k.x && l.y > k.y }, "after_xy", k.x, k.y)
		backwards(func(l cell) bool { return l.x > k.x || l.x == k.x && l.y < k.y }, "after_xy_back", k.x, k.y)
		expect(func(l cell) bool { return l.x >= k.x && l.x < 300 }, "range_x", k.x, 300)
		backwards(func(l cell) bool { return l.x > -2 && l.x <= k.x }, "range_x_back", -2, k.x)
		expect(func(l cell) bool { return l.x == k.x && l.y > k.y && l.y <= "aa" }, "range_y", k.x, k.y, "aa")
		expect(func(l cell) bool { return l.x == k.x && l.y == k.y && l.z >= 0 && l.z <= 1 }, "range_z", k.x, k.y, 0, 1)
		expect(func(l cell) bool { return l.x >= -1 && l.x <= 1 && l.compare(k) > 0 }, "range_page", -1, 1, k.x, k.y, k.z,
			1000)
	}
	expect(everywhere, "page", nil, nil, nil, 1000)
	backwards(everywhere, "page_back", nil, nil, nil, 1000)
	expect(func(l cell) bool { return l.x >= -1 && l.x <= 1 }, "range_page", -1, 1, nil, nil, nil, 1000)
	expect(func(l cell) bool { return l.x == 7 }, "at_x", 7)
	c.expect([]string{row("p", 1, 0, "a", 0, "neighbour", nil)}, "all", "p", 1)
	c.expect([]string{row("", 0, 0, "a", 0, "neighbour", nil)}, "all", "", 0)
}

// counters tests adds without reading, to both kinds of column.
func counters(t testing.TB, open Open) {
	s := begin(t, open, "counters.yaml")
	c := s.client()
	c.expect(nil, "get", "p", "k")
	c.write("add", "p", "k", 5)
	c.expect([]string{"5 null"}, "get", "p", "k")
	c.write("add", "p", "k", -7)
	c.write("add_both", "p", "k", 0, 1<<40)
	c.expect([]string{row(-2, 1<<40)}, "get", "p", "k")
	c.write("add_both", "p", "k", math.MaxInt64, -1)
	c.expect([]string{row(math.MaxInt64-2, 1<<40-1)}, "get", "p", "k")
	c.write("add", "p", "j", 1)
	c.write("add", "p", "l", 2)
	c.write("add", "o", "k", 3)
	c.expect([]string{"j 1", row("k", math.MaxInt64-2), "l 2"}, "all", "p")
	c.write("drop", "p", "l") // the test never adds to it again: Cassandra does not define the result
	c.expect([]string{"j 1", row("k", math.MaxInt64-2)}, "all", "p")
	c.same([]string{"p j 1 null", row("p", "k", math.MaxInt64-2, 1<<40-1), "o k 3 null"}, "scan")

	const workers, each = 8, 50
	s.parallel(workers, func(i int, c *client) error {
		for n := range each {
			if _, err := c.try("add_both", "sum", "all", n, -1); err != nil {
				return err
			}
			if _, err := c.try("add", "sum", fmt.Sprint("own", i), 1); err != nil {
				return err
			}
		}
		return nil
	})
	c.expect([]string{row(workers*each*(each-1)/2, -workers*each)}, "get", "sum", "all")
	for i := range workers {
		c.expect([]string{row(each, nil)}, "get", "sum", fmt.Sprint("own", i))
	}
	if s.offers("grow") {
		c.write("grow", "u", 3)
		c.expect([]string{"u null 3"}, "get_uids", "u")
		c.write("put_uids", "u", "name", 10)
		c.write("grow", "u", -4)
		c.expect([]string{"u name 6"}, "get_uids", "u")
		c.write("put_uids", "u", "name", nil) // null counts as 0
		c.write("grow", "u", 1)
		c.expect([]string{"u name 1"}, "get_uids", "u")
		for range 100 { // an add may stamp its cell later than the clock: HBase does
			c.write("grow", "u", 3)
			c.write("grow", "u", -4)
			c.write("put_uids", "u", "name", nil)
			c.expect([]string{"u name null"}, "get_uids", "u")
		}
	}
}

// returns tests adds that return their new values.
func returns(t testing.TB, open Open) {
	s := begin(t, open, "counters.yaml")
	if s.caps.ReturnsNew && !s.offers("next") {
		t.Errorf("the engine says that an add can return the new value, and cannot run one")
	}
	if s.offers("next") {
		ascendingUIDs(s)
	}
}

// ascendingUIDs tests what James' UIDs need. Concurrent adds that return the new value
// return different values. An add that ended before another began returns the lower one.
func ascendingUIDs(s *suite) {
	s.Helper()
	c := s.client()
	for i := 1; i <= 5; i++ {
		if got := c.returned("next", "n", 1); got != fmt.Sprint(i) {
			s.Fatalf("add number %d returns the new value %s", i, got)
		}
	}
	const workers, each = 8, 40
	var mu sync.Mutex
	var all []int64
	s.parallel(workers, func(_ int, c *client) error {
		for range each {
			mu.Lock()
			var floor int64
			if len(all) > 0 {
				floor = slices.Max(all) // returned before this add begins
			}
			mu.Unlock()
			r, err := c.try("next", "u", 1)
			if err != nil {
				return err
			}
			if len(r.Row) != 1 {
				return fmt.Errorf("an add that returns one column returned %d", len(r.Row))
			}
			got := r.Row[0].Int64()
			if got <= floor {
				return fmt.Errorf("an add returned %d, though an add before it had returned %d", got, floor)
			}
			mu.Lock()
			all = append(all, got)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i)+1 {
			s.Fatalf("%d adds of 1 returned %v, expected each number from 1 on once", workers*each, all)
		}
	}
	c.expect([]string{row("u", nil, workers*each)}, "get_uids", "u")
}
