package cassandra

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

const (
	defaultPort = 9042
	// protocol is the newest version that gocql speaks whole. To let it find out
	// costs a connection.
	protocol = 4
	// reconnectEvery is how often nodes that are down are tried; gocql's own
	// minute would be most of a run. The cluster's news of a node that is back
	// mostly comes first.
	reconnectEvery = time.Second
	// maxStatements bounds what gocql keeps of prepared statements, which are a
	// few dozen to a schema.
	maxStatements = 10_000
)

// config returns gocql's configuration. Where it differs from gocql's default,
// a setting says so, or the line does.
func (s *settings) config(contact []string, auth gocql.Authenticator) (*gocql.ClusterConfig, error) {
	hosts, port, err := addresses(contact)
	if err != nil {
		return nil, err
	}
	c := gocql.NewCluster(hosts...)
	c.Port = port
	c.ProtoVersion = protocol
	c.Consistency = s.consistency
	c.SerialConsistency = s.serial
	c.Timeout = s.timeout
	c.WriteTimeout = s.timeout
	c.ConnectTimeout = s.connectTimeout
	c.NumConns = s.connections
	c.PageSize = s.pageSize
	c.WriteCoalesceWaitTime = s.writeCoalesce
	c.DefaultTimestamp = false // statements bring their own: see clock
	c.RetryPolicy = nil        // those that may be sent twice bring one
	c.ReconnectInterval = reconnectEvery
	c.ReconnectionPolicy = &gocql.ExponentialReconnectionPolicy{MaxRetries: 5, InitialInterval: 50 * time.Millisecond, MaxInterval: reconnectEvery}
	c.MaxPreparedStmts = maxStatements
	c.MaxRoutingKeyInfo = maxStatements
	c.SocketKeepalive = 15 * time.Second
	c.Authenticator = auth
	c.Logger = discardLogger{}
	if s.tls {
		if c.SslOpts, err = s.sslOptions(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// addresses reads the contacts, each a host or host:port. gocql reaches nodes
// that it learns of on one port, which is the same for all.
func addresses(contact []string) (hosts []string, port int, err error) {
	if len(contact) == 0 {
		contact = []string{"127.0.0.1"}
	}
	for _, c := range contact {
		host, p := c, strconv.Itoa(defaultPort)
		if h, has, err := net.SplitHostPort(c); err == nil {
			host, p = h, has
		}
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 || host == "" {
			return nil, 0, fmt.Errorf("contact %q is neither a host nor host:port", c)
		}
		if port != 0 && port != int(n) {
			return nil, 0, fmt.Errorf("contacts %s name different ports; the nodes of a cluster answer on one", strings.Join(contact, ", "))
		}
		port = int(n)
		hosts = append(hosts, net.JoinHostPort(strings.Trim(host, "[]"), p))
	}
	return hosts, port, nil
}

// sslOptions returns what TLS needs. Certificates are always verified.
func (s *settings) sslOptions() (*gocql.SslOptions, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.tlsServerName}
	if s.tlsCA != "" {
		pem, err := os.ReadFile(s.tlsCA)
		if err != nil {
			return nil, fmt.Errorf("setting tls_ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("setting tls_ca: no certificate is in %s", s.tlsCA)
		}
	}
	if s.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(s.tlsCert, s.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("settings tls_cert and tls_key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return &gocql.SslOptions{Config: c, EnableHostVerification: true}, nil
}

// connect opens the gocql session within the time for connecting, for which
// gocql itself has no bound over all nodes, nor a context.
func connect(ctx context.Context, c *gocql.ClusterConfig, within time.Duration) (*gocql.Session, error) {
	type opened struct {
		session *gocql.Session
		err     error
	}
	done := make(chan opened, 1)
	go func() {
		s, err := c.CreateSession()
		done <- opened{s, err}
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
			return nil, fmt.Errorf("%s lets nobody in: %w; set %s and %s", strings.Join(c.Hosts, ", "), o.err, userVariable, passwordVariable)
		}
		return nil, fmt.Errorf("%w: no Cassandra at %s: %w", drivers.ErrUnreachable, strings.Join(c.Hosts, ", "), o.err)
	case <-late.C:
		why = fmt.Errorf("%w: no Cassandra at %s: no answer within %v", drivers.ErrUnreachable, strings.Join(c.Hosts, ", "), within)
	case <-ctx.Done():
		why = ctx.Err()
	}
	go func() { // whatever comes late is closed
		if o := <-done; o.err == nil {
			o.session.Close()
		}
	}()
	return nil, why
}

// refusedLogin reports whether an error is about user and password, of which
// gocql keeps the text only.
func refusedLogin(err error) bool {
	for _, phrase := range []string{"authentication required", "Provided username", "credentials", "authenticator"} {
		if strings.Contains(err.Error(), phrase) {
			return true
		}
	}
	return false
}

// checkDatacenter finds the datacenter whose nodes are asked.
func (n *nodes) checkDatacenter() (string, error) {
	all := n.datacenters()
	switch {
	case n.localDC == "" && len(all) > 1:
		return "", fmt.Errorf("the cluster has the datacenters %s: say with the setting local_dc which of them is yours", strings.Join(all, ", "))
	case n.localDC == "" && len(all) == 1:
		return all[0], nil
	case !slices.Contains(all, n.localDC):
		return "", fmt.Errorf("setting local_dc: the cluster has no datacenter %s, but %s", n.localDC, strings.Join(all, ", "))
	}
	return n.localDC, nil
}

// discardLogger keeps gocql quiet: what goes wrong comes back as an error.
type discardLogger struct{}

func (discardLogger) Print(...any)          {}
func (discardLogger) Printf(string, ...any) {}
func (discardLogger) Println(...any)        {}
