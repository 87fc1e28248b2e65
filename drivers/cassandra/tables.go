package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of applied schemas to statements. It needs no cluster.
type compiler struct {
	applied plan.Tables[ddl.TableDefinition]
}

// add records the tables, so that patterns can be prepared for them.
func (k *compiler) add(d *ddl.Definition) {
	tables := make(map[*schemas.Table]*ddl.TableDefinition)
	for i := range d.Tables {
		tables[d.Tables[i].Table] = &d.Tables[i]
	}
	k.applied.Add(d.Schema, tables)
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

// known are the options that a cluster knows, by the columns of its system tables.
type known struct {
	// throwAway: tables have the options throwAway, as in Cassandra 5.0. Cassandra 4.0 and ScyllaDB
	// refuse a table that has them.
	throwAway bool
	// tablets: keyspaces may have tablets, as in ScyllaDB from 6.0 on. The older of these versions
	// have no counters and no conditional writes in such a keyspace. gocql knows no tablets: it would
	// send requests to nodes that are no replicas. So mailbench's keyspaces have none.
	tablets bool
}

func readKnown(ctx context.Context, session *gocql.Session) (k known, err error) {
	const query = "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name IN ('tables', 'scylla_keyspaces')"
	var name string
	has := make(map[string]bool)
	if err := scan(session.Query(query).WithContext(ctx), func() { has[name] = true }, &name); err != nil {
		return k, fmt.Errorf("read the columns of system_schema: %w", err)
	}
	return known{
		throwAway: has["allow_auto_snapshot"] && has["incremental_backups"], tablets: has["initial_tablets"],
	}, nil
}

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so there is no need for backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"

// Left says what a drop leaves. A cluster without the options throwAway keeps snapshots unless
// its auto_snapshot is off. If it does not show auto_snapshot, Left assumes that it is on.
func (s *Store) Left() string {
	if s.knows.throwAway || s.server["auto_snapshot"] == "false" {
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
