package cassandra

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gocql/gocql"
)

// nodes is how gocql chooses the node of a request: a replica of the row
// (token-aware), of the local datacenter first. It learns the datacenter from
// the cluster where no setting names it, and sends a request to one node in
// particular where its context asks for that.
type nodes struct {
	localDC string // of the settings, or ""

	session     *gocql.Session
	partitioner string
	// policy is set once the nodes are known. gocql connects to them meanwhile,
	// and tells of those that are up before it tells of all.
	policy atomic.Pointer[gocql.HostSelectionPolicy]

	mu    sync.Mutex
	known []*gocql.HostInfo
}

var _ gocql.HostSelectionPolicy = (*nodes)(nil)

// with runs do with the policy, if the nodes are known.
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

// AddHosts takes all nodes of the cluster at once, before the first request.
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

// onNode is the context key of the node that a request must go to.
type onNode struct{}

// on returns a context whose requests go to one node only.
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

// only offers one node, once.
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

// chosen is a node that was asked for by name.
type chosen gocql.HostInfo

// Info implements gocql.SelectedHost.
func (c *chosen) Info() *gocql.HostInfo { return (*gocql.HostInfo)(c) }

// Mark implements gocql.SelectedHost.
func (c *chosen) Mark(error) {}
