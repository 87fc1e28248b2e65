package drivertest

import (
	"errors"
	"math"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// Tests use these identifiers where any will do.
var (
	someUUID     = [16]byte{0xde, 0xad, 6: 0x40, 8: 0x80, 15: 1}
	someTimeUUID = [16]byte{0x13, 0x81, 0x40, 0x00, 0x1d, 0xd2, 0x11, 0xb2, 0x80, 15: 7}
)

// rows tests single rows: put, get, nulls, parts of rows, missing rows.
func rows(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	c.expect(nil, "get", "p", 1)
	c.expect(nil, "all", "p")

	full := []any{"text", []byte{0, 255}, -5, int64(1) << 40, true, someUUID, someTimeUUID, -1_000_000}
	put := func(k int, vals ...any) { c.write("put", append([]any{"p", k}, vals...)...) }
	put(1, full...)
	put(2, "", []byte{}, 0, 0, false, [16]byte{}, [16]byte{6: 0x10}, 0)
	put(3, nil, nil, nil, nil, nil, nil, nil, nil)
	put(math.MinInt32, "min", nil, math.MinInt32, math.MinInt64, nil, nil, nil, -62_135_596_800_000_000)
	put(math.MaxInt32, "max", nil, math.MaxInt32, math.MaxInt64, nil, nil, nil, 253_402_300_799_999_999)
	c.expect([]string{row(append([]any{"p", 1}, full...)...)}, "get", "p", 1)
	c.expect([]string{row("p", 2, "", []byte{}, 0, 0, false, [16]byte{}, [16]byte{6: 0x10}, 0)}, "get", "p", 2)
	c.expect([]string{row("p", 3, nil, nil, nil, nil, nil, nil, nil, nil)}, "get", "p", 3)
	c.expect([]string{row("p", math.MinInt32, "min", nil, math.MinInt32, math.MinInt64, nil, nil, nil,
		-62_135_596_800_000_000)}, "get", "p", math.MinInt32)
	c.expect([]string{row("p", math.MaxInt32, "max", nil, math.MaxInt32, math.MaxInt64, nil, nil, nil,
		253_402_300_799_999_999)}, "get", "p", math.MaxInt32)
	c.expect([]string{"0x00ff 1 text p"}, "get_shuffled", "p", 1)
	c.expectCount(5, "all", "p")

	parts(c)
	marks(c)
	refused(c)
}

// parts tests writes of some columns of a row.
func parts(c *client) {
	get := func(want string, k int) {
		c.fail.Helper()
		c.expect([]string{want}, "get", "parts", k)
	}
	tail := " null null null null null null"
	c.write("put_a", "parts", 1, "one")
	get("parts 1 one null"+tail, 1)
	c.write("put_b", "parts", 1, []byte{1})
	get("parts 1 one 0x01"+tail, 1)
	c.write("put_a", "parts", 1, "two")
	get("parts 1 two 0x01"+tail, 1)
	c.write("put_a", "parts", 1, nil)
	get("parts 1 null 0x01"+tail, 1)
	c.expect([]string{"null"}, "get_a", "parts", 1)
	c.write("put_ab", "parts", 1, "three", nil)
	get("parts 1 three null"+tail, 1)
	c.write("put_a", "parts", 1, nil)
	get("parts 1 null null"+tail, 1) // the row stays when its last value goes
	c.write("put_a", "parts", 2, nil)
	get("parts 2 null null"+tail, 2) // a put of nothing creates the row
	c.write("put", "parts", 1, "four", []byte{4}, 4, 4, true, nil, nil, 4)
	c.write("put", "parts", 1, "five", nil, nil, nil, nil, nil, nil, nil)
	get("parts 1 five null"+tail, 1) // a put of all columns keeps none of the old values

	c.write("drop", "parts", 1)
	c.expect(nil, "get", "parts", 1)
	c.write("drop", "parts", 1)
	c.write("drop", "nowhere", 1)
	c.write("drop_all", "nowhere")
	c.expect([]string{"2 null"}, "all", "parts")
	c.write("put_b", "parts", 1, []byte{9})
	get("parts 1 null 0x09"+tail, 1) // nothing of the old row comes back
}

// marks tests tables that have only a key.
func marks(c *client) {
	for _, k := range []string{"c", "a", "b", "a"} {
		c.write("mark", "p", k)
	}
	c.expect([]string{"a", "b", "c"}, "marked", "p")
	c.expect([]string{"b"}, "is_marked", "p", "b")
	c.write("unmark", "p", "b")
	c.expect([]string{"a", "c"}, "marked", "p")
	c.expect(nil, "is_marked", "p", "b")
}

// refused tests calls that cannot be run. They fail and change nothing.
func refused(c *client) {
	c.write("put_a", "refused", 1, "kept")
	for name, vals := range map[string][]any{
		"a null key":                {"refused", nil, "x"},
		"a null partition":          {nil, 1, "x"},
		"a text in an int column":   {"refused", drivers.Text("2"), "x"},
		"a bigint in a text column": {"refused", 1, drivers.Bigint(3)},
	} {
		if r, err := c.try("put_a", vals...); err == nil {
			c.Errorf("a put with %s returned %+v and no error", name, r)
		} else if errors.Is(err, drivers.ErrUnknown) {
			c.Errorf("a put with %s: %v; it cannot have been sent", name, err)
		}
	}
	if _, err := c.lines("all", nil); err == nil {
		c.Errorf("a slice of the null partition returned no error")
	}
	st := c.statement("put_a")
	if _, err := c.session.Write(c.ctx, st, []drivers.Value{drivers.Text("refused")}); err == nil {
		c.Errorf("a put with too few arguments returned no error")
	}
	if _, err := c.session.Write(c.ctx, c.statement("all"), []drivers.Value{drivers.Text("refused")}); err == nil {
		c.Errorf("a slice that was run by Write returned no error")
	}
	never := func([]drivers.Value) error { return errors.New("a write yields no rows") }
	if err := c.session.Read(c.ctx, st, []drivers.Value{drivers.Text("refused"), drivers.Int(1), drivers.Text("x")},
		never); err == nil {
		c.Errorf("a put that was run by Read returned no error")
	}
	c.expect([]string{"1 kept"}, "all", "refused")
}
