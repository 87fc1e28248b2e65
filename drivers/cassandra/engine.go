package cassandra

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open Cassandra cluster.
type Store struct {
	settings    *settings
	namespace   string
	readOnly    bool
	keyspace    string // Options.Keyspace: the keyspace of every schema; "" if not given
	datacenter  string
	replication Replication
	version     string
	durability  drivers.Durability
	limits      limits
	throwsAway  bool              // the cluster knows the table options throwAway
	server      map[string]string // settings of the cluster that matter to results
	nodes       *nodes
	clock       clock
	statements  atomic.Int32 // the number of compiled queries; each gets the next number

	session *gocql.Session
	calls   plan.Calls // calls under way

	applied plan.Tables[table]
}

var (
	_ drivers.Store    = (*Store)(nil)
	_ drivers.Settler  = (*Store)(nil)
	_ drivers.Observer = (*Store)(nil)
	_ drivers.Admin    = (*Store)(nil)
	_ drivers.Comparer = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:        engineName,
		Doc:         "Apache Cassandra 4.0 or newer, over its native protocol",
		Remote:      true,
		Settings:    settingList,
		Environment: environment,
		Forecast:    forecastOf,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			s, err := open(ctx, o)
			if err != nil {
				return nil, fmt.Errorf("open cassandra: %w", err)
			}
			return s, nil
		},
		Render:    renderCQL,
		Compile:   compiler,
		Namespace: "keyspace",
		TraceDoc: `NODES are replicas that read or wrote; READ and TOMBSTONES are counted on each.
TIME is what coordinators took, added up. All this is from Cassandra's tracing.`,
	}
}

func open(ctx context.Context, o drivers.Options) (_ *Store, err error) {
	if err := o.CheckKeyspace(); err != nil {
		return nil, err
	}
	s := &Store{namespace: o.Namespace, readOnly: o.ReadOnly, keyspace: o.Keyspace}
	if s.settings, err = readSettings(o.Settings); err != nil {
		return nil, err
	}
	auth, err := authenticator(os.Getenv)
	if err != nil {
		return nil, err
	}
	c, err := s.settings.config(o.Contact, auth)
	if err != nil {
		return nil, err
	}
	guard := &passwordGuard{
		named: o.Named, encrypted: s.settings.tls,
		plaintext: plaintextHosts(os.Getenv(plaintextVariable)),
	}
	if auth != nil {
		if err := guard.check(o.Contact); err != nil {
			return nil, err
		}
		if !s.settings.tls {
			c.Dialer = guard
		}
	}
	s.nodes = &nodes{localDC: s.settings.localDC}
	c.PoolConfig.HostSelectionPolicy = s.nodes
	if s.session, err = connect(ctx, c, s.settings.connectTimeout); err != nil {
		return nil, err
	}
	if auth != nil {
		err = guard.checkNodes(ctx, s.nodes.all())
	}
	if err == nil {
		err = s.readCluster(ctx, o.Durability)
	}
	if err != nil {
		s.session.Close()
		return nil, err
	}
	return s, nil
}

// readCluster reads the cluster's datacenters, version and settings, and checks
// the store's own settings against them.
func (s *Store) readCluster(ctx context.Context, wanted drivers.Durability) (err error) {
	if s.datacenter, err = s.nodes.checkDatacenter(); err != nil {
		return err
	}
	s.replication = Replication{s.datacenter, s.settings.replication}
	if s.replication.Factor == 0 {
		s.replication.Factor = min(3, s.localNodes())
	}
	if have := s.localNodes(); s.replication.Factor > have {
		return fmt.Errorf("setting replication: datacenter %s has %d nodes, which cannot hold %d replicas of a row",
			s.datacenter, have, s.replication.Factor)
	}
	if err := s.session.Query("SELECT release_version FROM system.local").WithContext(ctx).Scan(&s.version); err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if s.server, err = s.serverSettings(ctx); err != nil {
		return err
	}
	if err := s.readTableOptions(ctx); err != nil {
		return err
	}
	s.limits = limitsOf(s.server)
	switch s.durability = s.durabilityClass(); {
	case wanted == drivers.DurabilityDefault || wanted == s.durability:
	case s.durability == drivers.DurabilityUnknown:
		return fmt.Errorf("durability %s was asked for, but the cluster does not show this user what a write survives "+
			"(commitlog_sync in system_views.settings): grant SELECT on it, or do not ask for a durability", wanted)
	default:
		return fmt.Errorf("durability %s was asked for, but this cluster gives %s (commitlog_sync %s, replication %d, "+
			"consistency %s): change the cluster or its settings, or do not ask for a durability",
			wanted, s.durability, s.server["commitlog_sync"], s.replication.Factor, s.settings.consistency)
	}
	return nil
}

// localNodes returns the number of nodes in the local datacenter.
func (s *Store) localNodes() (n int) {
	for _, h := range s.nodes.all() {
		if h.DataCenter() == s.datacenter {
			n++
		}
	}
	return n
}

// durabilityClass returns what an acknowledged write survives. With a quorum of
// three or more replicas it survives the loss of a minority of them. Otherwise the
// commit log of one node decides: with commitlog_sync batch or group the node syncs
// before it acknowledges. With periodic a write may not even survive a crash of the
// process: the node marks every 100 ms how far its log can be replayed, and ignores
// what follows the last mark (CASSANDRA-13987; "only replica killed" in
// docs/reliability.md). If the cluster does not show its commitlog_sync, the durability
// is unknown: ScyllaDB and managed clusters lack system_views.settings, and ordinary
// roles may not read it.
func (s *Store) durabilityClass() drivers.Durability {
	switch s.settings.consistency {
	case gocql.Quorum, gocql.LocalQuorum, gocql.EachQuorum, gocql.All:
		if s.replication.Factor >= 3 {
			return drivers.Quorum
		}
	}
	switch s.server["commitlog_sync"] {
	case "periodic":
		return drivers.Memory
	case "batch", "group":
		return drivers.Power
	}
	return drivers.DurabilityUnknown
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:         engineName,
		Version:        "cassandra " + s.version,
		Durability:     s.durability,
		Atomic:         schemas.AtomicAll,
		EqualIndexes:   true,
		MaxBatchBytes:  s.limits.mutation,
		MaxSpreadBytes: s.limits.batch,
		MaxCellBytes:   s.limits.mutation,
		MaxRowBytes:    s.limits.mutation,
	}
}

// enter begins a call. If it returns no error, the caller must end the call with
// leave.
func (s *Store) enter() error {
	if err := s.calls.Enter(); err != nil {
		return fmt.Errorf("cassandra: %w", err)
	}
	return nil
}

func (s *Store) leave() { s.calls.Leave() }

// Close implements drivers.Store. It waits for the calls under way, which all end
// within a request's timeout. A call made from within a yield is refused, so that
// the read around it can end.
func (s *Store) Close() error {
	if s.calls.Close() {
		s.session.Close()
	}
	return nil
}
