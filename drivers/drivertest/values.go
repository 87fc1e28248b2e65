package drivertest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// valueOf turns a Go value into one of the type, over memory of its own.
func valueOf(t schemas.Type, v any) drivers.Value {
	switch v := v.(type) {
	case nil:
		return drivers.Value{}
	case drivers.Value:
		return v.Clone()
	case string:
		return drivers.Bytes(t.Kind, []byte(v))
	case []byte:
		return drivers.Bytes(t.Kind, slices.Clone(v))
	case int:
		return drivers.Number(t.Kind, int64(v))
	case bool:
		return drivers.Boolean(v)
	case [16]byte:
		return drivers.ID(t.Kind, v)
	}
	panic(fmt.Sprintf("drivertest cannot make a %s of a %T", t, v))
}

// poison overwrites arguments after a call, as a worker that reuses its buffers does. A
// store that has kept some of them then holds wrong values.
func poison(args []drivers.Value) {
	for i := range args {
		for b := args[i].Raw(); len(b) > 0; b = b[1:] {
			b[0] = '!'
		}
		poison(args[i].Elems())
		args[i] = drivers.Text("poisoned")
	}
}

// columnTypes returns the types of the columns of a read's rows.
func columnTypes(p *schemas.Pattern) []schemas.Type {
	if p.Element != nil {
		return []schemas.Type{*p.Element.Type.Elem}
	}
	types := make([]schemas.Type, len(p.Columns))
	for i, c := range p.Columns {
		types[i] = c.Type
	}
	return types
}

// line writes a row as a text that differs for different rows. An empty collection is
// written as null, since engines need not distinguish them (Cassandra does not).
func line(row []drivers.Value) string {
	words := make([]string, len(row))
	for i, v := range row {
		words[i] = Show(v)
	}
	return strings.Join(words, " ")
}

// longest is how many bytes of a value are written out.
const longest = 60

// Show writes a value for people, the elements of sets and maps sorted. Of a longer text or blob it writes the length
// and a digest.
func Show(v drivers.Value) string {
	switch v.Kind() {
	case schemas.Null:
		return "null"
	case schemas.Text, schemas.Blob:
		switch raw := v.Raw(); {
		case len(raw) > longest:
			return fmt.Sprintf("%d bytes %.4x", len(raw), sha256.Sum256(raw))
		case v.Kind() == schemas.Blob:
			return fmt.Sprintf("0x%x", raw)
		default:
			return strconv.Quote(string(raw))
		}
	case schemas.Timestamp:
		return v.Time().Format("2006-01-02T15:04:05.000000Z")
	case schemas.Set, schemas.List, schemas.Map:
		if len(v.Elems()) == 0 {
			return "null"
		}
		var words []string
		for i, e := range v.Elems() {
			if v.Kind() == schemas.Map && i%2 == 1 {
				words[len(words)-1] += ", " + Show(e)
				continue
			}
			words = append(words, Show(e))
		}
		if v.Kind() != schemas.List {
			slices.Sort(words)
		}
		return "[" + strings.Join(words, ", ") + "]"
	default:
		return string(v.AppendText(nil))
	}
}

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
