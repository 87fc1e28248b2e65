// Package oraclenosql runs mailbench's access patterns on Oracle NoSQL Database, through
// its HTTP proxy and Oracle's SDK for Go.
//
// # Layout
//
// A schema is a namespace. A table nested in another is a child table of it, so that
// all rows below a root table's row lie on one shard. WriteMultiple is atomic within a
// shard key. The layout differs where Oracle does not have what the schema language has:
//
//   - Key columns ascend, and so do indexes. Reads in descending order say ORDER BY …
//     DESC, and go backwards. If some columns ascend and others descend, the client sorts
//     all rows of the range, and the pattern counts as emulated.
//   - Static columns are a table of their own, with the partition key as its key, and
//     the table that has them is its child "rows".
//   - A key holds no binary values: blobs in keys are hexadecimal digits. A timeuuid in a
//     key is hexadecimal digits that sort by time. keytext.go says which text is escaped.
//   - A set is an array that the client keeps free of duplicates. Keys of maps are text.
//   - A counter is a LONG that an UPDATE statement adds to.
//
// A table's comment is its mark: what Oracle does not know of the schema.
//
// # Requests
//
// A read of a whole row is a Get, other reads are prepared queries. A list of keys below one
// shard key is one query with IN that names the shard key's partition; the first query of a key
// reads it from a row. (Without it Oracle queries all partitions, even for one shard key.) Other lists are
// a request for each key. A put of a whole row is a Put; one of some columns is an UPDATE, and a Put if absent where
// there was no row. An atomic batch is one WriteMultiple of puts and deletes of whole
// rows. If a part changes only some columns, the rows are read first, and written on the
// condition that they have not changed meanwhile; such a batch counts as emulated.
//
// Retries: a read, or a put of a whole row, is sent again if its answer was lost. Other
// writes are sent again only if the server refused them; if an answer is lost, the error is
// [drivers.ErrUnknown]. After a refusal because of its access token a request logs in again.
//
// Sources: the SQL reference, release 25.1, chapters "CREATE TABLE Statement" and "Table
// Hierarchies", and the grammar and checks in the server's source
// (github.com/oracle/nosql: KVQL.g4 and TableImpl.validate). Plans, orders
// and limits are those of a server of release 25.3.
package oraclenosql

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

const engineName = "oraclenosql"

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:        engineName,
		Doc:         "Oracle NoSQL Database 23.3 or newer on premises, through its HTTP proxy",
		Remote:      true,
		Settings:    settingList,
		Environment: environment,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			s, err := open(ctx, o)
			if err != nil {
				return nil, fmt.Errorf("open Oracle NoSQL: %w", err)
			}
			return s, nil
		},
		Render:     renderSQL,
		Forecast:   forecastOf,
		CheckHints: checkHints,
		Compile:    compiler,
		Namespace:  "namespace",
		Server:     "\"docker compose -f docker/compose.yaml up -d --wait oraclenosql\" starts one on this machine",
		Logs:       "\"docker compose -f docker/compose.yaml logs -f oraclenosql\" prints the log of that one",
		TraceDoc: `READ are the rows returned, where Oracle reads no others. It does not report rows read by a
filter, a sort or a write, and counts no read units (ReadKB) on premises. TIME is the client's.
PLAN is from the server's plans; a query by an index on all shards reads each of them.`,
	}
}

// Store is an open Oracle NoSQL Database.
type Store struct {
	*settings
	plan.Admin
	login *login // nil without a user

	mu        sync.Mutex // guards the making of clients
	endpoints []string
	clients   int // clients made: they take turns with the endpoints
	base      *http.Transport
	version   atomic.Pointer[string]

	admin      sync.Mutex // guards ddl: one statement at a time
	ddl        *slot
	gate       plan.Gate
	applied    plan.Tables[table]
	partitions partitions
}

var (
	_ drivers.Store    = (*Store)(nil)
	_ drivers.Settler  = (*Store)(nil)
	_ drivers.Observer = (*Store)(nil)
	_ drivers.Admin    = (*Store)(nil)
	_ drivers.Comparer = (*Store)(nil)
	_ drivers.Splitter = (*Store)(nil)
	_ drivers.Tracer   = (*Store)(nil)
)

// idle is how long a connection is kept without requests: less than the proxy's 60 s, so
// that no request goes to a connection that the proxy is closing.
const idle = 50 * time.Second

func open(ctx context.Context, o drivers.Options) (*Store, error) {
	if err := o.CheckKeyspace(); err != nil {
		return nil, err
	}
	set, err := readSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	if err := set.wants(o.Durability, o.Settings); err != nil {
		return nil, drivers.WrongOption(err)
	}
	s := &Store{settings: set}
	s.Admin = plan.Admin{
		Entry: &s.gate, Kind: "namespace", Namespace: o.Namespace, Keyspace: o.Keyspace,
		Find: s.find, Owners: s.owners, Remove: s.remove,
	}
	s.gate.Engine, s.gate.ReadOnly = "oracle NoSQL", o.ReadOnly
	if s.endpoints, err = endpoints(o.Contact, set.Encrypted); err != nil {
		return nil, err
	}
	if s.login, err = readLogin(o, set.Encrypted); err != nil {
		return nil, err
	}
	if s.base, err = set.connections(); err != nil {
		return nil, err
	}
	if s.login != nil {
		s.login.endpoints, s.login.over, s.login.timeout = s.endpoints, s.base, s.timeout
	}
	if s.ddl, err = s.newSlot(nil); err != nil {
		return nil, err
	}
	// The first request of a store: the tables of the system namespace.
	_, err = onDDL(ctx, s, func(c *nosqldb.Client, _ time.Duration) (*nosqldb.ListTablesResult, error) {
		return c.ListTables(&nosqldb.ListTablesRequest{Limit: 1})
	})
	if err == nil {
		return s, nil
	}
	s.Close()
	if classifyOpen(err) {
		err = fmt.Errorf("the proxy at %s: %w: %w", strings.Join(s.endpoints, ", "), drivers.ErrUnreachable, err)
	}
	return nil, err
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	versions := s.versions()
	version := strings.TrimSpace("oraclenosql " + versions["kv"])
	if p := versions["proxy"]; p != "" && p != versions["kv"] {
		version += ", proxy " + p
	}
	return drivers.Capabilities{
		Engine:        engineName,
		Version:       version,
		Durability:    s.class(),
		Atomic:        schemas.AtomicShard,
		Torn:          true, // a cursor reads what is committed when it comes to a row
		ReturnsNew:    true,
		PlainIndexes:  true,
		MaxBatchBytes: int64(s.limits.batch),
		MaxCellBytes:  int64(s.limits.row),
		MaxRowBytes:   int64(s.limits.row),
		MaxKeyBytes:   s.limits.key,
		MaxBatchParts: s.limits.parts,
	}
}

// versions returns the versions of proxy and kv, the store, as the proxy reports them.
func (s *Store) versions() map[string]string {
	all := make(map[string]string)
	if v := s.version.Load(); v != nil {
		for _, word := range strings.Fields(*v) { // proxy=25.3.21 kv=25.3.21
			if name, version, _ := strings.Cut(word, "="); version != "null" { // one that has no release
				all[name] = version
			}
		}
	}
	return all
}

// Close implements drivers.Store. It waits for the calls under way, which all end within
// a request's timeout. A call made from within a yield is refused.
func (s *Store) Close() error {
	if !s.gate.Close() {
		return nil
	}
	var err error
	if s.login != nil {
		err = s.login.logout()
	}
	s.base.CloseIdleConnections()
	return err
}

// Settle implements drivers.Settler. The proxy does not report what the store's cleaner and
// checkpoints still do.
func (s *Store) Settle(context.Context) error {
	return s.gate.During("settle", func() error {
		return fmt.Errorf("%w: the proxy does not report the state of cleaners and checkpoints", drivers.ErrUnreported)
	})
}

// Observe implements drivers.Observer. The proxy reports nothing of the store's inner state.
func (s *Store) Observe() drivers.Observation {
	e := make(map[string]string)
	for name, value := range s.words {
		if value != "" {
			e[name] = value
		}
	}
	e["durability"] = s.class().String()
	delete(e, "replicas")
	e["replication"] = "unknown (the proxy does not report it)"
	if s.replicas > 0 {
		e["replication"] = fmt.Sprintf("%d (setting replicas)", s.replicas)
	}
	if s.words["zones"] == "" {
		e["zones"] = "unknown (the proxy does not report it)"
	}
	for name, version := range s.versions() {
		e["server_version_"+name] = version
	}
	return drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1, Settings: e,
	}
}

// limits say how large writes may be, in bytes, and how many parts an atomic batch has; 0 is no
// limit. Beyond them a write is [drivers.ErrTooLarge].
type limits struct{ key, row, batch, parts int }

// limitsOf are the limits by the setting limits.
//
// On premises the proxy takes requests of 64 MiB and answers "413 Request Entity Too Large" above
// that; the rest is for names and keys. The store takes keys of 32,767 bytes, and 100,000 parts
// were fine. (Measured on 25.3.21. The memory of a server may be too small for rows of that size.)
// The cloud's are those that the proxy's source has for it (RequestLimits.java), and that Oracle's
// simulator of the cloud service refused writes for. It counts some bytes of encoding that check does
// not: a row of exactly this size passes here, and not there.
var limitsOf = map[string]limits{
	"onprem": {key: 32767, row: maxRequest, batch: maxRequest},
	"cloud":  {key: 64, row: 512 << 10, batch: 25 << 20, parts: 50},
}

const maxRequest = 64<<20 - 64<<10
