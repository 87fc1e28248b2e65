package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// place is the keyspace of a schema as it is (plan.Place).
type place struct {
	*ddl.Definition
	store *Store
}

// find reads the keyspace of a schema, which need not be mailbench's. The definition uses what this cluster knows.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (plan.Place, error) {
	namespace := s.NamespaceOf(plan.Identifier(sch.Name))
	d, err := ddl.Define(sch, namespace, s.replication)
	if err != nil {
		return nil, err
	}
	d.Keyspace, d.Cluster = cmp.Or(s.Keyspace, d.Keyspace), s.known
	rows, err := readKeyspace(ctx, s.session, d.Keyspace)
	if err != nil {
		return nil, err
	}
	d.Read(rows)
	return &place{d, s}, nil
}

// scan runs a query and calls row for each row of its result, with the columns in dest.
func scan(q *gocql.Query, row func(), dest ...any) error {
	it := q.Iter()
	for it.Scan(dest...) {
		row()
	}
	return it.Close()
}

// readKeyspace reads what system_schema has of a keyspace.
func readKeyspace(ctx context.Context, session *gocql.Session, name string) (ddl.Rows, error) {
	rows := make(ddl.Rows)
	for _, source := range ddl.Sources { // which columns they have depends on the version
		it := session.Query("SELECT * FROM system_schema."+source+" WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
		for {
			var cdc *bool // nil: a node without CDC does not report it
			row := map[string]any{"cdc": &cdc}
			if !it.MapScan(row) {
				break
			}
			if delete(row, "cdc"); cdc != nil {
				row["cdc"] = *cdc
			}
			rows[source] = append(rows[source], row)
		}
		if err := it.Close(); err != nil {
			return nil, fmt.Errorf("read keyspace %s: %w", name, err)
		}
	}
	return rows, nil
}

// absent is the error for a keyspace that does not exist. It names those that do, but for Cassandra's own.
func (c *cluster) absent(ctx context.Context, keyspace string) error {
	e := &drivers.AbsentError{What: "keyspace", Name: keyspace, Where: "at " + strings.Join(c.contact, ", ")}
	var name string
	err := scan(c.session.Query("SELECT keyspace_name FROM system_schema.keyspaces").WithContext(ctx), func() {
		if name != "system" && !strings.HasPrefix(name, "system_") {
			e.There = append(e.There, name)
		}
	}, &name)
	if err != nil {
		return fmt.Errorf("list keyspaces: %w", err)
	}
	return e
}

// Use implements plan.Place. Reads use only those of the schema's indexes that exist.
func (p *place) Use() {
	for _, td := range p.Tables {
		td.Indexes = slices.DeleteFunc(td.Indexes, func(x *ddl.IndexDefinition) bool {
			there := func(have *ddl.IndexDefinition) bool { return have.Target == x.Target }
			return td.Live == nil || !slices.ContainsFunc(td.Live.Indexes, there)
		})
	}
	p.store.nodes.KeyspaceChanged(gocql.KeyspaceUpdateEvent{Keyspace: p.Keyspace})
	p.store.applied.Add(p.Schema, p.Of)
}

// NotThere implements plan.Place.
func (p *place) NotThere(ctx context.Context) error { return p.store.absent(ctx, p.Keyspace) }

// Create implements plan.Place. All statements say IF NOT EXISTS and go to the same node, so that no two nodes each
// create a table.
func (p *place) Create(changes []schemas.Difference) ([]string, func(context.Context) error, error) {
	statements, err := p.Missing(changes)
	return statements, func(ctx context.Context) error {
		for _, statement := range statements {
			if err := p.store.alter(ctx, statement); err != nil {
				return fmt.Errorf("%w, at: %s", err, statement)
			}
		}
		if err := p.store.session.AwaitSchemaAgreement(ctx); err != nil {
			return fmt.Errorf("wait until all nodes agree on the schema: %w", err)
		}
		return p.store.awaitIndexes(ctx, p.Definition)
	}, err
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

// awaitIndexes waits until every node has built all indexes of the definition's keyspace. A node
// refuses to read from an index that it has not built. The wait ends too if another client drops one, or if the
// cluster does not show this user which are built.
func (c *cluster) awaitIndexes(ctx context.Context, d *ddl.Definition) error {
	if !slices.ContainsFunc(d.Tables, func(td *ddl.TableDefinition) bool { return len(td.Indexes) > 0 }) {
		return nil
	}
	for _, h := range c.nodes.reachable() {
		at := toNode(ctx, h)
		count := func(table, column string) (n int, err error) {
			return n, c.session.Query("SELECT COUNT(*) FROM "+table+" WHERE "+column+" = ?", d.Keyspace).
				Consistency(gocql.One).WithContext(at).Scan(&n)
		}
		err := poll(ctx, func() (bool, error) {
			built, err := count(`system."IndexInfo"`, "table_name")
			if err != nil {
				return false, err
			}
			want, err := count("system_schema.indexes", "keyspace_name")
			return built >= want, err
		})
		if hidden(err) { // the index of an empty table is there at once
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for the indexes of %s on %s: %w", d.Keyspace, h.ConnectAddress(), err)
		}
	}
	return nil
}

// Stored implements drivers.Store. Cassandra keeps every table, the indexes for
// which schemas.Table.OneColumn is true, the options that hints set, each as a setting of
// its own (compaction.class), and how long rows live.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	d, err := ddl.Define(sch, "", nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return d.Want, nil
}

// owners returns the owner of each keyspace that has mailbench's prefix. A keyspace is as old as its row in
// system_schema. Its size is reported by nodes from Cassandra 4.0 on, in MiB.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	all := make(plan.Owners)
	marks := make(ddl.Marks)
	var keyspace, table, comment string
	query := s.session.Query("SELECT keyspace_name FROM system_schema.keyspaces").WithContext(ctx)
	err := scan(query, func() {
		if strings.HasPrefix(keyspace, drivers.Prefix) {
			all.Of(keyspace)
		}
	}, &keyspace)
	if err == nil {
		query = s.session.Query("SELECT keyspace_name, table_name, comment FROM system_schema.tables").WithContext(ctx)
		err = scan(query, func() {
			if strings.HasPrefix(keyspace, drivers.Prefix) {
				m, ours := marks.Add(keyspace, table, comment)
				all.Of(keyspace).Add(table, m.Namespace, ours)
			}
		}, &keyspace, &table, &comment)
	}
	if err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	// A cluster need not report these.
	made, ageless := s.perKeyspace(ctx, "SELECT keyspace_name, WRITETIME(durable_writes) FROM system_schema.keyspaces")
	size, sizeless := s.perKeyspace(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage")
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	for name, o := range all {
		if since := made[name]; ageless == nil && since != 0 {
			o.Since = time.UnixMicro(since)
		}
		if bytes := size[name] << 20; sizeless == nil {
			o.Bytes = &bytes
		}
	}
	return all, nil
}

// remove drops a keyspace. One that had no tables is dropped only if it still has none: a run may have begun to use it.
func (s *Store) remove(ctx context.Context, keyspace string, o *plan.Owner) error {
	s.applied.Clear()
	if o.Tables == 0 {
		rows, err := readKeyspace(ctx, s.session, keyspace)
		if err != nil {
			return err
		}
		if len(rows["tables"]) > 0 {
			return errors.New("it is left alone, since somebody has created tables in it meanwhile")
		}
	}
	return s.alter(ctx, "DROP KEYSPACE IF EXISTS "+cql.Quote(keyspace))
}

// Identity implements drivers.Identified: the ids that Cassandra gave the tables when they were made.
func (s *Store) Identity(ctx context.Context, sch *schemas.Schema) (string, error) {
	return plan.Call(s.Gate, "read the ids of tables", func() (string, error) {
		found, err := s.find(ctx, sch)
		if err != nil {
			return "", err
		}
		var all []string
		p := found.(*place)
		for _, td := range p.Tables {
			if td.Live != nil {
				all = append(all, td.Name+" "+td.Live.ID)
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", "), nil
	})
}

// readKnown reads which options the cluster knows, by the columns of its system tables and the settings of a node.
func (c *cluster) readKnown(ctx context.Context) error {
	const query = "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name IN ('tables', 'scylla_keyspaces')"
	var name string
	has := make(map[string]bool)
	if err := scan(c.session.Query(query).WithContext(ctx), func() { has[name] = true }, &name); err != nil {
		return fmt.Errorf("read the columns of system_schema: %w", err)
	}
	c.known = ddl.Cluster{
		Exact:     c.settings.replication != 0 || c.settings.replicas != nil,
		Strategy:  c.server[defaultCompaction],
		ThrowAway: has["allow_auto_snapshot"] && has["incremental_backups"], Tablets: has["initial_tablets"],
		NamesLegacy: c.server[defaultIndex] != "",
	}
	return nil
}

// Left says what a drop leaves. A cluster that does not know the options for what is thrown away keeps snapshots unless
// its auto_snapshot is off. If it does not show auto_snapshot, Left assumes that it is on.
func (s *Store) Left() string {
	if s.known.ThrowAway || s.server["auto_snapshot"] == "false" {
		return ""
	}
	return fmt.Sprintf("snapshots of the dropped tables: Cassandra %s keeps them (auto_snapshot), and none of its "+
		"table options prevents that; on each node, %q removes those of a keyspace",
		s.version, "nodetool clearsnapshot --all -- KEYSPACE")
}

// perKeyspace sums the numbers that a query has for each keyspace.
func (s *Store) perKeyspace(ctx context.Context, query string) (map[string]int64, error) {
	sums := make(map[string]int64)
	var keyspace string
	var n int64
	err := scan(s.session.Query(query).WithContext(ctx), func() { sums[keyspace] += n }, &keyspace, &n)
	return sums, err
}

// pollInterval is the time between two checks of a condition of the cluster.
const pollInterval = 20 * time.Millisecond

// poll checks a condition until it holds.
func poll(ctx context.Context, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if !ok && err == nil {
			err = drivers.Pause(ctx, pollInterval)
		}
		if ok || err != nil {
			return err
		}
	}
}
