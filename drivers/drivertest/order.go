package drivertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// uuid4 returns a random-form UUID (version 4) that sorts by its first and last byte.
func uuid4(first, last byte) [16]byte { return [16]byte{0: first, 6: 0x40, 8: 0x80, 15: last} }

// timeuuid returns a version 1 UUID of a time in 100 ns units, with the last
// eight bytes given by the first and last of them.
func timeuuid(time uint64, first, last byte) [16]byte {
	return [16]byte{
		byte(time >> 24), byte(time >> 16), byte(time >> 8), byte(time),
		byte(time >> 40), byte(time >> 32),
		byte(time>>56)&0x0F | 0x10, byte(time >> 48),
		8: first, 15: last,
	}
}

// ascending lists values of each kind of key column in ascending order.
var ascending = []struct {
	kind string
	vals []any
}{
	{"text", []any{
		"", "\x00", "\x00\x00", "\x00\x01", "\x01", " ", "A", "a", "a\x00", "a\x00b", "a\x01", "aa", "ab", "b",
		"z\x7f", "é", "日本", "日本語", "\U0001F4E7",
	}},
	{"blob", []any{
		[]byte{},
		[]byte{0},
		[]byte{0, 0},
		[]byte{0, 1},
		[]byte{0, 255},
		[]byte{1},
		[]byte{1, 0},
		[]byte{127},
		[]byte{128},
		[]byte{255},
		[]byte{255, 0},
		[]byte{255, 255},
	}},
	{"int", []any{math.MinInt32, -65536, -256, -255, -1, 0, 1, 2, 10, 127, 128, 255, 256, 65536, math.MaxInt32}},
	{"bigint", []any{math.MinInt64, math.MinInt32, -256, -1, 0, 1, 9, 10, 255, 256, math.MaxInt32, math.MaxInt64}},
	{"timestamp", []any{-62_135_596_800_000_000, -1_000, 0, 1_000, 999_000, 1_000_000, 1_700_000_000_000_000}},
	{"boolean", []any{false, true}},
	{"uuid", []any{
		uuid4(0, 0), uuid4(0, 1), uuid4(1, 0), uuid4(0x7f, 0), uuid4(0x80, 0),
		uuid4(0xff, 0), uuid4(0xff, 0xff),
	}},
	// TimeUUIDs sort by time, whose low bits are the first bytes. Equal times sort by
	// the last eight bytes, each of them signed.
	{"timeuuid", []any{
		timeuuid(1, 0x80, 0), timeuuid(0xFFFFFFFF, 0x80, 0), timeuuid(0x100000000, 0x80, 0),
		timeuuid(0x1000000000000, 0x80, 0), timeuuid(0x1EE000000000000, 0x80, 0x80),
		timeuuid(0x1EE000000000000, 0x80, 0xff), timeuuid(0x1EE000000000000, 0x80, 0),
		timeuuid(0x1EE000000000000, 0x80, 0x7f), timeuuid(0x1EE000000000000, 0xbf, 0),
		timeuuid(0x1EE000000000001, 0x80, 0), timeuuid(0x1EF000000000000, 0x80, 0),
	}},
}

// eachKey writes every line that has a NAME once for each kind of key and
// direction.
func eachKey(src string) string {
	var b strings.Builder
	for text := range strings.Lines(src) {
		if !strings.Contains(text, "NAME") {
			b.WriteString(text)
			continue
		}
		for _, keys := range ascending {
			for _, direction := range []string{"asc", "desc"} {
				text := strings.NewReplacer("NAME", keys.kind+"_"+direction, "KIND", keys.kind,
					"DIRECTION", direction).Replace(text)
				b.WriteString(strings.Replace(text, " asc]", "]", 1)) // schemas have no word for ascending
			}
		}
	}
	return b.String()
}

// order tests one clustering column, of every kind and in both directions.
func order(t testing.TB, open Open) {
	s := begin(t, open, "keys.yaml")
	for _, keys := range ascending {
		for _, direction := range []string{"asc", "desc"} {
			c := s.client()
			o := ordered{client: c, table: keys.kind + "_" + direction, vals: slices.Clone(keys.vals), desc: direction == "desc"}
			o.fill()
			o.slices()
			o.pages()
			o.ranges()
			o.points()
		}
	}
}

// ordered is a partition of a table that holds one row for each of vals, which
// ascend.
type ordered struct {
	*client
	table string
	vals  []any
	desc  bool
}

// The patterns of keys.yaml are named for their tables.

func (o *ordered) write(pattern string, vals ...any) {
	o.fail.Helper()
	o.client.write(o.table+"_"+pattern, vals...)
}

func (o *ordered) expect(want []string, pattern string, vals ...any) {
	o.fail.Helper()
	o.client.expect(want, o.table+"_"+pattern, vals...)
}

// fill puts the rows in a shuffled order, some of them twice, into a partition that is
// between others.
func (o *ordered) fill() {
	shuffle := rand.New(rand.NewPCG(1, 2)).Perm(len(o.vals))
	for _, i := range append(shuffle, shuffle[:len(shuffle)/2]...) {
		o.write("put", "p", o.vals[i], fmt.Sprint("v", i))
	}
	for _, p := range []string{"o", "p\x00", "pa", "q"} {
		o.write("put", p, o.vals[0], "neighbour")
	}
}

// between returns the rows of vals[from:to] as lines, in reading order.
func (o *ordered) between(from, to int, reverse bool) []string {
	var want []string
	for i := from; i < to; i++ {
		want = append(want, row(o.vals[i], fmt.Sprint("v", i)))
	}
	if o.desc != reverse {
		slices.Reverse(want)
	}
	return want
}

func (o *ordered) slices() {
	n := len(o.vals)
	o.expect(o.between(0, n, false), "all", "p")
	o.expect(o.between(0, n, true), "back", "p")
	o.expect(o.between(0, n, false), "closed", "p", nil, nil)
	o.expect(o.between(0, n, false), "open", "p", nil, nil)
	o.expect(o.between(0, n, true), "open_back", "p", nil, nil)
	o.expect(o.between(0, n, false), "page", "p", nil, n+1)
}

// pages reads the two rows after every row, forwards and in reverse.
func (o *ordered) pages() {
	n := len(o.vals)
	for i, v := range o.vals {
		behind, before := o.between(i+1, n, false), o.between(0, i, true)
		if o.desc {
			behind, before = o.between(0, i, false), o.between(i+1, n, true)
		}
		o.expect(behind[:min(2, len(behind))], "page", "p", v, 2)
		o.expect(before[:min(2, len(before))], "page_back", "p", v, 2)
	}
}

// ranges reads the rows between each two values, whatever the direction.
func (o *ordered) ranges() {
	n := len(o.vals)
	for i := range o.vals {
		j := min(i+2, n-1)
		lo, hi := o.vals[i], o.vals[j]
		o.expect(o.between(i, j+1, false), "closed", "p", lo, hi)
		o.expect(o.between(i+1, j, false), "open", "p", lo, hi)
		o.expect(o.between(i+1, j+1, true), "open_back", "p", lo, hi)
		o.expect(o.between(i, j, false), "half_open", "p", lo, hi)
		o.expect(o.between(i, n, false), "closed", "p", lo, nil)
		o.expect(o.between(0, i+1, false), "closed", "p", nil, lo)
		o.expect(o.between(0, i, false), "open", "p", nil, lo)
	}
	if n > 2 {
		o.expect(nil, "closed", "p", o.vals[2], o.vals[0]) // the lower bound is above the upper
	}
}

// points reads and deletes single rows.
func (o *ordered) points() {
	n := len(o.vals)
	several := make(list, n)
	var want []string
	for i, v := range o.vals {
		at := (i * (n - 1)) % n // an order that is neither direction
		several[i] = o.vals[at]
		want = append(want, row(o.vals[at], fmt.Sprint("v", at)))
		o.expect([]string{row("p", v, fmt.Sprint("v", i))}, "get", "p", v)
	}
	o.expect(want, "several", "p", several)
	o.write("drop", "p", o.vals[n/2])
	want = append(o.between(0, n/2, false), o.between(n/2+1, n, false)...)
	if o.desc {
		want = append(o.between(n/2+1, n, false), o.between(0, n/2, false)...)
	}
	o.expect(want, "all", "p")
	o.expect([]string{row(o.vals[0], "neighbour")}, "all", "q")
}

// family tests a table and a table nested in it. An engine may keep their rows side by
// side. Reads and deletes of one table leave the other alone.
func family(t testing.TB, open Open) {
	c := begin(t, open, "family.yaml").client()
	fill := func(box string) {
		for m := 1; m <= 3; m++ {
			c.write("put_mail", box, m, fmt.Sprint("s", m), 10*m, m == 2)
			for n := -1; n <= 1; n++ {
				c.write("put_part", box, m, n, "a", []byte{byte(m)})
			}
			c.write("put_part", box, m, 1, "ab", []byte{})
		}
	}
	fill("a")
	fill("b")
	c.write("put_part", "a", 9, 0, "", []byte("x")) // mail 9 has no row
	parts := func(m int) []string {
		data := fmt.Sprintf("0x%02x", m)
		return []string{row(-1, "a", []byte{byte(m)}), "0 a " + data, "1 a " + data, row(1, "ab", []byte{})}
	}

	mails := []string{"3 s3 30 false", "2 s2 20 true", "1 s1 10 false"}
	c.expect(mails, "mails", "a")
	c.expect([]string{"1 s1", "2 s2"}, "mails_back", "a")
	c.expect([]string{"s2 20 true"}, "mail", "a", 2)
	c.expect(nil, "mail", "a", 9)
	c.same([]string{"3 s3", "1 s1"}, "mails_of", "a", list{3, 9, 1})
	c.same([]string{"3", "1"}, "unseen", "a", false)
	c.expectCount(6, "boxes")

	c.expect(parts(2), "parts", "a", 2)
	c.expect([]string{row(0, "", []byte("x"))}, "parts", "a", 9)
	c.expect([]string{"0x02"}, "part", "a", 2, 0, "a")
	c.expect(nil, "part", "a", 2, 0, "ab")
	c.expect([]string{"1 ab", "1 a"}, "parts_back", "a", 2)
	c.expect([]string{"a", "ab"}, "parts_n", "a", 2, 1)
	c.same([]string{"1 a", "1 ab", "-1 a"}, "parts_in", "a", 2, list{1, 7, -1})
	c.expect([]string{"-1 a", "0 a"}, "parts_from", "a", 2, -1, 1)
	c.expect([]string{"-1 a", "0 a"}, "parts_after", "a", 2, nil, nil)
	c.expect([]string{"1 a", "1 ab"}, "parts_after", "a", 2, 0, "a")
	c.expect(nil, "parts_after", "a", 2, 1, "ab")
	c.same([]string{row("a", []byte{2}), row("ab", []byte{})}, "named", "a", 2, 1, list{"a", "zz", "ab"})
	c.expectCount(13, "parts_of_box", "a")
	c.expect([]string{row(9, 0, ""), "3 -1 a"}, "parts_of_box_after", "a", nil, nil, nil)
	c.expect([]string{"3 1 ab", "2 -1 a"}, "parts_of_box_after", "a", 3, 1, "a")
	c.expectCount(25, "all_parts")

	// Writes of one leave the other alone.
	c.write("see", "a", 1, true)
	c.expect([]string{"s1 10 true"}, "mail", "a", 1)
	if c.offers("see_if") {
		for _, size := range []int{11, 10} {
			if r, err := c.try("see_if", "a", 1, false, size); err != nil || r.Applied != (size == 10) {
				t.Fatalf("see_if with a size of %d, of which 10 is right: %+v, %v", size, r, err)
			}
		}
		if r, err := c.try("put_new", "a", 9, "s9", 90, false); err != nil || !r.Applied {
			t.Fatalf("put_new of a mail that has only parts: %+v, %v; expected it to be applied", r, err)
		}
		c.write("drop_mail", "a", 9)
		if r, err := c.try("put_part_if", "a", 1, 0, "a", []byte("y")); err != nil || r.Applied {
			t.Fatalf("put_part_if of a part that exists: %+v, %v; expected it not to be applied", r, err)
		}
	}
	c.expect([]string{row(0, "", []byte("x"))}, "parts", "a", 9)
	c.expect(parts(1), "parts", "a", 1)

	c.write("drop_mail", "a", 1)
	c.expect(mails[:2], "mails", "a")
	c.expect(parts(1), "parts", "a", 1)
	c.write("drop_part", "a", 2, 0, "a")
	c.write("drop_parts_n", "a", 2, 1)
	c.expect(parts(2)[:1], "parts", "a", 2)
	c.write("drop_parts", "a", 3)
	c.expect(nil, "parts", "a", 3)
	c.expect(mails[:2], "mails", "a")
	c.write("drop_mails", "a")
	c.expect(nil, "mails", "a")
	c.expectCount(6, "parts_of_box", "a")
	c.write("drop_parts_of_box", "a")
	c.expect(nil, "parts_of_box", "a")
	c.write("drop_parts_of_box", "b")
	c.expect(nil, "all_parts")
	c.expectCount(3, "boxes")
	familyBatches(c)
}

// familyBatches tests batches that delete from both tables, or from one.
func familyBatches(c *client) {
	put := func(box string, m int) {
		c.write("put_mail", box, m, "s", m, true)
		c.write("put_part", box, m, 0, "a", []byte{1})
		c.write("put_part", box, m, 1, "a", []byte{2})
	}
	if c.offers("add") && c.offers("remove") {
		must(c, c.batch("add", with(0, "row", 1, 0, "a", []byte{7}), with(1, "row", 1, "s", 1, false)))
		c.expect([]string{"1 s 1 false"}, "mails", "row")
		c.expect([]string{"0 a 0x07"}, "parts", "row", 1)
		for m := 2; m <= 4; m++ {
			put("row", m)
		}
		must(c, c.batch("remove", with(0, "row", 1), with(1, "row", 1)))
		must(c, c.batch("remove", with(1, "row", 2), with(0, "row", 2)))
		must(c, c.batch("remove", with(0, "row", 3)))
		must(c, c.batch("remove", with(1, "row", 4)))
		c.expect([]string{"4 s 4 true"}, "mails", "row")
		c.expect([]string{"3 0 a", "3 1 a"}, "parts_of_box", "row")
	}
	for m := 1; m <= 6; m++ {
		put("each", m)
	}
	must(c, c.batch("change",
		with(0, "each", 7, "new", 7, true), with(1, "each", 7, 0, "n", []byte{7}),
		with(2, "each", 1), with(3, "each", 1), // a mail, then its parts
		with(3, "each", 2), with(2, "each", 2), // the parts, then their mail
		with(2, "each", 3), with(3, "each", 4), // mail 3 without its parts, parts of mail 4
		with(2, "each", 5), with(3, "each", 5), with(1, "each", 5, 9, "z", []byte{9}), // a part after the deletes
		with(1, "each", 6, 9, "z", []byte{9}), with(3, "each", 6))) // a part before the delete
	c.expect([]string{"7 new 7 true", "6 s 6 true", "4 s 4 true"}, "mails", "each")
	c.expect([]string{"7 0 n", "5 9 z", "3 0 a", "3 1 a"}, "parts_of_box", "each")
}
