package subject

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// onThisMachine reports whether a node of the engine runs on this machine: it then
// competes with the generator for processors. No address means loopback.
func onThisMachine(ctx context.Context, e *workloads.Engine) bool {
	if e == nil || len(e.Contact) == 0 {
		return true
	}
	const lookupAtMost = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, lookupAtMost)
	defer cancel()
	for _, contact := range e.Contact {
		host, _, err := net.SplitHostPort(contact)
		if err != nil {
			host = strings.Trim(contact, "[]")
		}
		// The driver has a better error for a name that cannot be resolved.
		addresses, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
		for _, a := range addresses {
			if a.IP.IsLoopback() || isOwn(a.IP) {
				return true
			}
		}
	}
	return false
}

// isOwn reports whether an address is one of this machine's.
func isOwn(ip net.IP) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
