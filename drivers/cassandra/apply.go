package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// pollInterval is the time between two checks of a condition of the cluster.
const pollInterval = 20 * time.Millisecond

// table is a table of an applied schema.
type table struct {
	*schemas.Table
	keyspace  string
	qualified string          // its name in statements
	indexed   map[string]bool // the columns that have an index of their own
	// conditional is true if some pattern writes to the table by compare-and-set.
	conditional bool
	options     map[string]string // present values in Cassandra of the options that hints can set
}

// Apply implements drivers.Store. Two clients may apply one schema at the same
// time: all statements say IF NOT EXISTS and go to the same node, so that no two
// nodes each create a table. At the end Apply reads the keyspace and compares it.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, err)
	}
	defer s.leave()
	apply := s.apply
	if s.readOnly {
		apply = s.attach
	}
	if err := apply(ctx, sch); err != nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, err)
	}
	return nil
}

func (s *Store) apply(ctx context.Context, sch *schemas.Schema) error {
	d, err := define(sch, s.namespace, s.replication)
	if err != nil {
		return err
	}
	if s.throwsAway {
		d.throwAway = throwAway
	}
	keyspace := d.keyspace
	there, err := s.readKeyspace(ctx, keyspace)
	if err != nil {
		return fmt.Errorf("read keyspace %s: %w", keyspace, err)
	}
	missing, err := d.missing(there)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if there, err = s.create(ctx, d, missing); err != nil {
			return err
		}
	}
	s.nodes.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: keyspace})
	s.addApplied(d, sch, there)
	return nil
}

// attach is Apply of a store that is open for reading only. Reads use only those of the
// schema's indexes that exist.
func (s *Store) attach(ctx context.Context, sch *schemas.Schema) error {
	d, there, err := s.find(ctx, sch)
	if err == nil && there == nil {
		err = fmt.Errorf("there is no keyspace %s", d.keyspace)
	}
	if err != nil {
		return err
	}
	if err := drivers.Readable(d.stored, there.schema(sch.Name)); err != nil {
		return fmt.Errorf("keyspace %s: %w", d.keyspace, err)
	}
	s.nodes.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: d.keyspace})
	for i := range d.tables {
		td := &d.tables[i]
		t := there.tables[td.name]
		td.indexes = slices.DeleteFunc(td.indexes, func(x indexDefinition) bool { return !t.indexed(x.column.Name) })
	}
	s.addApplied(d, sch, there)
	return nil
}

// find reads the keyspace of a schema, which need not be mailbench's. The keyspace is nil if it
// does not exist. A table without a mark gets the one that Apply would have written.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (*definition, *liveKeyspace, error) {
	namespace := s.namespace
	if own, ok := strings.CutPrefix(s.keyspace, drivers.Prefix); ok { // mailbench_NAMESPACE_SCHEMA
		if before, ok := strings.CutSuffix(own, "_"+cqlName(sch.Name)); ok {
			namespace = before
		}
	}
	d, err := define(sch, namespace, s.replication)
	if err != nil {
		return nil, nil, err
	}
	if s.keyspace != "" {
		d.keyspace = s.keyspace
	}
	there, err := s.readKeyspace(ctx, d.keyspace)
	if err != nil {
		return nil, nil, fmt.Errorf("read keyspace %s: %w", d.keyspace, err)
	}
	if there != nil {
		there.markAs(d.tables)
	}
	return d, there, nil
}

// addApplied records the tables, so that patterns can be prepared for them.
func (s *Store) addApplied(d *definition, sch *schemas.Schema, there *liveKeyspace) {
	tables := make(map[*schemas.Table]*table)
	for _, td := range d.tables {
		t := &table{
			Table: td.table, keyspace: d.keyspace, qualified: quote(d.keyspace) + "." + quote(td.name),
			indexed: make(map[string]bool),
		}
		if live := there.tables[td.name]; live != nil {
			t.options = live.hints()
		}
		for _, x := range td.indexes {
			t.indexed[x.column.Name] = true
		}
		for _, p := range sch.Patterns {
			t.conditional = t.conditional || p.Kind == schemas.PutIf && p.Table == td.table
		}
		tables[td.table] = t
	}
	s.applied.Add(sch, tables)
}

// create runs the statements and returns the keyspace as it is afterwards.
func (s *Store) create(ctx context.Context, d *definition, missing []string) (*liveKeyspace, error) {
	for _, stmt := range missing {
		if err := s.alter(ctx, stmt); err != nil {
			return nil, fmt.Errorf("%w, at: %s", err, stmt)
		}
	}
	if err := s.session.AwaitSchemaAgreement(ctx); err != nil {
		return nil, fmt.Errorf("wait until all nodes agree on the schema: %w", err)
	}
	there, err := s.readKeyspace(ctx, d.keyspace)
	if err != nil {
		return nil, fmt.Errorf("read keyspace %s: %w", d.keyspace, err)
	}
	missing, err = d.missing(there)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("somebody else dropped it while it was being created; missing: %s", missing[0])
	}
	if err != nil {
		return nil, err
	}
	return there, s.awaitIndexes(ctx, d)
}

// missing returns the statements that create what the keyspace lacks. It returns
// an error if the keyspace differs in any other way.
func (d *definition) missing(there *liveKeyspace) ([]string, error) {
	if there == nil {
		return d.statements(), nil
	}
	if err := there.owned(d.namespace, d.stored.Name); err != nil {
		return nil, err
	}
	if is := there.factor(d.replication.Datacenter); is != strconv.Itoa(d.replication.Factor) {
		return nil, fmt.Errorf("keyspace %s has %s, but replication is to be %d: drop the keyspace, or change the setting",
			d.keyspace, cqlMap(there.replication), d.replication.Factor)
	}
	missing, err := drivers.Missing(d.stored, there.schema(d.stored.Name))
	if err != nil {
		return nil, fmt.Errorf("keyspace %s: %w", d.keyspace, err)
	}
	var stmts []string
	for _, td := range d.tables {
		t := there.tables[td.name]
		if t == nil {
			stmts = append(stmts, d.createTable(td))
		}
		for _, m := range missing {
			if t != nil && t.comment != td.comment && m.Table == td.table.Name { // it was created without this index
				return nil, fmt.Errorf("keyspace %s: %w", d.keyspace, drivers.Conflict([]schemas.Difference{m}))
			}
		}
		for _, x := range td.indexes {
			if t == nil || !t.indexed(x.column.Name) {
				stmts = append(stmts, d.createIndex(td, x))
			}
		}
	}
	return stmts, nil
}

// alterAttempts is how often a schema change is tried. On a loaded cluster one may
// take longer than a request's timeout. All schema changes here can be run twice.
const alterAttempts = 3

// alter runs a statement that changes the schema. It uses the same node each time,
// as long as that node is up. gocql waits until all nodes know of the change.
func (s *Store) alter(ctx context.Context, stmt string) (err error) {
	for range alterAttempts {
		at := ctx
		for _, h := range s.nodes.all() {
			if h.IsUp() {
				at = toNode(ctx, h)
				break
			}
		}
		err = s.session.Query(stmt).WithContext(at).Exec()
		if err == nil || ctx.Err() != nil || classify(err, plainWrite) != unknown {
			break
		}
	}
	return err
}

// poll checks a condition until it holds.
func poll(ctx context.Context, holds func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
