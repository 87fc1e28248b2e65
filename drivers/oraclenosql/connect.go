package oraclenosql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"
)

// usualPort is that of the proxy in Oracle's container image.
const usualPort = "8080"

// endpoints returns the URLs of the proxies.
func endpoints(contact []string, encrypted bool) ([]string, error) {
	if len(contact) == 0 {
		contact = []string{"127.0.0.1"}
	}
	scheme := "http://"
	if encrypted {
		scheme = "https://"
	}
	var all []string
	for _, c := range contact {
		if strings.Contains(c, "/") {
			return nil, fmt.Errorf("contact %s: expected host or host:port; the setting tls says whether it is https", c)
		}
		host, port, err := net.SplitHostPort(c)
		if err != nil {
			host, port = strings.Trim(c, "[]"), usualPort
		}
		all = append(all, scheme+net.JoinHostPort(host, port))
	}
	return all, nil
}

// connections returns the connections of a store, which all its clients share.
func (s *settings) connections() (*http.Transport, error) {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: s.timeout, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 1 << 16, // as many as there are workers
		IdleConnTimeout:     idle,
		TLSHandshakeTimeout: s.timeout,
		DisableCompression:  true,
	}
	if !s.tls {
		return t, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if s.tlsCA != "" {
		pem, err := plainfile.Read(s.tlsCA, plainfile.Small)
		if err != nil {
			return nil, fmt.Errorf("setting tls_ca: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("setting tls_ca: %s has no certificate", s.tlsCA)
		}
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: s.tlsServerName, MinVersion: tls.VersionTLS12}
	return t, nil
}

// newSlot returns a slot with an SDK client of its own: a client may be used by several
// goroutines only in part (it writes its topology without a lock, client.go setTopologyInfo).
func (s *Store) newSlot() (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoint := s.endpoints[s.clients%len(s.endpoints)]
	s.clients++
	sl := &slot{
		store: s, transport: &transport{base: s.base, version: &s.version}, retry: &retries{most: s.retries},
		tolerant: new(bool), done: make(chan error, 1),
	}
	c := nosqldb.Config{
		Mode: "onprem", Endpoint: endpoint, RetryHandler: sl.retry,
		LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
		RequestConfig: nosqldb.RequestConfig{
			RequestTimeout: s.timeout, TableRequestTimeout: s.timeout,
			Consistency: s.consistency,
		},
	}
	if s.login != nil {
		sl.retry.credential = &credential{login: s.login}
		c.AuthorizationProvider = sl.retry.credential
	}
	var err error
	if sl.client, err = nosqldb.NewClient(c); err != nil {
		return nil, fmt.Errorf("client of %s: %w", endpoint, err)
	}
	if err := carry(sl.client.HTTPClient, sl.transport); err != nil {
		return nil, err
	}
	return sl, nil
}

// classifyOpen reports whether an error says that nobody answers.
func classifyOpen(err error) bool {
	var u *url.Error
	var e *nosqlerr.Error
	if errors.Is(err, errAnswer) {
		return false
	}
	if errors.As(err, &e) {
		return slices.Contains([]nosqlerr.ErrorCode{
			nosqlerr.RequestTimeout, nosqlerr.ServerError, nosqlerr.ServiceUnavailable,
		}, e.Code)
	}
	return errors.As(err, &u)
}
