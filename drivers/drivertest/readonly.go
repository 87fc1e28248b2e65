package drivertest

import (
	"context"
	"errors"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// ReadOnly tests the contract of a store that is open for reading only. It applies a
// schema to a store with the options o, and opens the store again. keyspace returns the
// full name of the keyspace of a schema's tables. It is nil if the engine has none.
func ReadOnly(t *testing.T, e drivers.Engine, o drivers.Options, keyspace func(schema string) string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if e.Remote {
		OpenLive(t, e, o) // drops the namespace in the end
	}
	w := opened(ctx, t, e, o, parse(t, "rows.yaml"))
	w.apply()
	t.Run("write", func(t *testing.T) { // the client closes when this subtest ends
		w := *w
		w.TB = t
		w.prepare()
		w.client().write("put_a", "p", 1, "kept")
	})
	w.close()

	places := []drivers.Options{o}
	if keyspace != nil {
		named := o
		named.Keyspace = keyspace(w.schema.Name)
		if st, err := e.Open(ctx, named); err == nil {
			t.Errorf("keyspace %s was opened for writing", named.Keyspace)
			st.Close()
		}
		named.Namespace = ""
		places = append(places, named)
	}
	for _, place := range places {
		place.ReadOnly = true
		t.Run("read "+place.Keyspace, func(t *testing.T) {
			r := opened(ctx, t, e, place, w.schema)
			t.Cleanup(r.close)
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
	s.apply()
	s.prepare()
	s.client().expect([][]any{{1, "kept"}}, "all", "p")
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
