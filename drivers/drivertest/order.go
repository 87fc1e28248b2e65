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
