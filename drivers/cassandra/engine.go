package cassandra

import (
	"context"
	"fmt"

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
	compiler // gets the tables of applied schemas
	clock    clock
}

var (
	_ drivers.Store    = (*Store)(nil)
	_ drivers.Settler  = (*Store)(nil)
	_ drivers.Observer = (*Store)(nil)
	_ drivers.Admin    = (*Store)(nil)
	_ drivers.Comparer = (*Store)(nil)
	_ drivers.Leaver   = (*Store)(nil)
	_ drivers.Ranger   = (*Store)(nil)
	_ drivers.Tracer   = (*Store)(nil)
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
				return nil, fmt.Errorf("open cassandra: %w", err)
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
	s.Admin = plan.Admin{
		Entry: s.Gate, Kind: "keyspace", Namespace: o.Namespace, Keyspace: o.Keyspace,
		Find: s.find, Owners: s.owners, Remove: s.remove,
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
