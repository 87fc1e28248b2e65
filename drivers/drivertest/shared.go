package drivertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Empty deletes every partition of every table of a schema that was applied.
func Empty(ctx context.Context, st drivers.Store, s *schemas.Schema) error {
	session, err := st.Session()
	if err != nil {
		return err
	}
	defer session.Close()
	for _, t := range s.Tables {
		if !t.Header() {
			if err := emptyTable(ctx, st, session, t); err != nil {
				return fmt.Errorf("empty table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// emptyTable deletes the partitions that have rows or static columns.
func emptyTable(ctx context.Context, st drivers.Store, session drivers.Session, t *schemas.Table) error {
	keys := make(map[string][]drivers.Value)
	for _, scan := range []*schemas.Pattern{schemas.ScanOf(t), schemas.StaticScanOf(t)} {
		if scan.Static && len(t.Static) == 0 {
			continue
		}
		scan.Columns = t.Partition
		read, err := st.Prepare(ctx, scan)
		if err == nil {
			err = session.Read(ctx, read, nil, func(row []drivers.Value) error {
				keys[line(row)] = clone(row)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	remove, err := st.Prepare(ctx, &schemas.Pattern{
		Name: "empty", Kind: schemas.Delete, Scope: schemas.ScopePartition, Table: t, By: t.Partition,
	})
	for _, key := range keys {
		if err == nil {
			_, err = session.Write(ctx, remove, key)
		}
	}
	return err
}

// OpenLive opens a store of an engine that is reached over the network. It drops the
// store's namespace when the test ends. On a busy machine an answer may take as long as
// patience: no contract is about the time that an engine takes.
func OpenLive(t testing.TB, e drivers.Engine, o drivers.Options) drivers.Store {
	t.Helper()
	settings := make(map[string]string, len(o.Settings)+2)
	for _, s := range e.Settings {
		if s.Name == "timeout" || s.Name == "connect_timeout" {
			settings[s.Name] = patience.String()
		}
	}
	maps.Copy(settings, o.Settings)
	o.Settings = settings
	st, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := drivers.Drop(context.Background(), st); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return st
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
	w := opened(ctx, t, e, o, parse(t, "rows.yaml"))
	t.Run("write", func(t *testing.T) { // the client closes when this subtest ends
		w := *w
		w.TB = t
		w.client().check("put_a", "p", 1, "kept")
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
			r.ref = w.ref
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
	s.client().check("all", "p")
	for _, p := range s.schema.Patterns {
		if _, err := s.store.Prepare(s.ctx, p); !p.Kind.Reads() && !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("pattern %s, which writes, was prepared: %v", p.Name, err)
		}
	}
	if a, ok := s.store.(drivers.Admin); ok {
		if _, err := a.Drop(s.ctx); !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("drop: %v", err)
		}
	}
}
