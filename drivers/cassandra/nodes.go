package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// nodes is the policy by which gocql chooses the node of a request. It is
// token-aware: it chooses a replica of the row. Accept leaves out the nodes of other
// datacenters. A request whose context names a node goes to that node.
type nodes struct {
	gocql.HostSelectionPolicy
	rack string // the setting rack, or ""

	// keyspaces are those of statements, by their texts: see Pick.
	keyspaces atomic.Pointer[map[string]string]
	routed    routed

	mu          sync.Mutex
	localDC     string // the setting local_dc, or "" until use has been called
	partitioner string // "" until the nodes are known
	seen        map[string]*node
}

// node is a node by its host id, also one that Accept leaves out.
type node struct {
	*gocql.HostInfo
	known     bool // requests may go to it
	connected bool // it answered, and has not gone down since
}

var (
	_ gocql.HostSelectionPolicy = (*nodes)(nil)
	_ gocql.ReadyPolicy         = (*nodes)(nil)
	_ gocql.HostFilter          = (*nodes)(nil)
	_ gocql.HostTierer          = (*racked)(nil)
)

// newNodes returns the policy for a local datacenter and a rack in it, which may be "".
func newNodes(localDC, rack string) *nodes {
	n := &nodes{localDC: localDC, rack: rack, seen: make(map[string]*node)}
	if n.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy()); rack != "" {
		n.HostSelectionPolicy = gocql.TokenAwareHostPolicy(
			racked{gocql.RoundRobinHostPolicy(), rack}, gocql.NonLocalReplicasFallback())
	}
	return n
}

// racked says that replicas in other racks come after those in this one.
type racked struct {
	gocql.HostSelectionPolicy
	rack string
}

// HostTier implements gocql.HostTierer.
func (r racked) HostTier(h *gocql.HostInfo) uint {
	if h.Rack() == r.rack {
		return 0
	}
	return 1
}

// MaxHostTier implements gocql.HostTierer.
func (racked) MaxHostTier() uint { return 1 }

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
func (n *nodes) Accept(h *gocql.HostInfo) (ok bool) {
	n.note(h, func(*node) { ok = n.localDC == "" || n.partitioner == "" || h.DataCenter() == n.localDC })
	return ok
}

// note notes something of a node.
func (n *nodes) note(h *gocql.HostInfo, what func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := h.HostID()
	if n.seen[id] == nil {
		n.seen[id] = &node{HostInfo: h}
	}
	what(n.seen[id])
}

// SetPartitioner implements gocql.HostSelectionPolicy.
func (n *nodes) SetPartitioner(name string) {
	n.mu.Lock()
	n.partitioner = name
	n.mu.Unlock()
	n.HostSelectionPolicy.SetPartitioner(name)
}

// AddHost implements gocql.HostSelectionPolicy.
func (n *nodes) AddHost(h *gocql.HostInfo) {
	n.note(h, func(of *node) { of.HostInfo, of.known = h, true }) // the one whose state gocql keeps
	n.HostSelectionPolicy.AddHost(h)
}

// RemoveHost implements gocql.HostSelectionPolicy.
func (n *nodes) RemoveHost(h *gocql.HostInfo) {
	n.note(h, func(of *node) { of.known = false })
	n.HostSelectionPolicy.RemoveHost(h)
}

// HostUp implements gocql.HostStateNotifier.
func (n *nodes) HostUp(h *gocql.HostInfo) {
	n.note(h, func(of *node) { of.connected = true })
	n.HostSelectionPolicy.HostUp(h)
}

// HostDown implements gocql.HostStateNotifier.
func (n *nodes) HostDown(h *gocql.HostInfo) {
	n.note(h, func(of *node) { of.connected = false })
	n.HostSelectionPolicy.HostDown(h)
}

// all returns the nodes that requests may go to, always in the same order.
func (n *nodes) all() []*gocql.HostInfo { return n.those(true, true) }

// reachable returns the nodes that a request can go to.
func (n *nodes) reachable() []*gocql.HostInfo { return n.those(true, false) }

// missing returns the nodes that cannot be reached.
func (n *nodes) missing() []*gocql.HostInfo { return n.those(false, true) }

// those returns the known nodes that are connected, or are not.
func (n *nodes) those(connected, not bool) (all []*gocql.HostInfo) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(n.seen)) {
		if of := n.seen[id]; of.known && (connected && of.connected || not && !of.connected) {
			all = append(all, of.HostInfo)
		}
	}
	return all
}

// hostPorts returns where nodes are reached.
func hostPorts(hosts []*gocql.HostInfo) (at []string) {
	for _, h := range hosts {
		at = append(at, h.HostnameAndPort())
	}
	return at
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
			all[of(h.HostInfo)] = true
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
// later. It returns an error if the datacenter has no node in the rack of the setting.
func (n *nodes) use(datacenter string) error {
	n.mu.Lock()
	n.localDC = datacenter
	n.mu.Unlock()
	if racks := n.names(datacenter, (*gocql.HostInfo).Rack); n.rack != "" && !slices.Contains(racks, n.rack) {
		return fmt.Errorf("setting rack: datacenter %s has no rack %s; it has %s", datacenter, n.rack,
			strings.Join(racks, ", "))
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
	return n.HostSelectionPolicy.Pick(at)
}
