package drivertest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
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

// statics tests static columns. They have one value for each partition, beside its rows.
func statics(t testing.TB, open Open) {
	c := begin(t, open, "statics.yaml").client()
	c.expect(nil, "title", "p", 1)
	c.write("put", "p", 1, 1, "a")
	c.write("put", "p", 1, 2, "b")
	c.expect([]string{"2 b null", "1 a null"}, "titled", "p", 1)
	c.write("retitle", "p", 1, "T", 5)
	c.expect([]string{"p 1 T 5"}, "title", "p", 1)
	c.expect([]string{"2 b T", "1 a T"}, "titled", "p", 1)
	c.expect([]string{"2 b", "1 a"}, "rows", "p", 1) // the static columns make no row
	c.expect([]string{"1 T a"}, "one", "p", 1, 1)
	c.write("retitle_only", "p", 1, "U")
	c.expect([]string{"p 1 U 5"}, "title", "p", 1)
	c.expect([]string{"2 b U", "1 a U"}, "titled", "p", 1)

	c.write("retitle", "p", 0, "neighbour", nil)
	c.write("retitle", "p", 2, "", 0)
	c.write("put", "p", 0, 1, "n")
	c.expect([]string{`p 2 "" 0`}, "title", "p", 2) // a partition of nothing but statics
	c.expect(nil, "titled", "p", 2)
	c.write("put", "q", 1, 1, "no title")
	c.same([]string{"p 1 U 5", "p 0 neighbour null", `p 2 "" 0`}, "titles")
	c.same([]string{"p 1 1 U", "p 1 2 U", "p 0 1 neighbour", "q 1 1 null"}, "scan")

	// Static columns stay when rows are deleted, and go with their partition.
	c.write("drop", "p", 1, 1)
	c.write("drop", "p", 1, 2)
	c.expect([]string{"p 1 U 5"}, "title", "p", 1)
	c.expect(nil, "titled", "p", 1)
	c.write("put", "p", 1, 3, "c")
	c.expect([]string{"3 c U"}, "titled", "p", 1)
	c.write("drop_all", "p", 1)
	c.expect(nil, "titled", "p", 1)
	c.expect(nil, "title", "p", 1)
	c.expect([]string{"p 0 neighbour null"}, "title", "p", 0)
	c.expect([]string{"1 n neighbour"}, "titled", "p", 0)
	c.same([]string{"p 0 neighbour null", `p 2 "" 0`}, "titles")
	c.write("put", "p", 1, 4, "d")
	c.expect([]string{"4 d null"}, "titled", "p", 1) // the old title does not come back
}

// splits tests scans in parts: together they yield each row once.
func splits(t testing.TB, open Open) {
	c := begin(t, open, "nested.yaml").client()
	sp, ok := c.store.(drivers.Splitter)
	if !ok {
		t.Skip("the store does not split scans")
	}
	for u := range 12 {
		for m := range 3 {
			user := fmt.Sprintf("user%02d@example.com", u)
			c.write("put_chunk", user, "f", m, 0, []byte{byte(u)})
			c.write("put_message", user, "f", m, "s", m)
			c.write("put_meta", user, m, "name", "v")
		}
	}
	for _, table := range []string{"chunk", "message", "meta", "body"} {
		scan, err := c.store.Prepare(c.ctx, schemas.ScanOf(c.schema.Table(table)))
		if err != nil {
			t.Fatal(err)
		}
		whole := c.parts(scan)
		for _, n := range []int{1, 2, 7, 64} {
			parts, err := sp.Split(c.ctx, scan, n)
			if err != nil {
				t.Fatalf("split %s into %d: %v", table, n, err)
			}
			if got := c.parts(parts...); !slices.Equal(got, whole) {
				t.Errorf("%d parts of %s yield\n%q\nthe scan\n%q", len(parts), table, got, whole)
			}
			if ranger, ok := c.store.(drivers.Ranger); ok {
				var ranges []string
				for _, p := range parts {
					ranges = append(ranges, ranger.Range(p))
				}
				again, err := ranger.Within(c.ctx, scan, ranges)
				if err != nil {
					t.Fatalf("parts of %s within %q: %v", table, ranges, err)
				}
				for i, p := range parts {
					if got, want := c.parts(again[i]), c.parts(p); !slices.Equal(got, want) {
						t.Errorf("%s within %s yields\n%q\nthe part\n%q", table, ranges[i], got, want)
					}
				}
				if _, err := ranger.Within(c.ctx, scan, []string{"nothing"}); err == nil {
					t.Errorf("%s within no range: no error", table)
				}
			}
			filled := 0
			for _, p := range parts {
				filled += min(len(c.parts(p)), 1)
			}
			if len(parts) == 0 || len(parts) > n || n > 1 && len(whole) > 0 && filled < 2 {
				t.Errorf("%s was split into %d parts, %d of them with rows; asked for %d", table, len(parts), filled, n)
			}
		}
	}
}

// parts reads scans and returns their rows in alphabetical order.
func (c *client) parts(scans ...drivers.Statement) []string {
	c.Helper()
	var rows []string
	for _, scan := range scans {
		err := c.session.Read(c.ctx, scan, nil, func(row []drivers.Value) error {
			rows = append(rows, line(row))
			return nil
		})
		if err != nil {
			c.Fatal(err)
		}
	}
	slices.Sort(rows)
	return rows
}
