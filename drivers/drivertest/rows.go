package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

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
				t.Errorf("%s was split into %d parts, %d of them with rows; want %d", table, len(parts), filled, n)
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

// fallbacks tests patterns that an engine may be unable to run. Prepare of such an engine
// returns ErrUnsupported, and the schema's fallback yields the same rows.
func fallbacks(s *suite) {
	c := s.client()
	if s.caps.PlainIndexes != s.offers("dated") {
		s.Errorf("capabilities say plain indexes: %v, Prepare says %v", s.caps.PlainIndexes, s.offers("dated"))
	}
	for m, sender := range []string{"x", "y", "x", "x", "x"} {
		c.write("put", "u", fmt.Sprint("f", m%2), m, sender, 1000*m)
	}
	finds := s.caps.PlainIndexes || s.caps.EqualIndexes
	for _, name := range []string{"sent", "sent_box"} {
		p := s.schema.Pattern(name)
		_, err := s.store.Prepare(s.ctx, p)
		switch {
		case finds && err != nil:
			s.Errorf("capabilities say indexes over plain columns, and Prepare of %s: %v", name, err)
		case !finds && !errors.Is(err, drivers.ErrUnsupported):
			s.Errorf("capabilities say no indexes over plain columns, and Prepare of %s: %v; expected ErrUnsupported", name, err)
		}
		if emulated := c.statement(name).Emulates(); (emulated == p) == finds {
			s.Errorf("%s: emulated %v, though indexes over plain columns: %v", name, emulated != nil, finds)
		}
	}
	n := 0
	err := c.session.Read(c.ctx, c.statement("sent"), c.call("sent", "x").args,
		func([]drivers.Value) error { n++; return nil })
	if err != nil || n != 4 {
		s.Errorf("sent (x) yields %d rows and %v, expected 4", n, err)
	}
}
