package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
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
		words[i] = word(v)
	}
	return strings.Join(words, " ")
}

// row writes Go values as line writes a row of them.
func row(vals ...any) string {
	words := make([]string, len(vals))
	for i, v := range vals {
		var t schemas.Type
		switch v := v.(type) {
		case list:
			words[i] = fmt.Sprint(v...)
			continue
		case int, int64:
			t.Kind = schemas.Bigint
		case []byte:
			t.Kind = schemas.Blob
		case string:
			t.Kind = schemas.Text
		case [16]byte:
			t.Kind = schemas.UUID
		}
		words[i] = word(valueOf(t, v))
	}
	return strings.Join(words, " ")
}

// longest is how many bytes of a value are written out. A longer value is written
// as its length and checksum.
const longest = 64

func word(v drivers.Value) string {
	switch v.Kind() {
	case schemas.Null:
		return "null"
	case schemas.Boolean:
		return strconv.FormatBool(v.Bool())
	case schemas.Text, schemas.Blob:
		b := v.Raw()
		switch {
		case len(b) > longest:
			return fmt.Sprintf("%s(%d bytes, %08x)", v.Kind(), len(b), crc32.ChecksumIEEE(b))
		case v.Kind() == schemas.Blob:
			return fmt.Sprintf("0x%x", b)
		case len(b) == 0 || string(b) == "null" || strings.ContainsFunc(string(b), func(r rune) bool {
			return r <= ' ' || r > '~' || r == '"'
		}):
			return strconv.Quote(string(b))
		}
		return string(b)
	case schemas.UUID, schemas.TimeUUID:
		return fmt.Sprintf("%x", v.UUIDBytes())
	case schemas.List, schemas.Set, schemas.Map:
		return collection(v)
	}
	return strconv.FormatInt(v.Int64(), 10)
}

// collection writes sets and maps sorted, lists as they are.
func collection(v drivers.Value) string {
	if len(v.Elems()) == 0 {
		return "null"
	}
	var words []string
	for i, e := range v.Elems() {
		if v.Kind() == schemas.Map && i%2 == 1 {
			words[len(words)-1] += ":" + word(e)
			continue
		}
		words = append(words, word(e))
	}
	if v.Kind() == schemas.List {
		return "[" + strings.Join(words, ",") + "]"
	}
	slices.Sort(words)
	return "{" + strings.Join(words, ",") + "}"
}

// clip writes arguments for messages, and shortens long ones.
func clip(vals []any) string { return "(" + row(vals...) + ")" }

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
		c.expect([]string{row(noise[:n], i, nil, "p")}, "get_shuffled", "p", i)
		c.write("put_b", "p", i, []byte("small again"))
		c.expect([]string{row([]byte("small again"), i, nil, "p")}, "get_shuffled", "p", i)
	}
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	c.write("put_a", "p", 9, text[:min(most-4096, int64(len(text)))])
	c.expect([]string{row(9, text[:min(most-4096, int64(len(text)))])}, "several", "p", list{9})

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
		c.expect([]string{"0x6b657074 1 null over"}, "get_shuffled", "over", 1)
	}
}
