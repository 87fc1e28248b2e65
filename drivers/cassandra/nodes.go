package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/crash"
)

// nodes is the policy by which gocql chooses the node of a request. It is
// token-aware: it chooses a replica of the row, those in the local datacenter
// first. Unless a setting names the local datacenter, it takes that of the first
// node. A request whose context names a node goes to that node.
type nodes struct {
	localDC string // the setting local_dc, or "" until use has been called
	rack    string // the setting rack, or ""

	session     *gocql.Session
	partitioner string
	// policy is set once the nodes are known. gocql reports nodes that are up
	// even before that.
	policy atomic.Pointer[gocql.HostSelectionPolicy]

	// keyspaces are those of statements, by their texts: see Pick.
	keyspaces atomic.Pointer[map[string]string]
	routed    routed

	mu        sync.Mutex
	known     []*gocql.HostInfo
	connected map[string]bool            // by host id: the node answered, and has not gone down since
	seen      map[string]*gocql.HostInfo // by host id: all nodes, also those that Accept leaves out
}

var (
	_ gocql.HostSelectionPolicy = (*nodes)(nil)
	_ gocql.ReadyPolicy         = (*nodes)(nil)
	_ gocql.HostFilter          = (*nodes)(nil)
)

// readyWait is how long Ready waits for gocql to report a node that it has connected to.
const readyWait = 100 * time.Millisecond

// Ready implements gocql.ReadyPolicy. A session is open when one local node has answered. gocql
// calls it each time it has connected to a node or given up on one. Without this method it would
// wait for all nodes, and one node that accepts connections and never answers would stop it.
func (n *nodes) Ready() bool {
	for end := time.Now().Add(readyWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if len(n.reachable()) > 0 {
			return true
		}
	}
	return false
}

// Accept implements gocql.HostFilter: if a setting names the local datacenter, gocql connects to
// its nodes only. Until the nodes are known (SetPartitioner), gocql uses the contact that
// describes the cluster, which may be anywhere.
func (n *nodes) Accept(h *gocql.HostInfo) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = make(map[string]*gocql.HostInfo)
	}
	n.seen[h.HostID()] = h
	return n.localDC == "" || n.partitioner == "" || h.DataCenter() == n.localDC
}

// with calls do with the policy, if the nodes are known.
func (n *nodes) with(do func(p gocql.HostSelectionPolicy)) {
	if p := n.policy.Load(); p != nil {
		do(*p)
	}
}

// Init implements gocql.HostSelectionPolicy.
func (n *nodes) Init(s *gocql.Session) { n.session = s }

// SetPartitioner implements gocql.HostSelectionPolicy.
func (n *nodes) SetPartitioner(name string) {
	n.mu.Lock()
	n.partitioner = name
	n.mu.Unlock()
	n.with(func(p gocql.HostSelectionPolicy) { p.SetPartitioner(name) })
}

// AddHosts implements gocql's bulkAddHosts: gocql calls it once with all nodes,
// before the first request.
func (n *nodes) AddHosts(hosts []*gocql.HostInfo) {
	dc := n.localDC
	if dc == "" && len(hosts) > 0 {
		dc = hosts[0].DataCenter()
	}
	policy := gocql.TokenAwareHostPolicy(gocql.DCAwareRoundRobinPolicy(dc))
	if n.rack != "" { // replicas in other racks come after those in this one
		policy = gocql.TokenAwareHostPolicy(gocql.RackAwareRoundRobinPolicy(dc, n.rack), gocql.NonLocalReplicasFallback())
	}
	policy.Init(n.session)
	policy.SetPartitioner(n.partitioner)
	n.policy.Store(&policy)
	for _, h := range hosts {
		n.AddHost(h)
	}
}

// AddHost implements gocql.HostSelectionPolicy.
func (n *nodes) AddHost(h *gocql.HostInfo) {
	n.mu.Lock()
	if !slices.ContainsFunc(n.known, func(k *gocql.HostInfo) bool { return k.HostID() == h.HostID() }) {
		n.known = append(n.known, h)
	}
	n.mu.Unlock()
	n.with(func(p gocql.HostSelectionPolicy) { p.AddHost(h) })
}

// RemoveHost implements gocql.HostSelectionPolicy.
func (n *nodes) RemoveHost(h *gocql.HostInfo) {
	n.mu.Lock()
	n.known = slices.DeleteFunc(n.known, func(k *gocql.HostInfo) bool { return k.HostID() == h.HostID() })
	n.mu.Unlock()
	n.with(func(p gocql.HostSelectionPolicy) { p.RemoveHost(h) })
}

// HostUp implements gocql.HostStateNotifier.
func (n *nodes) HostUp(h *gocql.HostInfo) { n.note(true, h, gocql.HostSelectionPolicy.HostUp) }

// HostDown implements gocql.HostStateNotifier.
func (n *nodes) HostDown(h *gocql.HostInfo) { n.note(false, h, gocql.HostSelectionPolicy.HostDown) }

// note records whether a node is connected, and passes it on to the policy.
func (n *nodes) note(connected bool, h *gocql.HostInfo, pass func(gocql.HostSelectionPolicy, *gocql.HostInfo)) {
	n.mu.Lock()
	if n.connected == nil {
		n.connected = make(map[string]bool)
	}
	n.connected[h.HostID()] = connected
	n.mu.Unlock()
	n.with(func(p gocql.HostSelectionPolicy) { pass(p, h) })
}

// KeyspaceChanged implements gocql.HostSelectionPolicy.
func (n *nodes) KeyspaceChanged(u gocql.KeyspaceUpdateEvent) {
	n.with(func(p gocql.HostSelectionPolicy) { p.KeyspaceChanged(u) })
}

// IsLocal implements gocql.HostSelectionPolicy.
func (n *nodes) IsLocal(h *gocql.HostInfo) (local bool) {
	n.with(func(p gocql.HostSelectionPolicy) { local = p.IsLocal(h) })
	return local
}

// all returns the nodes of the cluster, always in the same order.
func (n *nodes) all() []*gocql.HostInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Clone(n.known)
	slices.SortFunc(all, func(a, b *gocql.HostInfo) int { return strings.Compare(a.HostID(), b.HostID()) })
	return all
}

// reachable returns the nodes that a request can go to.
func (n *nodes) reachable() []*gocql.HostInfo {
	return slices.DeleteFunc(n.all(), func(h *gocql.HostInfo) bool { return !n.isConnected(h) })
}

// missing returns the nodes that cannot be reached.
func (n *nodes) missing() []*gocql.HostInfo { return slices.DeleteFunc(n.all(), n.isConnected) }

// hostPorts returns where nodes are reached.
func hostPorts(hosts []*gocql.HostInfo) (at []string) {
	for _, h := range hosts {
		at = append(at, h.HostnameAndPort())
	}
	return at
}

func (n *nodes) isConnected(h *gocql.HostInfo) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.connected[h.HostID()]
}

// stragglers is how long await waits for nodes that have not answered.
const stragglers = time.Second

// await waits until all nodes can be reached, or for as long as stragglers says.
func (n *nodes) await(ctx context.Context) error {
	err := drivers.Within(ctx, stragglers, func(ctx context.Context) error {
		return poll(ctx, func() (bool, error) { return len(n.missing()) == 0, nil })
	})
	if ctx.Err() == nil { // the others are missing
		err = nil
	}
	return err
}

// names returns the different names that nodes have, sorted: those of a datacenter, or if it is "" all.
func (n *nodes) names(datacenter string, of func(*gocql.HostInfo) string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]bool)
	for _, h := range n.seen {
		if datacenter == "" || h.DataCenter() == datacenter {
			all[of(h)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// datacenters returns the names of all datacenters, sorted.
func (n *nodes) datacenters() []string { return n.names("", (*gocql.HostInfo).DataCenter) }

// count returns the number of nodes of a datacenter.
func (n *nodes) count(datacenter string) int {
	return len(n.names(datacenter, (*gocql.HostInfo).HostID))
}

// use makes a datacenter the local one, so that gocql never goes to nodes of another that joins
// later. It returns an error if the datacenter has no node in the rack of the setting, or if the setting addresses
// names a node that there is not: its line would do nothing.
func (n *nodes) use(datacenter string, addresses map[string]string) error {
	n.mu.Lock()
	n.localDC = datacenter
	n.mu.Unlock()
	if racks := n.names(datacenter, (*gocql.HostInfo).Rack); n.rack != "" && !slices.Contains(racks, n.rack) {
		return fmt.Errorf("setting rack: datacenter %s has no rack %s; it has %s", datacenter, n.rack,
			strings.Join(racks, ", "))
	}
	named := n.names("", func(h *gocql.HostInfo) string { return h.RPCAddress().String() })
	for _, from := range slices.Sorted(maps.Keys(addresses)) {
		if at := netip.MustParseAddrPort(from).Addr().String(); !slices.Contains(named, at) {
			return fmt.Errorf("setting addresses: the cluster has no node %s; it has %s", at, strings.Join(named, ", "))
		}
	}
	return nil
}

// onNode is the context key for the node that a request must go to.
type onNode struct{}

// toNode returns a context whose requests go only to the node.
func toNode(ctx context.Context, h *gocql.HostInfo) context.Context {
	return context.WithValue(ctx, onNode{}, h)
}

// each calls do for all nodes that can be reached, in parallel, each with a context whose requests go to that node.
func (n *nodes) each(ctx context.Context, do func(ctx context.Context, h *gocql.HostInfo) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, h := range n.reachable() {
		g.Go(func() error { return crash.Guard(func() error { return do(toNode(ctx, h), h) }) })
	}
	return g.Wait()
}

// learn records the keyspace of a statement.
func (n *nodes) learn(text, keyspace string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make(map[string]string)
	if known := n.keyspaces.Load(); known != nil {
		all = maps.Clone(*known)
	}
	all[text] = keyspace
	n.keyspaces.Store(&all)
}

// routed counts requests with a routing key.
type routed struct {
	keyed    atomic.Int64
	replicas atomic.Int64 // those of them whose keyspace gocql knew, and with it the replicas of the row
}

// String says how requests were routed.
func (r *routed) String() string {
	keyed, replicas := r.keyed.Load(), r.replicas.Load()
	switch {
	case keyed == 0:
		return "no request had a partition key yet"
	case replicas*100 >= keyed*99:
		return "to a replica of the row"
	}
	return fmt.Sprintf("to a replica of the row, but %.0f%% of the requests to the ring's owner of its token",
		100*float64(keyed-replicas)/float64(keyed))
}

// located is a request whose keyspace gocql does not know. Without it gocql finds no replicas. A
// batch has that of the session only, which has none (gocql issue 1621), and a query gets its own
// when it is sent for the first time.
type located struct {
	gocql.ExecutableQuery
	keyspace string
}

// Keyspace implements gocql.ExecutableQuery.
func (l *located) Keyspace() string { return l.keyspace }

// Pick implements gocql.HostSelectionPolicy.
func (n *nodes) Pick(q gocql.ExecutableQuery) gocql.NextHost {
	if r, ok := q.(gocql.RetryableQuery); ok {
		if h, ok := r.Context().Value(onNode{}).(*gocql.HostInfo); ok {
			only := gocql.RoundRobinHostPolicy()
			only.AddHost(h)
			return only.Pick(q)
		}
	}
	text, keyed := "", false
	switch r := q.(type) {
	case *gocql.Batch:
		keyed = true // its first entry has a key
		if len(r.Entries) > 0 {
			text = r.Entries[0].Stmt
		}
	case *gocql.Query:
		text = r.Statement()
	}
	if !keyed {
		key, err := q.GetRoutingKey()
		keyed = key != nil && err == nil
	}
	at := q // with its keyspace, if a statement of that text was prepared
	if known := n.keyspaces.Load(); known != nil && q.Keyspace() == "" && (*known)[text] != "" {
		at = &located{q, (*known)[text]}
	}
	if keyed {
		n.routed.keyed.Add(1)
		if at.Keyspace() != "" {
			n.routed.replicas.Add(1)
		}
	}
	return (*n.policy.Load()).Pick(at)
}

// retries is the retry policy of one idempotent request. It retries after a pause
// if a connection was lost, and at once if a node refused the request. After a time-out it
// retries only one kind of read. Other requests (counters, list appends,
// conditional writes) have no retry policy, and are sent once.
//
// Each request has its own. So retries can remember, as gocql does not, that a lost
// attempt may have been applied.
type retries struct {
	most, left int
	kind       writeKind
	uncertain  bool
	meter      *drivers.Meter  // counts further attempts
	ctx        context.Context // of the request
}

// firstPause is the time before a request whose connection was lost is sent again. Each further pause takes
// twice as long.
const firstPause = 50 * time.Millisecond

// Attempt implements gocql.RetryPolicy.
func (r *retries) Attempt(q gocql.RetryableQuery) bool {
	r.left--
	r.ctx = q.Context()
	return r.left >= 0 && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (r *retries) GetRetryType(err error) gocql.RetryType {
	t := r.typeOf(err)
	if t != gocql.Rethrow {
		r.meter.Count(drivers.Cost{Retries: 1})
	}
	return t
}

func (r *retries) typeOf(err error) gocql.RetryType {
	var readTimeout *gocql.RequestErrReadTimeout
	var refused gocql.RequestError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, gocql.ErrTimeoutNoResponse):
		return gocql.Rethrow
	case errors.As(err, &readTimeout):
		// Enough replicas answered, but not the one that was to send the data.
		// The coordinator now knows that this one is slow.
		if readTimeout.Received >= readTimeout.BlockFor && readTimeout.DataPresent == 0 {
			return gocql.Retry
		}
		return gocql.Rethrow
	case errors.As(err, &refused):
		if of := refusals[refused.Code()]; of.away {
			r.uncertain = r.uncertain || r.kind >= of.open
			return gocql.RetryNextHost
		}
		return gocql.Rethrow
	}
	_ = drivers.Pause(r.ctx, firstPause<<(r.most-r.left-1)) // a node that starts again needs time
	// The connection was lost, or there was none. The node itself may be well, so
	// it gets the next attempt. If it has no connections left, gocql tries the
	// next node.
	r.uncertain = r.uncertain || classify(err, r.kind) == drivers.ErrUnknown
	if r.left > 0 {
		return gocql.Retry
	}
	return gocql.RetryNextHost
}

// observeTimeout bounds an observation, which is made between measurements. Nodes
// that do not answer in time are not counted.
const observeTimeout = 2 * time.Second

// Observe implements drivers.Observer. Sizes are sums over all nodes that are up.
// The size on disk is that of the applied schemas, which Cassandra reports in whole
// MiB. Cassandra reports bytes written, and tombstones in files, only over JMX;
// it shows how many tombstones reads met, but the deletions of whole collections are not in that number.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	_ = s.Do(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
		defer cancel()
		o.Missing = hostPorts(s.nodes.missing())
		ours := s.names(func(t *ddl.TableDefinition) string { return t.In.Keyspace })
		var mu sync.Mutex
		return s.nodes.each(ctx, func(ctx context.Context, _ *gocql.HostInfo) error {
			s.observe(ctx, ours, func(known func(o *drivers.Observation)) {
				mu.Lock()
				defer mu.Unlock()
				known(&o)
			})
			return nil
		})
	}) // what no node reports in time is unknown
	return o
}

// observe reads from the node of the context. ours are the keyspaces whose files count. It calls add with what each
// virtual table says; one that cannot be read says nothing.
func (s *Store) observe(ctx context.Context, ours []string, add func(known func(o *drivers.Observation))) {
	var name string
	var x, y, z, disk, tables, cache, rowReads, rowHits, debt, tombstones int64
	read := func(view string, row func(), known func(o *drivers.Observation), dest ...any) {
		query := s.session.Query("SELECT " + view).WithContext(ctx).Consistency(gocql.One)
		if scan(query, row, append([]any{&name}, dest...)...) == nil {
			add(known)
		}
	}
	read("keyspace_name, mebibytes FROM system_views.disk_usage", func() {
		if slices.Contains(ours, name) && x > 0 { // rounded up
			disk += x << 20
			tables++
		}
	}, func(o *drivers.Observation) {
		o.DiskBytes, o.DiskExcess = max(o.DiskBytes, 0)+disk, o.DiskExcess+tables<<20
	}, &x)
	read("name, capacity_bytes, request_count, hit_count FROM system_views.caches", func() {
		if cache += x; name == "rows" {
			rowReads, rowHits = y, z
		}
	}, func(o *drivers.Observation) {
		o.CacheBytes = max(o.CacheBytes, 0) + cache
		o.RowCacheReads, o.RowCacheHits = o.RowCacheReads+rowReads, o.RowCacheHits+rowHits
	}, &x, &y, &z)
	read("unit, progress, total FROM system_views.sstable_tasks", func() { // what the running compactions have left
		if name == "bytes" {
			debt += max(y-x, 0)
		}
	}, func(o *drivers.Observation) { o.CompactionDebt = max(o.CompactionDebt, 0) + debt }, &x, &y)
	read("keyspace_name, CAST(max AS bigint) FROM system_views.tombstones_per_read", func() {
		if slices.Contains(ours, name) {
			tombstones = max(tombstones, x)
		}
	}, func(o *drivers.Observation) { o.TombstonesRead = max(o.TombstonesRead, tombstones) }, &x)
}
