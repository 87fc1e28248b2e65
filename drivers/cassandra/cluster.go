package cassandra

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

const (
	defaultPort = "9042"
	// protocol is the newest version of the native protocol that gocql fully
	// supports. Letting gocql find it out would cost a connection.
	protocol = 4
	// reconnectEvery is the time between two attempts to reach a node that is
	// down. gocql's default of a minute would be most of a run. An event from the
	// cluster mostly announces the node earlier.
	reconnectEvery = time.Second
	// maxStatements is how many prepared statements gocql keeps. A schema has a
	// few dozen.
	maxStatements = 10_000
)

// config returns gocql's configuration. Every difference from gocql's defaults is
// a driver setting or has a comment.
func (s *settings) config(contact []string, auth gocql.Authenticator) (*gocql.ClusterConfig, error) {
	hosts, port, err := addresses(contact)
	if err != nil {
		return nil, err
	}
	c := new(gocql.ClusterConfig)
	*c = s.client
	c.Hosts, c.Port = hosts, port
	c.ProtoVersion = protocol
	c.Consistency = gocql.LocalOne // of the driver's own reads; each node has its own system tables
	c.DefaultTimestamp = false     // each request has a timestamp from clock
	c.RetryPolicy = nil            // each idempotent request has a policy of its own
	c.ReconnectInterval = reconnectEvery
	c.ReconnectionPolicy = &gocql.ExponentialReconnectionPolicy{
		MaxRetries: 5, InitialInterval: 50 * time.Millisecond, MaxInterval: reconnectEvery,
	}
	c.MaxPreparedStmts = maxStatements
	c.MaxRoutingKeyInfo = maxStatements
	c.Dialer = &net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: keepAlive}
	c.HostDialer = dialer{c} // which uses c.Dialer and c.SslOpts
	c.Authenticator = auth
	c.Logger = log.New(io.Discard, "", 0) // failures are returned as errors
	if len(s.addresses) > 0 {
		if c.AddressTranslator, err = s.translator(); err != nil {
			return nil, err
		}
	}
	if s.Encrypted {
		encrypted, err := s.TLS.Config(x509.NewCertPool())
		if err != nil {
			return nil, err
		}
		c.SslOpts = &gocql.SslOptions{Config: encrypted, EnableHostVerification: true}
	}
	return c, nil
}

// translator returns what says where nodes are reached. Hosts are looked up once.
func (s *settings) translator() (gocql.AddressTranslator, error) {
	type place struct {
		ip   net.IP
		port int
	}
	to := make(map[string]place)
	for from, address := range s.addresses {
		at, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("setting addresses: %s=%s: %w", from, address, err)
		}
		to[netip.MustParseAddrPort(from).String()] = place{at.IP, at.Port}
	}
	return gocql.AddressTranslatorFunc(func(ip net.IP, port int) (net.IP, int) {
		if p, ok := to[net.JoinHostPort(ip.String(), strconv.Itoa(port))]; ok {
			return p.ip, p.port
		}
		return ip, port
	}), nil
}

// addresses parses the contacts, each a host or host:port. The port of the first is that of nodes
// that do not report theirs, as those before Cassandra 4.0.
func addresses(contact []string) (hosts []string, port int, err error) {
	if len(contact) == 0 {
		contact = []string{"127.0.0.1"}
	}
	for _, c := range contact {
		at := drivers.HostPort(c, defaultPort)
		if !hostPort(at) {
			return nil, 0, fmt.Errorf("contact %q is neither a host nor host:port", c)
		}
		hosts = append(hosts, at)
	}
	_, first, _ := net.SplitHostPort(hosts[0])
	port, err = strconv.Atoi(first)
	return hosts, port, err
}

// connect opens the gocql session within the time given. gocql itself has no
// bound over all nodes, and takes no context.
func connect(ctx context.Context, c *gocql.ClusterConfig, within time.Duration) (*gocql.Session, error) {
	var session *gocql.Session
	done, at := make(chan error, 1), strings.Join(c.Hosts, ", ")
	go func() {
		err := crash.Guard(func() (err error) {
			session, err = c.CreateSession()
			return err
		})
		if p := new(crash.Error); errors.As(err, &p) { // gocql panics over values that are missing
			err = fmt.Errorf("it answers a statement that Cassandra rejects (%v)", p.Value)
		}
		done <- err
	}()
	late := time.NewTimer(within)
	defer late.Stop()
	var why error
	select {
	case err := <-done:
		switch {
		case err == nil:
			return session, nil
		case containsAny(err.Error(), // gocql keeps only the text
			"authentication required", "Provided username", "credentials", "authenticator"):
			return nil, fmt.Errorf("%s refused the login: %w; set %s and %s", at, err, userVariable, passwordVariable)
		}
		return nil, fmt.Errorf("%w: no Cassandra at %s: %w", drivers.ErrUnreachable, at, err)
	case <-late.C:
		why = fmt.Errorf("%w: no Cassandra at %s: no answer within %v", drivers.ErrUnreachable, at, within)
	case <-ctx.Done():
		why = ctx.Err()
	}
	go func() { // close a session that opens too late
		if err := <-done; err == nil {
			_ = crash.Guard(func() error { session.Close(); return nil })
		}
	}()
	return nil, why
}

// checkDatacenter returns the local datacenter: its nodes get the requests.
func (n *nodes) checkDatacenter() (string, error) {
	all := n.datacenters()
	switch {
	case n.localDC == "" && len(all) > 1:
		return "", fmt.Errorf("the cluster has the datacenters %s: name yours in the setting local_dc",
			strings.Join(all, ", "))
	case n.localDC == "" && len(all) == 1:
		return all[0], nil
	case !slices.Contains(all, n.localDC):
		return "", fmt.Errorf("setting local_dc: the cluster has no datacenter %s; it has %s", n.localDC,
			strings.Join(all, ", "))
	}
	return n.localDC, nil
}
