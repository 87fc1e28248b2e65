package cassandra

import (
	"context"
	"net"
	"testing"

	"github.com/gocql/gocql"
)

// TestPinned: a request that is for one node is offered that node, once.
func TestPinned(t *testing.T) {
	n := newNodes("", "")
	n.HostSelectionPolicy = gocql.RoundRobinHostPolicy()
	host := func(id string, last byte) *gocql.HostInfo {
		h := new(gocql.HostInfo).SetConnectAddress(net.IPv4(127, 0, 0, last))
		h.SetHostID(id)
		return h
	}
	a, b := host("a", 1), host("b", 2)
	n.HostUp(a) // gocql may be connected to a node before it knows all of them
	for _, h := range []*gocql.HostInfo{b, a, a} {
		n.AddHost(h)
	}
	if all := n.all(); len(all) != 2 || all[0] != a || all[1] != b {
		t.Fatalf("nodes are %v, want a and b in this order", all)
	}
	next := n.Pick(new(gocql.Query).WithContext(toNode(context.Background(), b)))
	if got := next(); got == nil || got.Info() != b {
		t.Errorf("a request for b is offered %v", got)
	}
	if got := next(); got != nil {
		t.Errorf("a request for b is offered %v too", got.Info())
	}
	n.RemoveHost(a)
	if all := n.all(); len(all) != 1 || all[0] != b {
		t.Errorf("nodes are %v after a has left", all)
	}
}
