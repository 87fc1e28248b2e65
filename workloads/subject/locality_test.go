package subject

import (
	"net"
	"testing"

	"github.com/mailbench/mailbench/workloads"
)

func TestOnThisMachine(t *testing.T) {
	cases := []struct {
		contact []string
		want    bool
	}{
		{nil, true},
		{[]string{"127.0.0.1:9042"}, true},
		{[]string{"127.0.0.3"}, true},
		{[]string{"[::1]:9042"}, true},
		{[]string{"[::1]"}, true},
		{[]string{"localhost:2181"}, true},
		{[]string{"192.0.2.1:9042", "127.0.0.1:9042"}, true},
		{[]string{"192.0.2.1:9042", "2001:db8::1"}, false}, // for documentation (RFC 5737, 3849)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() { // else it needs a zone
			cases = append(cases, struct {
				contact []string
				want    bool
			}{[]string{n.IP.String()}, true})
		}
	}
	for _, c := range cases {
		if got := onThisMachine(t.Context(), &workloads.Engine{Contact: c.contact}); got != c.want {
			t.Errorf("%v on this machine: %v", c.contact, got)
		}
	}
	if !onThisMachine(t.Context(), nil) {
		t.Error("an engine without a config is on loopback")
	}
}
