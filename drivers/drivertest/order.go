package drivertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
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

// ascending lists values of each kind of key column in ascending order: the least and the largest, those next to each
// other, and texts that engines have been known to confuse.
var ascending = []struct {
	kind schemas.Kind
	vals []any
}{
	{schemas.Text, []any{
		"", "\x00", "\x00\x00", "\x00\x01", "\x01", " ", " a", `"`, "$1", "%", "'", "*", "..", ":", "?", "A", "NULL",
		"a", "a\x00", "a\x00b", "a\x01", "a\tb", "a\nb", "a\r", "a ", "a'b", "a,b", "a/b", "a:b", "aa", "ab", "b", "e\u0301",
		strings.Repeat("k", 1000), strings.Repeat("k", 1000) + "\x00", "null", "user@example.com", "z\x7f", "\x7f", "é",
		strings.Repeat("é", 2000), "日本", "日本語", "\uFEFF", "\uFFFD", "\U0001F4E7", "\U0010FFFF",
	}},
	{schemas.Blob, []any{
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
		[]byte("\xff\x00mb"),
		[]byte{255, 255},
	}},
	{schemas.Int, []any{math.MinInt32, -65536, -256, -255, -1, 0, 1, 2, 10, 127, 128, 255, 256, 65536, math.MaxInt32}},
	{schemas.Bigint, []any{math.MinInt64, math.MinInt32, -256, -1, 0, 1, 9, 10, 255, 256, math.MaxInt32, math.MaxInt64}},
	{schemas.Timestamp, []any{
		-62_135_596_800_000_000, -1_000, 0, 1_000, 999_000, 1_000_000, 1_700_000_000_000_000, 253_402_300_799_999_999,
	}},
	{schemas.Boolean, []any{false, true}},
	{schemas.UUID, []any{
		uuid4(0, 0), uuid4(0, 1), uuid4(1, 0), uuid4(0x7f, 0), uuid4(0x80, 0),
		uuid4(0xff, 0), uuid4(0xff, 0xff),
	}},
	// TimeUUIDs sort by time, whose low bits are the first bytes. Equal times sort by
	// the last eight bytes, each of them signed.
	{schemas.TimeUUID, []any{
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
				text := strings.NewReplacer("NAME", keys.kind.String()+"_"+direction, "KIND", keys.kind.String(),
					"DIRECTION", direction).Replace(text)
				b.WriteString(strings.Replace(text, " asc]", "]", 1)) // schemas have no word for ascending
			}
		}
	}
	return b.String()
}

// order tests one clustering column, of every kind and in both directions: each read of its table, with
// each value and the one after the next as arguments.
func order(t testing.TB, open Open) {
	s := begin(t, open, "keys.yaml")
	for _, keys := range ascending {
		for _, direction := range []string{"asc", "desc"} {
			m := &machine{client: s.client(), ref: newReference()}
			table := keys.kind.String() + "_" + direction
			column := s.schema.Table(table).Clustering[0]
			vals := make([]drivers.Value, len(keys.vals))
			for i, v := range keys.vals {
				vals[i] = valueOf(column.Type, v)
			}
			put := func(p string, i int) {
				args := []drivers.Value{drivers.Text(p), vals[i].Clone(), drivers.Text(fmt.Sprint("v", i))}
				m.ref.write(s.schema.Pattern(table+"_put"), args)
				m.client.write(table+"_put", p, vals[i], fmt.Sprint("v", i))
			}
			shuffle := rand.New(rand.NewPCG(1, 2)).Perm(len(vals))
			for _, i := range append(shuffle, shuffle[:len(shuffle)/2]...) { // some of them twice
				put("p", i)
			}
			for _, p := range []string{"o", "p\x00", "pa", "q"} {
				put(p, 0)
			}
			for i := range vals {
				lo, hi := vals[i], vals[min(i+2, len(vals)-1)]
				m.ordered(table, lo, hi)
				m.ordered(table, hi, lo)
				m.ordered(table, lo, drivers.Value{})
				m.ordered(table, drivers.Value{}, hi)
			}
			m.ordered(table, drivers.Value{}, drivers.Value{})
			at := len(vals) / 2
			m.ref.write(s.schema.Pattern(table+"_drop"), []drivers.Value{drivers.Text("p"), vals[at]})
			m.client.write(table+"_drop", "p", vals[at])
			m.ordered(table, vals[at], vals[at])
		}
	}
}

// ordered runs the reads of a table of keys.yaml with two values for its column.
func (m *machine) ordered(table string, lo, hi drivers.Value) {
	m.fail.Helper()
	for _, p := range m.schema.Patterns {
		if p.Table.Name != table || !p.Kind.Reads() || lo.IsNull() && p.Kind == schemas.Get {
			continue
		}
		args := []drivers.Value{drivers.Text("p")}
		switch {
		case p.In != nil:
			args = append(args, drivers.ListOf(slices.DeleteFunc([]drivers.Value{hi, lo}, drivers.Value.IsNull)))
			if hi.Equal(lo) {
				continue
			}
		case p.From != nil:
			args = append(args, lo, hi)
		case p.Kind == schemas.Get || len(p.After) > 0:
			args = append(args, lo)
		}
		if p.LimitArg {
			args = append(args, drivers.Bigint(2))
		}
		m.compare(call{p: p, args: args})
	}
}
