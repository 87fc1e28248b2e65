package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// counting tests that compare-and-set counts up and loses no count.
func counting(s *suite) {
	c := s.client()
	c.write("put", "cas", 0, nil, 0, nil)
	var unknown atomic.Int32
	s.parallel(4, func(_ int, c *client) error {
		for done := 0; done < 10; {
			now, err := c.counted()
			if err != nil {
				return err
			}
			r, err := c.try("change_n", "cas", 0, now+1, now)
			switch {
			case c.unknown(err):
				unknown.Add(1)
			case err != nil:
				return err
			case r.Applied:
				done++
			}
		}
		return nil
	})
	if got, err := c.counted(); err != nil || got < 40 || got > 40+int(unknown.Load()) {
		s.Errorf("counted %d, %v; want 40, and at most one more for each of %d unknown outcomes", got, err, unknown.Load())
	}
}

// moves tests batches with conditions. Of many sessions that move one row, one succeeds.
func moves(s *suite) {
	if !s.offers("move") {
		return
	}
	c := s.client()
	put := func(p string, k int) part { return with(0, p, k, "a", 1, true) }
	const racers, times = 4, 10
	var won, unknown [times]atomic.Int32
	for n := range times {
		c.write("put", fmt.Sprint("race", n), 0, "a", 1, true)
	}
	s.parallel(racers, func(i int, c *client) error {
		for n := range times {
			p := fmt.Sprint("race", n)
			switch err := c.batch("move", put(p, i+1), with(1, p, 0)); {
			case err == nil:
				won[n].Add(1)
			case c.unknown(err):
				unknown[n].Add(1)
			case !errors.Is(err, drivers.ErrNotApplied):
				return err
			}
		}
		return nil
	})
	for n := range times {
		rows, err := c.lines("slice", fmt.Sprint("race", n))
		if w := won[n].Load(); err != nil || len(rows) != 1 || w > 1 || w+unknown[n].Load() == 0 {
			s.Errorf("%d sessions have moved a row, and %d have an unknown outcome: found %q, %v; want one row by one session",
				w, unknown[n].Load(), rows, err)
		}
	}
}

// counted returns the number that clients count up together.
func (c *client) counted() (n int, err error) {
	rows, err := c.lines("get", "cas", 0)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(strings.Join(rows, "; "), "null %d null", &n); err != nil {
		return 0, fmt.Errorf("rows %q: %w", rows, err)
	}
	return n, nil
}

// unknown reports whether it is unknown if a write was applied, as on an engine with much to do. Then a
// client looks, or tries again, until the topic's time is over.
func (c *client) unknown(err error) bool {
	return errors.Is(err, drivers.ErrUnknown) && c.ctx.Err() == nil
}

// races has many sessions create the same rows at once. One of them wins: the row is its own, and each
// session knows who won, unless its outcome is unknown.
func races(s *suite) {
	s.Helper()
	const racers, times = 8, 20
	type outcome struct{ applied, unknown bool }
	var of [times][racers]outcome
	s.parallel(racers, func(i int, c *client) error {
		for n := range times {
			o := &of[n][i]
			r, err := c.try("create", "race", n, fmt.Sprint(i), i, true)
			for ; c.unknown(err); r, err = c.try("create", "race", n, fmt.Sprint(i), i, true) {
				o.unknown = true
			}
			if err != nil {
				return err
			}
			o.applied = r.Applied
		}
		return nil
	})
	c := s.client()
	for n := range times {
		rows, err := c.lines("get", "race", n)
		winner := -1
		if err == nil {
			_, err = fmt.Sscanf(strings.Join(rows, "; "), "%d ", &winner)
		}
		if err != nil {
			s.Fatalf("race %d: rows %q: %v", n, rows, err)
		}
		for i, o := range of[n] {
			if won := i == winner; o.applied && !won || won && !o.applied && !o.unknown {
				s.Errorf("race %d: the row is of session %d, and session %d: applied %v", n, winner, i, o.applied)
			}
		}
	}
}

// ties tests writes that follow each other within a clock tick of any engine. The later
// one counts.
func ties(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	for i := range 100 {
		k, v := i%3, fmt.Sprint(i)
		c.write("put_a", "p", k, "old")
		if i%10 == 0 {
			c.write("drop_all", "p")
			c.expect(nil, "all", "p")
		}
		c.write("drop", "p", k)
		c.write("put_a", "p", k, nil)
		c.write("put_a", "p", k, "z")
		c.write("put_a", "p", k, v) // the smaller value, at the same time
		c.expect([]string{row(k, v)}, "several", "p", list{k})
		c.write("drop", "p", k) // a row is moved away and back
		c.write("put_a", "p", k, v)
		c.expect([]string{row(k, v)}, "several", "p", list{k})
	}
	c.write("drop_all", "p")
	c.write("put_a", "p", 2, "after a partition")
	c.expect([]string{row(2, "after a partition")}, "all", "p")
}

// ReadOnly tests the contract of a store that is open for reading only. It applies a
// schema to a store with the options o, and opens the store again. keyspace returns the
// full name of the keyspace of a schema's tables. It is nil if the engine has none.
func ReadOnly(t *testing.T, e drivers.Engine, o drivers.Options, keyspace func(schema string) string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if e.Remote {
		OpenLive(t, e, o) // drops the namespace in the end
	}
	open := func(t testing.TB, o drivers.Options) drivers.Store {
		t.Helper()
		st, err := e.Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	w := &suite{TB: t, ctx: ctx, schema: parse(t, "rows.yaml"), store: open(t, o)}
	w.caps = w.store.Capabilities()
	closed := func(st drivers.Store) {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := w.store.Apply(ctx, w.schema); err != nil {
		t.Fatal(err)
	}
	t.Run("write", func(t *testing.T) { // the client closes when this subtest ends
		w := *w
		w.TB = t
		w.prepare()
		w.client().write("put_a", "p", 1, "kept")
	})
	closed(w.store)

	places := []drivers.Options{o}
	if keyspace != nil {
		named := o
		named.Keyspace = keyspace(w.schema.Name)
		if st, err := e.Open(ctx, named); err == nil {
			t.Errorf("keyspace %s was opened for writing", named.Keyspace)
			closed(st)
		}
		named.Namespace = ""
		places = append(places, named)
	}
	for _, place := range places {
		place.ReadOnly = true
		t.Run("read "+place.Keyspace, func(t *testing.T) {
			st := open(t, place)
			t.Cleanup(func() { closed(st) })
			r := &suite{TB: t, ctx: ctx, schema: w.schema, store: st, caps: st.Capabilities()}
			r.onlyReads(parse(t, "nested.yaml"), place.Keyspace != "")
		})
	}
}

// onlyReads reads the row that ReadOnly wrote, and checks that all writes are refused.
func (s *suite) onlyReads(absent *schemas.Schema, named bool) {
	s.Helper()
	if err := s.store.Apply(s.ctx, absent); err == nil {
		s.Errorf("a schema that is not there was applied")
	}
	if there, err := s.store.Inspect(s.ctx, absent.Name); err == nil &&
		(!named || there.Table(absent.Tables[0].Name) != nil) {
		s.Errorf("a schema was created")
	}
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		s.Fatal(err)
	}
	s.prepare()
	s.client().expect([]string{"1 kept"}, "all", "p")
	for _, p := range s.schema.Patterns {
		if _, err := s.store.Prepare(s.ctx, p); !p.Kind.Reads() && !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("pattern %s, which writes, was prepared: %v", p.Name, err)
		}
	}
	if a, ok := s.store.(drivers.Admin); ok {
		if err := a.Drop(s.ctx); !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("drop: %v", err)
		}
	}
}
