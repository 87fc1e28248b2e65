package modeltest

import (
	"context"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// onShared is the suite over one store, for an engine on which tables take long
// to make. Its rules take turns, and each begins with tables that were emptied;
// suites of several models may run at once.
func (s Suite) onShared(t *testing.T, st drivers.Store) *suite {
	t.Helper()
	schema, err := s.Model.Schema()
	if err != nil {
		t.Fatalf("schema of %s: %v", s.Model.Name, err)
	}
	if err := st.Apply(t.Context(), schema); err != nil {
		t.Fatalf("apply schema %s: %v", schema.Name, err)
	}
	s.Model.Schema = func() (*schemas.Schema, error) { return schema, nil } // the one that was applied
	on := s.on(func(t testing.TB, s *schemas.Schema) drivers.Store {
		if err := empty(t.Context(), st, s); err != nil {
			t.Fatalf("empty the tables of %s: %v", s.Name, err)
		}
		return st
	})
	on.shared = true
	return on
}

// empty deletes every partition of every table, behind the model's back.
func empty(ctx context.Context, st drivers.Store, s *schemas.Schema) error {
	session, err := st.Session()
	if err != nil {
		return err
	}
	defer session.Close()
	for _, table := range s.Tables {
		scans := []*schemas.Pattern{schemas.ScanOf(table)}
		if len(table.Static) > 0 {
			scans = append(scans, schemas.StaticScanOf(table))
		}
		for _, scan := range scans {
			if table.Header() {
				continue
			}
			if err := emptyTable(ctx, st, session, scan); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyTable deletes the partitions that a scan finds.
func emptyTable(ctx context.Context, st drivers.Store, session drivers.Session, scan *schemas.Pattern) error {
	n := len(scan.Table.Partition)
	scan.Columns = scan.Table.Partition
	read, err := st.Prepare(ctx, scan)
	if err != nil {
		return err
	}
	remove, err := st.Prepare(ctx, &schemas.Pattern{
		Name: "empty", Kind: schemas.Delete, Scope: schemas.ScopePartition, Table: scan.Table, By: scan.Table.Partition,
	})
	if err != nil {
		return err
	}
	var last []drivers.Value
	var keys [][]drivers.Value
	err = session.Read(ctx, read, nil, func(row []drivers.Value) error {
		if last == nil || !slices.EqualFunc(last, row[:n], drivers.Value.Equal) {
			last = slices.Clone(row[:n])
			for i := range last {
				last[i] = last[i].Clone()
			}
			keys = append(keys, last)
		}
		return nil
	})
	for _, key := range keys {
		if err == nil {
			_, err = session.Write(ctx, remove, key)
		}
	}
	return err
}
