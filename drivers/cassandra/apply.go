package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// Apply implements drivers.Store. Two clients may apply one schema at the same
// time: all statements say IF NOT EXISTS and go to the same node, so that no two
// nodes each create a table. At the end Apply reads the keyspace and compares it.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	return s.During("apply schema "+sch.Name, func() error {
		if s.ReadOnly {
			return s.attach(ctx, sch)
		}
		return s.apply(ctx, sch)
	})
}

func (s *Store) apply(ctx context.Context, sch *schemas.Schema) error {
	d, there, err := s.find(ctx, sch)
	if err != nil {
		return err
	}
	missing, err := d.Missing(there)
	if err == nil && len(missing) > 0 {
		there, err = s.create(ctx, d, missing)
	}
	if err == nil {
		s.use(d, sch, there)
	}
	return err
}

// use has sessions run the patterns of a schema on a keyspace.
func (s *Store) use(d *ddl.Definition, sch *schemas.Schema, there *ddl.LiveKeyspace) {
	s.nodes.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: d.Keyspace})
	s.compiler.add(d, sch, there)
}

// attach is Apply of a store that is open for reading only. Reads use only those of the
// schema's indexes that exist.
func (s *Store) attach(ctx context.Context, sch *schemas.Schema) error {
	d, there, err := s.find(ctx, sch)
	if err == nil && there == nil {
		err = s.absent(ctx, d.Keyspace)
	}
	if err != nil {
		return err
	}
	if err := drivers.Readable(d.Stored, there.Schema(sch.Name)); err != nil {
		return fmt.Errorf("keyspace %s: %w", d.Keyspace, err)
	}
	for i := range d.Tables {
		td := &d.Tables[i]
		t := there.Tables[td.Name]
		td.Indexes = slices.DeleteFunc(td.Indexes, func(x ddl.IndexDefinition) bool { return !t.Indexed(x.Column.Name) })
	}
	s.use(d, sch, there)
	return nil
}

// find reads the keyspace of a schema, which need not be mailbench's. The keyspace is nil if it
// does not exist. A table without a mark gets the one that Apply would have written. The definition uses what this
// cluster knows.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (*ddl.Definition, *ddl.LiveKeyspace, error) {
	namespace := s.namespace
	if own, ok := strings.CutPrefix(s.keyspace, drivers.Prefix); ok { // mailbench_NAMESPACE_SCHEMA
		if before, ok := strings.CutSuffix(own, "_"+ddl.Name(sch.Name)); ok {
			namespace = before
		}
	}
	d, err := ddl.Define(sch, namespace, s.replication)
	if err != nil {
		return nil, nil, err
	}
	d.Keyspace = cmp.Or(s.keyspace, d.Keyspace)
	d.NoTablets, d.NamesLegacy = s.knows.tablets, s.server[defaultIndex] != ""
	if s.knows.throwAway {
		d.ThrowAway = throwAway
	}
	there, err := readKeyspace(ctx, s.session, d.Keyspace)
	if there != nil {
		there.MarkAs(d.Tables)
	}
	return d, there, err
}

// create runs the statements and returns the keyspace as it is afterwards.
func (s *Store) create(ctx context.Context, d *ddl.Definition, missing []string) (*ddl.LiveKeyspace, error) {
	for _, stmt := range missing {
		if err := s.alter(ctx, stmt); err != nil {
			return nil, fmt.Errorf("%w, at: %s", err, stmt)
		}
	}
	if err := s.session.AwaitSchemaAgreement(ctx); err != nil {
		return nil, fmt.Errorf("wait until all nodes agree on the schema: %w", err)
	}
	there, err := readKeyspace(ctx, s.session, d.Keyspace)
	if err != nil {
		return nil, err
	}
	missing, err = d.Missing(there)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("somebody else dropped it while it was being created; missing: %s", missing[0])
	}
	if err != nil {
		return nil, err
	}
	return there, s.awaitIndexes(ctx, d)
}

// alterAttempts is how often a schema change is tried. On a loaded cluster one may
// take longer than a request's timeout. All schema changes here can be run twice.
const alterAttempts = 3

// alter runs a statement that changes the schema. It uses the same node each time,
// as long as that node is up. gocql waits until all nodes know of the change.
func (c *cluster) alter(ctx context.Context, stmt string) (err error) {
	for range alterAttempts {
		at := ctx
		if up := c.nodes.reachable(); len(up) > 0 {
			at = toNode(ctx, up[0])
		}
		err = c.session.Query(stmt).WithContext(at).Exec()
		if err == nil || ctx.Err() != nil || classify(err, plainWrite) != drivers.ErrUnknown {
			break
		}
	}
	return err
}

// awaitIndexes waits until every node has built the definition's indexes. A node
// refuses to read from an index that it has not built.
func (c *cluster) awaitIndexes(ctx context.Context, d *ddl.Definition) error {
	want := 0
	for _, td := range d.Tables {
		want += len(td.Indexes)
	}
	if want == 0 {
		return nil
	}
	for _, h := range c.nodes.reachable() {
		err := poll(ctx, func() (bool, error) {
			var built int
			err := c.session.Query(`SELECT COUNT(*) FROM system."IndexInfo" WHERE table_name = ?`, d.Keyspace).
				Consistency(gocql.One).WithContext(toNode(ctx, h)).Scan(&built)
			return built >= want, err
		})
		if hidden(err) {
			return c.awaitIndexReads(ctx, d)
		}
		if err != nil {
			return fmt.Errorf("wait for %d indexes on %s: %w", want, h.ConnectAddress(), err)
		}
	}
	return nil
}

// awaitIndexReads waits until each index can be read. It is for clusters that do not show this
// user which indexes are built.
func (c *cluster) awaitIndexReads(ctx context.Context, d *ddl.Definition) error {
	for _, td := range d.Tables {
		for _, x := range td.Indexes {
			is := "="
			switch x.Column.Type.Kind {
			case schemas.Set, schemas.List, schemas.Map:
				is = "CONTAINS"
			}
			query := fmt.Sprintf("SELECT %s FROM %s WHERE %s %s ? LIMIT 1", ddl.Quote(td.Table.Partition[0].Name),
				d.Qualified(td.Name), ddl.Quote(x.Column.Name), is)
			err := poll(ctx, func() (bool, error) {
				err := c.session.Query(query, anyValue{}).Consistency(c.settings.consistency).WithContext(ctx).Exec()
				var refused gocql.RequestError
				if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeReadFailure {
					return false, nil // some replica has not built it
				}
				return err == nil, err
			})
			if err != nil {
				return fmt.Errorf("wait for index %s of table %s: %w", x.Name, td.Table.Name, err)
			}
		}
	}
	return nil
}

// anyValue is a bind value that fits a column of any type.
type anyValue struct{}

// MarshalCQL implements gocql.Marshaler.
func (anyValue) MarshalCQL(t gocql.TypeInfo) ([]byte, error) {
	switch t.Type() {
	case gocql.TypeInt:
		return make([]byte, 4), nil
	case gocql.TypeBoolean:
		return make([]byte, 1), nil
	case gocql.TypeBigInt:
		return make([]byte, 8), nil
	case gocql.TypeUUID, gocql.TypeTimeUUID:
		id := make([]byte, 16)
		id[6] = 1 << 4 // version 1, which is valid for both types
		return id, nil
	}
	return []byte("x"), nil
}
