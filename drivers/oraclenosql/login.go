package oraclenosql

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/auth"
	"github.com/oracle/nosql-go-sdk/nosqldb/auth/kvstore"
	"github.com/oracle/nosql-go-sdk/nosqldb/httputil"
	"github.com/oracle/nosql-go-sdk/nosqldb/logger"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
)

// The environment variables with user and password. No flag, file or result holds these.
const (
	userVariable         = "MAILBENCH_ORACLENOSQL_USER"
	passwordVariable     = "MAILBENCH_ORACLENOSQL_PASSWORD"
	passwordFileVariable = "MAILBENCH_ORACLENOSQL_PASSWORD_FILE"
)

var environment = []drivers.Setting{
	{Name: userVariable, Doc: "user, if the store requires one; the proxy returns an access token for it"},
	{Name: passwordVariable, Doc: "the user's password"},
	{Name: passwordFileVariable, Doc: "file with the password, in place of the password itself"},
}

// login is a user. It gets access tokens from the proxies, which all clients of a store share.
//
// The SDK's provider of tokens renews one in the background, but keeps one that the proxy no
// longer takes (the store was started again, or someone logged out). It also would send its
// requests over the connections of the client that was created first, with that client's own.
type login struct {
	*drivers.Login
	endpoints []string // the proxies take turns when one gives no token
	over      http.RoundTripper
	timeout   time.Duration

	mu     sync.Mutex
	tokens *kvstore.AccessTokenProvider // nil before a login
	made   int
}

// errLogin says that a request was not sent, since the proxy gave no token for it.
var errLogin = errors.New("log in")

// token returns what a request says of its user. A token that was refused is no longer used.
func (l *login) token(refused string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.tokens == nil {
			if err := l.begin(); err != nil {
				return "", err
			}
		}
		token, err := l.tokens.AuthorizationString(nil)
		if err != nil {
			l.tokens = nil
			return "", fmt.Errorf("%w: %w", errLogin, err)
		}
		if token != refused {
			return token, nil
		}
		l.tokens = nil
	}
}

// begin makes a provider that has no token yet.
func (l *login) begin() error {
	client, err := httputil.NewHTTPClient(httputil.HTTPConfig{})
	if err != nil {
		return err
	}
	if err := carry(client, l.over); err != nil {
		return err
	}
	l.tokens, err = kvstore.NewAccessTokenProvider(l.User, []byte(l.Password), auth.ProviderOptions{
		Timeout: l.timeout, HTTPClient: client, Logger: logger.New(io.Discard, logger.Error, false),
	})
	if err != nil {
		return err
	}
	l.tokens.SetEndpoint(l.endpoints[l.made%len(l.endpoints)])
	l.made++
	return nil
}

// logout gives the token back.
func (l *login) logout() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens == nil {
		return nil
	}
	return l.Hide(l.tokens.Close())
}

// credential is the login of one SDK client.
type credential struct {
	*login
	used    string // what the last request said
	refused bool   // the proxy no longer takes it
}

var _ nosqldb.AuthorizationProvider = (*credential)(nil)

// AuthorizationString implements nosqldb.AuthorizationProvider.
func (c *credential) AuthorizationString(auth.Request) (token string, err error) {
	refused := ""
	if c.refused {
		refused = c.used
	}
	if token, err = c.token(refused); err == nil {
		c.used, c.refused = token, false
	}
	return token, err
}

// AuthorizationScheme implements nosqldb.AuthorizationProvider.
func (c *credential) AuthorizationScheme() string { return auth.BearerToken }

// SignHTTPRequest implements nosqldb.AuthorizationProvider.
func (c *credential) SignHTTPRequest(*http.Request) error { return nil }

// GetLogger implements nosqldb.AuthorizationProvider.
func (c *credential) GetLogger() *logger.Logger { return nil }

// Close implements nosqldb.AuthorizationProvider. The store logs out.
func (c *credential) Close() error { return nil }

// readLogin reads user and password. They go only to hosts that the user named, and over
// TLS or to this machine.
func readLogin(o drivers.Options, encrypted bool) (*login, error) {
	given, err := drivers.ReadLogin(environment, os.Getenv)
	if err != nil || given == nil {
		return nil, err
	}
	if err := o.MayGo(engineName, settingList, userVariable); err != nil {
		return nil, err
	}
	for _, c := range o.Contact {
		if host := drivers.HostOf(c); !encrypted && !drivers.IsLoopback(host) {
			return nil, fmt.Errorf("the password would go to %s without TLS, where others can read it: set tls to true", host)
		}
	}
	return &login{Login: given}, nil
}

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
			return nil, fmt.Errorf("contact %s: expected host or host:port; the setting tls selects https", c)
		}
		all = append(all, scheme+drivers.HostPort(c, usualPort))
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
	if !s.Encrypted {
		return t, nil
	}
	system, err := x509.SystemCertPool()
	if err != nil {
		system = x509.NewCertPool()
	}
	t.TLSClientConfig, err = s.TLS.Config(system)
	return t, err
}

// newSlot returns a slot with an SDK client of its own: a client may be used by several
// goroutines only in part (it writes its topology without a lock, client.go setTopologyInfo).
// meter counts its requests, if it is not nil.
func (s *Store) newSlot(meter *drivers.Meter) (*slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	endpoint := s.endpoints[s.clients%len(s.endpoints)]
	s.clients++
	sl := &slot{
		store: s, retry: &retries{most: s.retries, meter: meter},
	}
	sl.transport = &transport{base: s.base, version: &s.version, retry: sl.retry}
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

// classifyOpen reports whether an error says that no server answers.
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
