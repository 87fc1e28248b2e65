package cassandra

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gocql/gocql"
)

// nodes is the policy by which gocql chooses the node of a request. It is
// token-aware: it chooses a replica of the row, those in the local datacenter
// first. Unless a setting names the local datacenter, it takes that of the first
// node. A request whose context names a node goes to that node.
type nodes struct {
	localDC string // the setting local_dc, or ""

	session     *gocql.Session
	partitioner string
	// policy is set once the nodes are known. gocql reports nodes that are up
	// even before that.
	policy atomic.Pointer[gocql.HostSelectionPolicy]

	mu    sync.Mutex
	known []*gocql.HostInfo
}

var _ gocql.HostSelectionPolicy = (*nodes)(nil)

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
	n.partitioner = name
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
func (n *nodes) HostUp(h *gocql.HostInfo) {
	n.with(func(p gocql.HostSelectionPolicy) { p.HostUp(h) })
}

// HostDown implements gocql.HostStateNotifier.
func (n *nodes) HostDown(h *gocql.HostInfo) {
	n.with(func(p gocql.HostSelectionPolicy) { p.HostDown(h) })
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

// datacenters returns the names of all datacenters, sorted.
func (n *nodes) datacenters() []string {
	var names []string
	for _, h := range n.all() {
		names = append(names, h.DataCenter())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// onNode is the context key for the node that a request must go to.
type onNode struct{}

// toNode returns a context whose requests go only to the node.
func toNode(ctx context.Context, h *gocql.HostInfo) context.Context {
	return context.WithValue(ctx, onNode{}, h)
}

// Pick implements gocql.HostSelectionPolicy.
func (n *nodes) Pick(q gocql.ExecutableQuery) gocql.NextHost {
	if r, ok := q.(gocql.RetryableQuery); ok {
		if h, ok := r.Context().Value(onNode{}).(*gocql.HostInfo); ok {
			return only(h)
		}
	}
	return (*n.policy.Load()).Pick(q)
}

func only(h *gocql.HostInfo) gocql.NextHost {
	done := false
	return func() gocql.SelectedHost {
		if done {
			return nil
		}
		done = true
		return (*chosen)(h)
	}
}

// chosen is a node that a context named.
type chosen gocql.HostInfo

// Info implements gocql.SelectedHost.
func (c *chosen) Info() *gocql.HostInfo { return (*gocql.HostInfo)(c) }

// Mark implements gocql.SelectedHost.
func (c *chosen) Mark(error) {}
