package launch

import (
	"net"
	"strings"
	"testing"
)

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	nodes := []Node{{Listens: []string{"127.0.0.1:0"}}, {Listens: []string{"127.0.0.1:0", l.Addr().String()}}}
	if err := checkPorts(nodes); err == nil || !strings.HasPrefix(err.Error(), "port "+port+" on 127.0.0.1 is taken") {
		t.Errorf("error %v, want one that names port %s", err, port)
	}
	must(t, l.Close())
	must(t, checkPorts(nodes))
}

// TestNoSuchAddress: the error that macOS gives for 127.0.0.2, here for an address that is
// reserved (RFC 5737).
func TestNoSuchAddress(t *testing.T) {
	err := checkPorts([]Node{{Listens: []string{"192.0.2.1:19500"}}})
	if err == nil || !strings.Contains(err.Error(), "cannot listen on 192.0.2.1: start one node, or add the address") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

func TestFreePorts(t *testing.T) {
	for _, e := range engines {
		port, err := freePorts(&e, e.MaxNodes)
		must(t, err)
		must(t, checkPorts(e.layOut(port, e.MaxNodes)))
	}
}

func TestMemory(t *testing.T) {
	if errSystem != nil {
		t.Skip(errSystem)
	}
	must(t, checkMemory(&cassandra, minHeap, 0))
	err := checkMemory(&cassandra, 1<<50, 3)
	if err == nil || !strings.HasPrefix(err.Error(), "not enough memory: 3 processes of cassandra need 3.38PB and ") {
		t.Errorf("error %v, want one that tells what is needed", err)
	}
}
