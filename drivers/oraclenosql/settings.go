package oraclenosql

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
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
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
)

// settingList are the driver settings, with their defaults.
var settingList = []drivers.Setting{
	{
		Name: "consistency", Default: "absolute", Doc: "consistency of reads: absolute (the master) or eventual (any replica)",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(consistencies))...),
	},
	{
		Name: "sync", Default: "no_sync",
		Doc: "how far a write is on the disks of the master and of the replicas when it is acknowledged: no_sync " +
			"(in the process, as the proxy's own default), write_no_sync (the operating system) or sync (the disk)",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(syncs))...),
	},
	{
		Name: "ack", Default: "simple_majority", Doc: "replicas that acknowledge a write: simple_majority, all or none",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(acks))...),
	},
	{
		Name: "limits", Default: "onprem",
		Doc: "limits of rows, keys and atomic batches: onprem (those of a server) or cloud (those of Oracle's cloud " +
			"service, which the driver then enforces)",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(limitsOf))...),
	},
	{
		Name: "replicas", Default: "0",
		Doc:   "how many copies the store keeps (its replication factor); the proxy does not report it: 0 is unknown",
		Check: drivers.NumberFrom(0),
	},
	{Name: "zones", Doc: "the zones that have them, for results: the proxy does not report them either"},
	{Name: "timeout", Default: "10s", Doc: "timeout of a request", Check: drivers.DurationFrom(time.Millisecond)},
	{
		Name: "retries", Default: "5", Doc: "number of retries of a request that the server rejected, or that is idempotent",
		Check: drivers.NumberFrom(0),
	},
	{
		Name: "tls", Default: "false", Doc: "true encrypts connections and verifies the server's certificate",
		Check: drivers.Truth,
	},
	{Name: "tls_ca", Doc: "file with the certificates of authorities (PEM), besides the system's", Guarded: true},
	{Name: "tls_server_name", Doc: "name in the server's certificate, if it is not the contact's", Guarded: true},
}

// settings are the parsed driver settings.
type settings struct {
	consistency types.Consistency
	durability  types.Durability
	words       map[string]string // all settings, as text
	timeout     time.Duration
	limits      limits
	retries     int
	replicas    int
	drivers.TLS
}

var (
	consistencies = map[string]types.Consistency{"absolute": types.Absolute, "eventual": types.Eventual}
	syncs         = map[string]types.SyncPolicy{
		"sync": types.SyncPolicySync, "no_sync": types.SyncPolicyNoSync, "write_no_sync": types.SyncPolicyWriteNoSync,
	}
	acks = map[string]types.ReplicaAckPolicy{
		"all": types.ReplicaAckPolicyAll, "none": types.ReplicaAckPolicyNone,
		"simple_majority": types.ReplicaAckPolicySimpleMajority,
	}
)

func readSettings(given map[string]string) (*settings, error) {
	v := drivers.ReadSettings(settingList, given)
	sync := drivers.Word(v, "sync", syncs)
	s := &settings{
		words: v.Texts(), TLS: v.TLS(),
		consistency: drivers.Word(v, "consistency", consistencies), limits: drivers.Word(v, "limits", limitsOf),
		durability: types.Durability{
			MasterSync: sync, ReplicaSync: sync, ReplicaAck: drivers.Word(v, "ack", acks),
		},
		timeout: v.Duration("timeout"), retries: v.Number("retries"), replicas: v.Number("replicas"),
	}
	return s, v.Err()
}

// durabilities are the words of the setting sync for classes of durability.
var durabilities = map[drivers.Durability]string{
	drivers.Memory: "no_sync", drivers.Process: "write_no_sync", drivers.Power: "sync",
}

// wants sets what a write survives, if the user names a class. The setting sync must
// not say otherwise.
func (s *settings) wants(d drivers.Durability, given map[string]string) error {
	if d == drivers.DurabilityDefault {
		return nil
	}
	word, ok := durabilities[d]
	switch {
	case d == drivers.Quorum && s.class() == drivers.Quorum:
		return nil
	case !ok:
		return fmt.Errorf("cannot verify --durability %s: the proxy does not report the number of replicas: use "+
			"memory, process or power, or set replicas (3 or more; the setting ack must not be none)", d)
	case given["sync"] != "" && s.words["sync"] != word:
		return fmt.Errorf("--durability %s contradicts the setting sync, which is %s; remove one of them", d, s.words["sync"])
	}
	s.words["sync"] = word
	s.durability.MasterSync, s.durability.ReplicaSync = syncs[word], syncs[word]
	return nil
}

// class returns what an acknowledged write survives: on one node, unless the user says that
// there are replicas. Only the user knows how many.
func (s *settings) class() drivers.Durability {
	if s.replicas >= 3 && s.durability.ReplicaAck != types.ReplicaAckPolicyNone {
		return drivers.Quorum
	}
	for d, word := range durabilities {
		if word == s.words["sync"] {
			return d
		}
	}
	return drivers.DurabilityUnknown
}

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
	last   string                       // what they gave last
	made   int
}

var _ nosqldb.AuthorizationProvider = (*login)(nil)

// errLogin says that a request was not sent, since the proxy gave no token for it.
var errLogin = errors.New("log in")

// AuthorizationScheme implements nosqldb.AuthorizationProvider.
func (l *login) AuthorizationScheme() string { return auth.BearerToken }

// GetLogger implements nosqldb.AuthorizationProvider: nothing is logged.
func (l *login) GetLogger() *logger.Logger { return nil }

// SignHTTPRequest implements nosqldb.AuthorizationProvider: the token says it all.
func (l *login) SignHTTPRequest(*http.Request) error { return nil }

// AuthorizationString implements nosqldb.AuthorizationProvider: it returns what a request says of its user.
func (l *login) AuthorizationString(auth.Request) (token string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokens == nil {
		if err := l.begin(); err != nil {
			return "", err
		}
	}
	if token, err = l.tokens.AuthorizationString(nil); err != nil {
		l.tokens = nil
		return "", fmt.Errorf("%w: %w", errLogin, err)
	}
	l.last = token
	return token, nil
}

// refused says that the proxy no longer takes a token, so that the next one is another.
func (l *login) refused(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token == l.last {
		l.tokens = nil
	}
}

// begin makes a provider that has no token yet.
func (l *login) begin() error {
	client, err := httputil.NewHTTPClient(httputil.HTTPConfig{})
	if err != nil {
		return err
	}
	if err := carry(client, bounding{l.over}); err != nil {
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

// Close implements nosqldb.AuthorizationProvider. Each client closes its provider, which others still use: the
// store logs out.
func (*login) Close() error { return nil }

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
