package drivertest

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// RunShared runs all topics over one store. It is for an engine that is slow to create
// tables. The first topic that reads a schema file applies the schema, and the topics
// after it begin with empty tables.
func RunShared(t *testing.T, st drivers.Store) {
	s := &shared{Store: st, applied: make(map[string]*suite)}
	Run(t, func(testing.TB, *schemas.Schema) drivers.Store { return s })
}

// shared is a store with the schemas that topics have applied, by file.
type shared struct {
	drivers.Store
	applied map[string]*suite
}

// begin empties the tables of the schema that a topic before has applied. If there is
// none, it applies the topic's own schema.
func (sh *shared) begin(s *suite, file string, pairs []string) {
	s.Helper()
	s.store, s.shared = sh.Store, true
	key := file + strings.Join(pairs, ",")
	if before := sh.applied[key]; before != nil {
		s.schema, s.set = before.schema, before.set
		s.empty()
		return
	}
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		s.Fatal(err)
	}
	s.prepare()
	sh.applied[key] = s
}

// empty deletes every partition of every table.
func (s *suite) empty() {
	s.Helper()
	session, err := s.store.Session()
	if err != nil {
		s.Fatal(err)
	}
	defer session.Close()
	for _, t := range s.schema.Tables {
		if t.Header() {
			continue
		}
		scans := []*schemas.Pattern{schemas.ScanOf(t)}
		if len(t.Static) > 0 {
			scans = append(scans, schemas.StaticScanOf(t))
		}
		for _, scan := range scans {
			scan.Columns = t.Partition
			for _, key := range s.partitions(session, scan) {
				s.deletePartition(session, t, key)
			}
		}
	}
}

// partitions returns the partition keys that a scan finds.
func (s *suite) partitions(session drivers.Session, scan *schemas.Pattern) [][]drivers.Value {
	s.Helper()
	read, err := s.store.Prepare(s.ctx, scan)
	if err != nil {
		s.Fatal(err)
	}
	var keys [][]drivers.Value
	seen := make(map[string]bool)
	err = session.Read(s.ctx, read, nil, func(row []drivers.Value) error {
		if !seen[line(row)] {
			seen[line(row)] = true
			keys = append(keys, drivers.ListOf(row).Clone().Elems())
		}
		return nil
	})
	if err != nil {
		s.Fatalf("empty table %s: %v", scan.Table.Name, err)
	}
	return keys
}

func (s *suite) deletePartition(session drivers.Session, t *schemas.Table, key []drivers.Value) {
	s.Helper()
	remove, err := s.store.Prepare(s.ctx, &schemas.Pattern{
		Name: "empty", Kind: schemas.Delete, Scope: schemas.ScopePartition, Table: t, By: t.Partition,
	})
	if err == nil {
		_, err = session.Write(s.ctx, remove, key)
	}
	if err != nil {
		s.Fatalf("empty table %s: %v", t.Name, err)
	}
}
