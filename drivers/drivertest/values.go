package drivertest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// list is a collection as the tests write it: elements, or key, value, key, value.
type list []any

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
	case int64:
		return drivers.Number(t.Kind, v)
	case bool:
		return drivers.Boolean(v)
	case [16]byte:
		return drivers.ID(t.Kind, v)
	case list:
		elems := make([]drivers.Value, len(v))
		for i, e := range v {
			elem := t.Elem
			if t.Kind == schemas.Map && i%2 == 0 {
				elem = t.Key
			}
			elems[i] = valueOf(*elem, e)
		}
		return drivers.Collection(t.Kind, elems)
	}
	panic(fmt.Sprintf("drivertest cannot make a %s of a %T", t, v))
}

// valuesOf turns Go values into those of the types.
func valuesOf(types []schemas.Type, vals []any) []drivers.Value {
	values := make([]drivers.Value, len(vals))
	for i, v := range vals {
		values[i] = valueOf(types[i], v)
	}
	return values
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

// check reports a row that is not of the types. A counter may come as the
// bigint that it is.
func check(types []schemas.Type, row []drivers.Value) error {
	if len(row) != len(types) {
		return fmt.Errorf("a row of %d columns, expected %d: %s", len(row), len(types), line(row))
	}
	for i, v := range row {
		k := v.Kind()
		if k == schemas.Null || k == types[i].Kind || k == schemas.Bigint && types[i].Kind == schemas.Counter {
			continue
		}
		return fmt.Errorf("column %d is a %s, expected a %s: %s", i+1, k, types[i], line(row))
	}
	return nil
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
	case schemas.UUID, schemas.TimeUUID:
		return string(drivers.AppendUUID(nil, v.UUIDBytes()))
	case schemas.Boolean:
		return strconv.FormatBool(v.Bool())
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
		return strconv.FormatInt(v.Int64(), 10)
	}
}

// biggest bounds the cells and batches that the suite writes, in bytes.
const biggest = 24 << 20

// large tests large values, up to the limit in the engine's Capabilities and above it.
func large(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	most := int64(biggest)
	for _, limit := range []int64{s.caps.MaxCellBytes, s.caps.MaxRowBytes, s.caps.MaxBatchBytes} {
		if limit > 0 && limit < most {
			most = limit
		}
	}
	noise := make([]byte, biggest)
	src := rand.NewChaCha8([32]byte{1})
	src.Read(noise)
	for i, n := range []int64{64 << 10, 1<<20 - 1, 1 << 20, 1<<20 + 1, most - 4096} {
		if n > most {
			continue // the engine says that it takes no such cell
		}
		c.write("put_b", "p", i, noise[:n])
		c.expect([][]any{{noise[:n], i, nil, "p"}}, "get_shuffled", "p", i)
		c.write("put_b", "p", i, []byte("small again"))
		c.expect([][]any{{[]byte("small again"), i, nil, "p"}}, "get_shuffled", "p", i)
	}
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	c.write("put_a", "p", 9, text[:min(most-4096, int64(len(text)))])
	c.expect([][]any{{9, text[:min(most-4096, int64(len(text)))]}}, "several", "p", list{9})

	if limit := s.caps.MaxKeyBytes; limit > 0 {
		if _, err := c.try("put_b", strings.Repeat("k", limit+1), 1, []byte("x")); !errors.Is(err, drivers.ErrTooLarge) {
			t.Errorf("a key of more than MaxKeyBytes (%d): %v, expected ErrTooLarge", limit, err)
		}
	}
	if limit := s.caps.MaxCellBytes; limit > 0 && limit < biggest {
		c.write("put_b", "over", 1, []byte("kept"))
		_, err := c.try("put_b", "over", 1, bytes.Repeat([]byte("x"), int(limit)+1))
		if !errors.Is(err, drivers.ErrTooLarge) {
			t.Errorf("a cell of one byte more than MaxCellBytes (%d): %v, expected ErrTooLarge", limit, err)
		}
		c.expect([][]any{{[]byte("kept"), 1, nil, "over"}}, "get_shuffled", "over", 1)
	}
}

// elements tests a map of many elements, and one of large elements.
func elements(s *suite) {
	c := s.client()
	var pairs list
	for i := range 500 {
		pairs = append(pairs, fmt.Sprintf("%04d", i), i)
	}
	c.write("put_files", "p", 3, pairs)
	c.expect([][]any{{nil, nil, nil, pairs}}, "get", "p", 3)
	c.expect([][]any{{321}}, "file", "p", 3, "0321")
	big := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	c.write("put_rest", "p", 3, nil, list{1, big, 2, big[1:]})
	c.expect([][]any{{big[1:]}}, "blob", "p", 3, 2)
}

// returns tests that an engine can run an add which returns the new value if it says so.
func returns(s *suite) {
	if s.caps.ReturnsNew && !s.offers("next") {
		s.Errorf("the engine says that an add can return the new value, and cannot run one")
	}
}
