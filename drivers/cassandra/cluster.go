package cassandra

import (
	"context"
	"crypto/tls"
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
	"github.com/mailbench/mailbench/schemas/plainfile"
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
	if s.tls {
		if c.SslOpts, err = s.sslOptions(); err != nil {
			return nil, err
		}
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

// sslOptions returns the TLS options. The server's certificate is always verified.
func (s *settings) sslOptions() (*gocql.SslOptions, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.tlsServerName}
	if s.tlsCA != "" {
		pem, err := plainfile.Read(s.tlsCA, plainfile.Small)
		if err != nil {
			return nil, fmt.Errorf("setting tls_ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("setting tls_ca: %s contains no certificate", s.tlsCA)
		}
	}
	if s.tlsCert != "" {
		cert, cerr := plainfile.Read(s.tlsCert, plainfile.Small)
		key, kerr := plainfile.Read(s.tlsKey, plainfile.Small)
		err := errors.Join(cerr, kerr)
		var pair tls.Certificate
		if err == nil {
			pair, err = tls.X509KeyPair(cert, key)
		}
		if err != nil {
			return nil, fmt.Errorf("settings tls_cert and tls_key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return &gocql.SslOptions{Config: c, EnableHostVerification: true}, nil
}

// connect opens the gocql session within the time given. gocql itself has no
// bound over all nodes, and takes no context.
func connect(ctx context.Context, c *gocql.ClusterConfig, within time.Duration) (*gocql.Session, error) {
	type opened struct {
		session *gocql.Session
		err     error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		o.err = crash.Guard(func() (err error) {
			o.session, err = c.CreateSession()
			return err
		})
		if p := new(crash.Error); errors.As(o.err, &p) { // gocql panics over values that are missing
			o.err = fmt.Errorf("it answers a statement that Cassandra rejects (%v)", p.Value)
		}
		done <- o
	}()
	late := time.NewTimer(within)
	defer late.Stop()
	var why error
	select {
	case o := <-done:
		if o.err == nil {
			return o.session, nil
		}
		if refusedLogin(o.err) {
			return nil, fmt.Errorf("%s refused the login: %w; set %s and %s",
				strings.Join(c.Hosts, ", "), o.err, userVariable, passwordVariable)
		}
		return nil, fmt.Errorf("%w: no Cassandra at %s: %w", drivers.ErrUnreachable, strings.Join(c.Hosts, ", "), o.err)
	case <-late.C:
		why = fmt.Errorf("%w: no Cassandra at %s: no answer within %v",
			drivers.ErrUnreachable, strings.Join(c.Hosts, ", "), within)
	case <-ctx.Done():
		why = ctx.Err()
	}
	go func() { // close a session that opens too late
		if o := <-done; o.err == nil {
			_ = crash.Guard(func() error { o.session.Close(); return nil })
		}
	}()
	return nil, why
}

// refusedLogin reports whether an error is about the user or the password. gocql
// keeps only the text of such an error.
func refusedLogin(err error) bool {
	return containsAny(err.Error(), "authentication required", "Provided username", "credentials", "authenticator")
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
