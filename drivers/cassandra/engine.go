// Package cassandra runs mailbench's access patterns on Apache Cassandra, through
// gocql. Each pattern is a prepared statement, sent to a replica of its row, as an
// application written for Cassandra would send it.
//
// Layout: a schema is a keyspace, and each of its tables is a CQL table. A row
// header gets no CQL table; if only one table is nested in it, that table has the
// header's name. A timestamp is a bigint of microseconds, because CQL's own type
// counts milliseconds. Each table's comment holds what CQL cannot say, and marks
// the keyspace as mailbench's. Package ddl writes the statements, and reads what
// system_schema says; it needs no cluster.
//
// A [Store] has the cluster, which is the connection with what the cluster reports of itself, and the
// compiler, which makes statements of patterns and needs no cluster.
//
// Reads: a read is one SELECT. A list of clustering keys is one IN, and the driver
// restores the list's order. A list of partitions is one SELECT each, in parallel
// as the pattern allows. A page that continues after a row in columns of mixed
// direction is one SELECT for each column, because CQL has no comparison for it.
// Filters use a secondary index if there is one, and ALLOW FILTERING otherwise.
//
// Writes: a put is an INSERT, and an append is an UPDATE that reads nothing. A
// conditional write is a Paxos round. Deleting a range or a partition writes one
// tombstone. An atomic batch within one partition is one mutation, atomic and
// isolated. A batch over several partitions is logged: it is applied whole in the
// end, but readers may see a part of it before.
//
// The driver returns [drivers.ErrUnsupported] for what Cassandra cannot do: add to
// a column that is no counter, return old or new values, sort by an index.
//
// Retries: the driver sends an idempotent request again, at once, if its connection
// was lost or a node refused it. It sends all others once. A write that timed out or
// lost its connection is [drivers.ErrUnknown], even if a later attempt was refused.
//
// Counts: a statement, a batch and each further page of a result are one request.
// Cassandra reports rows scanned only for traced requests.
package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open Cassandra cluster.
type Store struct {
	*cluster
	*plan.Gate
	plan.Admin
	plan.Ranges[*statement]
	compiler // gets the tables of applied schemas
	clock    clock
}

var (
	_ drivers.Store      = (*Store)(nil)
	_ drivers.Querier    = (*Store)(nil)
	_ drivers.Describer  = (*Store)(nil)
	_ drivers.Identified = (*Store)(nil)
	_ drivers.Settler    = (*Store)(nil)
	_ drivers.Observer   = (*Store)(nil)
	_ drivers.Admin      = (*Store)(nil)
	_ drivers.Comparer   = (*Store)(nil)
	_ drivers.Splitter   = (*Store)(nil)
	_ drivers.Tracer     = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:        ddl.EngineName,
		Doc:         "Apache Cassandra 4.0 or newer, over its native protocol",
		Remote:      true,
		Settings:    settingList,
		Environment: environment,
		Forecast:    ddl.Forecast,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			err := o.CheckKeyspace()
			var c *cluster
			if err == nil {
				c, err = openCluster(ctx, o)
			}
			if err != nil {
				return nil, err
			}
			return storeOf(c, o), nil
		},
		Render:     renderCQL,
		Compile:    compileWithout,
		CheckHints: ddl.CheckHints,
		Namespace:  "keyspace",
		Lacking:    lacking,
		TraceDoc: `NODES are replicas that read or wrote; READ and TOMBSTONES are counted on each.
TIME is the sum of the coordinators' times. All values are from Cassandra's tracing.`,
	}
}

// storeOf returns a store of an open cluster.
func storeOf(c *cluster, o drivers.Options) *Store {
	s := &Store{cluster: c, Gate: &plan.Gate{Engine: "cassandra", ReadOnly: o.ReadOnly, Login: c.login}}
	s.Ranges = plan.Ranges[*statement]{Calls: s.Gate, Divide: divide, Part: part}
	s.Admin = plan.Admin{
		Entry: s.Gate, Kind: "keyspace", Namespace: o.Namespace, Keyspace: o.Keyspace,
		Find: s.find, Owners: s.owners, Remove: s.remove, Left: s.Left,
	}
	return s
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:         ddl.EngineName,
		Version:        "cassandra " + s.version,
		Durability:     s.durability,
		Atomic:         schemas.AtomicAll,
		EqualIndexes:   true,
		MaxBatchBytes:  s.limits.mutation,
		MaxSpreadBytes: s.limits.batch,
		MaxCellBytes:   s.limits.mutation,
		MaxRowBytes:    s.limits.mutation,
		MaxBatchParts:  gocql.BatchSizeMaximum,
	}
}

// Close implements drivers.Store. It waits for the calls under way, which all end
// within a request's timeout. A call made from within a yield is refused, so that
// the read around it can end.
func (s *Store) Close() error {
	if s.Gate.Close() {
		s.session.Close()
	}
	return nil
}

// lacking is what clusters may lack, with what happens then.
var lacking = []drivers.Setting{
	{
		Name: "system_views",
		Doc: "ScyllaDB and most managed clusters have none of it, and ordinary roles may not read it: results have no durability, " +
			"sizes on disk, tombstones and settings of nodes, and are \"not settled\"",
	},
	{
		Name: "replicas by token",
		Doc: "ScyllaDB with tablets: keyspaces are created without them, because gocql would send requests to nodes that are no " +
			"replicas, and older versions have no counters and no conditional writes with tablets",
	},
	{
		Name: "allow_auto_snapshot",
		Doc:  "ScyllaDB, and Cassandra before 5.0: a dropped table may leave a snapshot, which the end of the run reports",
	},
	{
		Name: "SAI, unified compaction",
		Doc:  "ScyllaDB, and Cassandra before 5.0: the cluster refuses tables with hints for them",
	},
}

// compileWithout compiles the patterns of a schema as if a cluster had its tables.
func compileWithout(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	d, err := ddl.Define(s, o.Namespace, nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	d.Keyspace = cmp.Or(o.Keyspace, d.Keyspace)
	k := new(compiler)
	k.applied.Add(d.Schema, d.Of)
	return plan.Compiler(k.compile), nil
}

// Explain implements drivers.Explainer. It returns the CQL of each request, and which bounds a
// call must give for it.
func (st *statement) Explain() ([]string, error) {
	if st.Pattern().Kind == schemas.Batch {
		return st.explainBatch(), nil
	}
	var lines []string
	add := func(q *query, notes ...string) { // when it is sent, and to whom
		line := q.text + ";"
		if notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" }); len(notes) > 0 {
			line += "  -- " + strings.Join(notes, "; ")
		}
		lines = append(lines, line)
	}
	each := ""
	if st.readsEach() {
		each = fmt.Sprintf("a request for each element, %d in parallel", st.Pattern().Parallel)
	}
	for with, chain := range st.reads {
		if len(chain) == 1 {
			nodes := ""
			if len(chain[0].route) == 0 {
				nodes = "no partition key: all nodes are read"
			}
			add(chain[0], plan.Bounds(with).String(), each, nodes)
		} else if plan.Bounds(with) == plan.WithAfter { // with other bounds too, the last request has them
			for i, q := range chain {
				add(q, fmt.Sprintf("after a row: request %d of %d", i+1, len(chain)))
			}
		}
	}
	switch q := st.writes[0][single]; {
	case q != nil && q.conditional:
		add(q, "a lightweight transaction (Paxos)")
	case q != nil:
		add(q)
	}
	if q := st.writes[1][single]; q != nil {
		add(q, "with elements of a set or map")
	}
	return lines, nil
}

// explainBatch writes a batch as oneBatch sends it, or its parts if they are separate requests.
func (st *statement) explainBatch() []string {
	p := st.Pattern()
	separate := p.Atomic == schemas.AtomicNone && !st.unlogged
	_, _, head := st.batchType(false)
	switch {
	case separate && p.Parallel > 1:
		head = fmt.Sprintf("-- a request for each part, %d in parallel", p.Parallel)
	case separate:
		head = "-- a request for each part, one after another"
	}
	lines := []string{head}
	for i, part := range st.parts {
		form := inBatch
		if separate {
			form = single
		}
		line := "  " + part.writes[0][form].text + ";"
		if each := p.Parts[i].Each; each != "" {
			line += "  -- for each " + each
		}
		lines = append(lines, line)
	}
	if !separate {
		lines = append(lines, "APPLY BATCH;")
	}
	return lines
}

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	// datacenter1 is that of a node whose configuration names none.
	datacenters := append(slices.Sorted(maps.Keys(set.replicas)), "datacenter1")
	r := set.replicationFrom(cmp.Or(set.localDC, datacenters[0]))
	r[0].Factor = max(1, r[0].Factor)
	return ddl.Render(s, o.Namespace, r)
}
