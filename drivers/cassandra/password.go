package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"
)

// login answers a cluster that wants user and password. gocql's own authenticator has no answer to a second
// challenge, and panics.
type login struct{ gocql.PasswordAuthenticator }

// Challenge implements gocql.Authenticator.
func (l login) Challenge(class []byte) ([]byte, gocql.Authenticator, error) {
	answer, _, err := l.PasswordAuthenticator.Challenge(class)
	return answer, answered{}, err
}

// answered is a login that has sent user and password.
type answered struct{}

// Challenge implements gocql.Authenticator.
func (answered) Challenge([]byte) ([]byte, gocql.Authenticator, error) {
	return nil, nil, errors.New("the authenticator of the server needs more than user and password, which mailbench does not support")
}

// Success implements gocql.Authenticator.
func (answered) Success([]byte) error { return nil }

// passwordGuard says where a password may go.
type passwordGuard struct {
	encrypted bool     // connections use TLS and verify the server
	plaintext []string // hosts that may get the password without TLS
}

// plaintextHosts reads the variable plaintextVariable.
func plaintextHosts(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// check returns an error if the password may not go to a contact. Without a contact it goes to this machine.
func (g *passwordGuard) check(contact []string) error {
	for _, c := range contact {
		if host := hostOf(c); !g.encrypted && !loopback(host) && !slices.Contains(g.plaintext, host) {
			return g.refusal(host)
		}
	}
	return nil
}

func (g *passwordGuard) refusal(host string) error {
	return fmt.Errorf("the password would go to %s without TLS, where others can read it: set tls to true, or name the host in %s",
		host, plaintextVariable)
}

// checkNodes does the same check for the nodes that the cluster has reported.
func (g *passwordGuard) checkNodes(ctx context.Context, nodes []*gocql.HostInfo) error {
	if g.encrypted {
		return nil
	}
	allowed := g.addresses(ctx)
	for _, n := range nodes {
		if ip := n.ConnectAddress(); !ip.IsLoopback() && !slices.ContainsFunc(allowed, ip.Equal) {
			return g.refusal(ip.String())
		}
	}
	return nil
}

// DialContext implements gocql.Dialer: gocql sends the password over every connection
// without TLS that it opens, also to nodes that the cluster names.
func (g *passwordGuard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host := hostOf(addr)
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() && !slices.ContainsFunc(g.addresses(ctx), ip.Equal) {
		return nil, g.refusal(host)
	}
	return (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, network, addr)
}

// keepAlive is the time between two TCP keep-alive probes of an idle connection.
const keepAlive = 15 * time.Second

// addresses returns the addresses of the hosts in plaintext. It leaves out hosts that it cannot
// resolve.
func (g *passwordGuard) addresses(ctx context.Context) (all []net.IP) {
	for _, host := range g.plaintext {
		found, _ := net.DefaultResolver.LookupIPAddr(ctx, host)
		for _, a := range found {
			all = append(all, a.IP)
		}
	}
	return all
}

// hostOf returns the host of an address, which may have a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// loopback reports whether a host is localhost or a loopback address.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
