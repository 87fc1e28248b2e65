package cut

import (
	"errors"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

const schema = `schema: 1
name: test
description: rows
native: embedded
tables:
  rows: {partition: [k int], clustering: [n int]}
patterns:
  put: {description: a row, put: rows}
  all: {description: rows, slice: rows, by: k, limit: 10, columns: n}
  together: {description: rows, batch: [{run: put, each: row}], atomic: partition}
  singly: {description: rows, batch: [{run: put, each: row}]}
workflow: {all: []}
`

// After a kill nothing is written or read, and what was written before is there. Of a batch that is not
// atomic some parts are.
func TestSession(t *testing.T) {
	for _, c := range []struct {
		batch   string
		after   int
		refuses bool
		want    []int64
		err     error
		made    []string
	}{
		{"together", 0, false, nil, ErrKilled, nil},
		{"together", 1, false, []int64{0, 1, 2}, nil, []string{"together"}},
		{"singly", 2, false, []int64{0, 1}, ErrKilled, []string{"put", "put"}},
		{"singly", -1, false, []int64{0, 1, 2}, nil, []string{"put", "put", "put"}},
		{"singly", 0, true, nil, ErrRefused, nil},
		{"singly", 1, true, []int64{0}, drivers.ErrUnknown, []string{"put"}},
	} {
		s, err := schemas.Parse("test", []byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir() + "/data"})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if err := st.Apply(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		p, err := drivers.PrepareAll(t.Context(), st, s)
		if err != nil {
			t.Fatal(err)
		}
		get := func(name string) drivers.Statement {
			st, err := p.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		inner, err := st.Session()
		if err != nil {
			t.Fatal(err)
		}
		defer inner.Close()
		var parts []drivers.Call
		for n := range 3 {
			parts = append(parts, drivers.Call{Args: []drivers.Value{drivers.Int(1), drivers.Int(int32(n))}})
		}
		k := &Session{Session: inner, After: c.after, Refuses: c.refuses}
		if err := k.Batch(t.Context(), get(c.batch), parts); !errors.Is(err, c.err) || k.Broke != (c.err != nil) {
			t.Errorf("%+v: %v, broke: %t", c, err, k.Broke)
		}
		read := func(s drivers.Session) (got []int64, err error) {
			err = s.Read(t.Context(), get("all"), []drivers.Value{drivers.Int(1)}, func(row []drivers.Value) error {
				got = append(got, row[0].Int64())
				return nil
			})
			return got, err
		}
		if got, err := read(inner); err != nil || !slices.Equal(got, c.want) || !slices.Equal(k.Made, c.made) {
			t.Errorf("%+v: there is %v, made %v: %v", c, got, k.Made, err)
		}
		if _, err := read(k); errors.Is(err, ErrKilled) != (c.after > 0 && !c.refuses) {
			t.Errorf("%+v: a read after it: %v", c, err)
		}
		_, err = k.Write(t.Context(), get("put"), []drivers.Value{drivers.Int(1), drivers.Int(9)})
		if errors.Is(err, ErrKilled) != (c.after >= 0 && !c.refuses) {
			t.Errorf("%+v: a write after it: %v", c, err)
		}
	}
}
