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
//     key is hexadecimal digits that sort by time. value.go says which text is escaped.
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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

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
		Open:        open,
		Render:      renderSQL,
		Forecast:    forecastOf,
		CheckHints:  checkHints,
		Compile:     compiler,
		Namespace:   "namespace",
		Server:      "\"docker compose -f docker/compose.yaml up -d --wait oraclenosql\" starts one on this machine",
		Logs:        "\"docker compose -f docker/compose.yaml logs -f oraclenosql\" prints the log of that one",
		TraceDoc: `READ are the rows returned, where Oracle reads no others. It does not report rows read by a
filter, a sort or a write, and counts no read units (ReadKB) on premises. TIME is the client's.
PLAN is from the server's plans; a query by an index on all shards reads each of them.`,
	}
}

// Store is an open Oracle NoSQL Database.
type Store struct {
	*settings
	plan.Admin
	plan.Ranges[*statement]
	login *login // nil without a user

	endpoints []string
	clients   atomic.Int64 // clients made: they take turns with the endpoints
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
	_ drivers.Splitter = (*Store)(nil)
	_ drivers.Tracer   = (*Store)(nil)
)

// idle is how long a connection is kept without requests: less than the proxy's 60 s, so
// that no request goes to a connection that the proxy is closing.
const idle = 50 * time.Second

func open(ctx context.Context, o drivers.Options) (drivers.Store, error) {
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
	s.Ranges = plan.Ranges[*statement]{Calls: &s.gate, Divide: s.divide, Part: s.part}
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
	silent := errors.As(err, new(*url.Error)) || errors.Is(err, context.DeadlineExceeded) ||
		is(err, nosqlerr.RequestTimeout, nosqlerr.ServerError, nosqlerr.ServiceUnavailable)
	if silent && !errors.Is(err, errAnswer) {
		err = drivers.Unreachable(fmt.Errorf("the proxy at %s: %w", strings.Join(s.endpoints, ", "), err))
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
	defer s.base.CloseIdleConnections()
	if s.login == nil || s.login.tokens == nil {
		return nil
	}
	return s.login.Hide(s.login.tokens.Close()) // gives the token back; no call is under way
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
	const unknown = "unknown (the proxy does not report it)"
	e := maps.Clone(s.words)
	maps.DeleteFunc(e, func(name, value string) bool { return value == "" || name == "replicas" })
	e["durability"], e["replication"], e["zones"] = s.class().String(), unknown, cmp.Or(s.words["zones"], unknown)
	if s.replicas > 0 {
		e["replication"] = fmt.Sprintf("%d (setting replicas)", s.replicas)
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

// place is the namespace of a schema as it is (plan.Place).
type place struct {
	plan.Found
	*layoutOf
	there liveTables
	store *Store
}

// find reads the namespace of a schema, which need not be mailbench's. Tables without a mark get the one that Apply
// would have written.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (plan.Place, error) {
	l, err := newLayout(sch, s.Namespace, s.Keyspace)
	if err != nil {
		return nil, err
	}
	there, err := s.readNamespace(ctx, l.namespace)
	if err != nil {
		return nil, err
	}
	return s.placeOf(l, there), nil
}

// placeOf returns the place of a layout, and of the tables that are there.
func (s *Store) placeOf(l *layoutOf, there liveTables) *place {
	found := plan.Found{Name: "namespace " + l.namespace, Absent: len(there) == 0, Want: plan.Stored(l.schema, keeps)}
	p := &place{Found: found, layoutOf: l, there: there, store: s}
	for _, path := range slices.Sorted(maps.Keys(there)) {
		p.Own(path, there[path].mark.Mark, there[path].marked, l.run, l.schema.Name)
	}
	for _, t := range l.all {
		if live := there[t.path]; live != nil && !live.marked {
			live.mark = t.mark("", l.schema.Name)
		}
	}
	p.Have = there.schema(l.schema.Name, p.Name)
	return p
}

// Create implements plan.Place. All statements say IF NOT EXISTS.
func (p *place) Create(changes []schemas.Difference) (all []string, run func(context.Context) error, err error) {
	if p.Absent {
		all = append(all, "CREATE NAMESPACE IF NOT EXISTS "+p.namespace)
	}
	all = append(all, drivers.Statements(changes, p.statements)...)
	return all, func(ctx context.Context) error {
		for _, statement := range all {
			if err := p.store.run(ctx, statement); err != nil {
				line, _, _ := strings.Cut(statement, "\n")
				line, _, _ = strings.Cut(line, " COMMENT ")
				return fmt.Errorf("%w, at: %s", err, line)
			}
		}
		return nil
	}, nil
}

// Use implements plan.Place. Reads use only those of the schema's indexes that exist.
func (p *place) Use() {
	for _, t := range p.all {
		if live := p.there[t.path]; live != nil {
			t.absent = slices.DeleteFunc(slices.Clone(t.kept), func(x *schemas.Index) bool {
				return slices.ContainsFunc(live.Indexes, func(l liveIndex) bool {
					return strings.EqualFold(l.Name, identifier(x.Name))
				})
			})
		}
	}
	p.store.applied.Add(p.schema, p.tables)
}

// NotThere implements plan.Place.
func (p *place) NotThere(context.Context) error {
	return &drivers.AbsentError{What: "namespace", Name: p.namespace, Where: "with tables"}
}

// Compare implements plan.Place.
func (p *place) Compare(ctx context.Context) (*drivers.Comparison, error) {
	if p.Absent {
		return nil, p.NotThere(ctx)
	}
	return &drivers.Comparison{
		Where:  p.Name,
		Drifts: sqlShell.Drifts(p.schema, schemas.Diff(p.Want, p.Have), p.statements),
		Unseen: []string{"Oracle does not report the descending columns of keys: the tables' comments have them."},
	}, nil
}

// Time limits of a change of the schema, and the time between two checks of it.
const (
	ddlAtMost = time.Minute
	pollEvery = 50 * time.Millisecond
)

// run runs one statement that changes the schema, and waits until it is done.
func (s *Store) run(ctx context.Context, statement string) error {
	_, err := onDDL(ctx, s, func(c *nosqldb.Client, left time.Duration) (_ struct{}, err error) {
		most := ddlAtMost
		if at, ok := ctx.Deadline(); ok {
			most = max(min(most, time.Until(at)), 2*pollEvery)
		}
		if strings.Contains(statement[:min(len(statement), 20)], "NAMESPACE") {
			_, err = c.DoSystemRequestAndWait(statement, most, pollEvery)
		} else {
			request := &nosqldb.TableRequest{Statement: statement, Timeout: left}
			_, err = c.DoTableRequestAndWait(request, most, pollEvery)
		}
		return struct{}{}, err
	})
	return err
}

// onDDL makes a call over the client of statements that change the schema, one at a time.
func onDDL[R any](
	ctx context.Context, s *Store, do func(c *nosqldb.Client, left time.Duration) (R, error),
) (R, error) {
	s.admin.Lock()
	defer s.admin.Unlock()
	return send(s.ddl, ctx, again, func(left time.Duration) (R, error) { return do(s.ddl.client, left) })
}

// owners returns the owner of each namespace that has mailbench's prefix.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	names, err := onDDL(ctx, s, func(c *nosqldb.Client, _ time.Duration) ([]string, error) { return c.ListNamespaces() })
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	all := make(plan.Owners)
	for _, name := range names {
		if !strings.HasPrefix(name, drivers.Prefix) {
			continue
		}
		there, err := s.readNamespace(ctx, name)
		if err != nil {
			return nil, err
		}
		o := all.Of(name)
		for _, path := range slices.Sorted(maps.Keys(there)) {
			m, marked := there[path].mark.Mark, there[path].marked
			o.Add(path, m.Namespace, marked && m.IsIn(name))
		}
	}
	return all, nil
}

// remove drops a namespace. The server drops one without tables only if it is still empty.
func (s *Store) remove(ctx context.Context, name string, o *plan.Owner) error {
	s.applied.Clear()
	statement := "DROP NAMESPACE IF EXISTS " + name
	if o.Tables > 0 {
		statement += " CASCADE"
	}
	return s.run(ctx, statement)
}
