package oraclenosql

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
)

// TestTLS: the certificate of the proxy must be one of an authority that the user names.
func TestTLS(t *testing.T) {
	p := &proxy{}
	p.Server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	contact := []string{strings.TrimPrefix(p.URL, "https://")}
	for _, c := range []struct {
		settings map[string]string
		want     string // part of the error; "" is none
	}{
		{map[string]string{"tls": "true", "tls_ca": ca, "tls_server_name": "example.com"}, ""},
		{map[string]string{"tls": "true"}, "certificate"},
		{map[string]string{"tls": "true", "tls_ca": ca, "tls_server_name": "elsewhere.org"}, "elsewhere.org"},
		{map[string]string{"tls": "true", "tls_ca": "login_test.go"}, "contains no certificate"},
		{map[string]string{"tls": "true", "tls_ca": os.DevNull}, "is no plain file"},
		{map[string]string{"tls_ca": ca}, "needs tls: true"},
	} {
		st, err := open(t.Context(), drivers.Options{Contact: contact, Settings: c.settings})
		if err == nil {
			err = st.Close()
		}
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, expected %q", c.settings, err, c.want)
		}
	}
}

// TestLogin: the proxy gives a token for user and password, which every request then carries, and
// gets it back when the store is closed.
func TestLogin(t *testing.T) {
	p := &proxy{}
	var paths, tokens []string
	var repeats atomic.Bool // the proxy says all that it knows
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		paths, tokens = append(paths, r.URL.Path), append(tokens, r.Header.Get("Authorization"))
		p.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/login") {
			if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, "%s of %s", password, r.Header.Get("Authorization"))
				return
			}
			w.Write([]byte(`{"token": "t0k3n", "expireAt": 99999999999999}`))
			return
		}
		if !repeats.Load() {
			p.serve(w, r)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "ann has the password secret and the token %s", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	t.Cleanup(p.Close)
	t.Setenv(userVariable, "ann")
	t.Setenv(passwordVariable, "secret")
	o := drivers.Options{Contact: []string{strings.TrimPrefix(p.URL, "http://")}, Named: []string{"contact"}}
	opened, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	st := opened.(*Store)
	repeats.Store(true)
	if _, err := st.Namespaces(t.Context()); err == nil || !strings.Contains(err.Error(), "has the password …") ||
		strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "t0k3n") {
		t.Errorf("an answer after the login repeats what is secret: %v", err)
	}
	repeats.Store(false)
	if err := st.ddl.client.Close(); err != nil || strings.HasSuffix(paths[len(paths)-1], "/logout") {
		t.Errorf("a client that is closed logs out all: requests %q, %v", paths, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if len(paths) < 3 || !strings.HasSuffix(paths[0], "/login") || tokens[1] != "Bearer t0k3n" ||
		!strings.HasSuffix(paths[len(paths)-1], "/logout") {
		t.Errorf("requests %q with %q", paths, tokens)
	}
	for name, bad := range map[string]drivers.Options{
		"a contact of the workload":  {Contact: o.Contact},
		"a CA of the workload":       {Contact: o.Contact, Named: o.Named, Settings: map[string]string{"tls": "true", "tls_ca": "ca.pem"}},
		"a name of the workload":     {Contact: o.Contact, Named: o.Named, Settings: map[string]string{"tls": "true", "tls_server_name": "db"}},
		"another machine, plaintext": {Contact: []string{"db.example.org:8080"}, Named: []string{"contact"}},
	} {
		if st, err := open(t.Context(), bad); err == nil || strings.Contains(err.Error(), "secret") ||
			strings.HasSuffix(name, "of the workload") && !strings.Contains(err.Error(), "only you decide who gets a password") {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	t.Setenv(passwordVariable, "wr0ng")
	if _, err := open(t.Context(), o); err == nil || strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "YW5uOndyMG5n") {
		t.Errorf("the proxy repeats the password: %v", err)
	}
	t.Setenv(passwordVariable, "")
	if _, err := open(t.Context(), o); err == nil || !strings.Contains(err.Error(), passwordFileVariable) {
		t.Errorf("a user without a password: %v", err)
	}
	t.Setenv(passwordFileVariable, os.DevNull)
	if _, err := open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is no plain file") {
		t.Errorf("a device as file of the password: %v", err)
	}
}

// TestSettings: a value that means nothing is an error that says what is expected.
func TestSettings(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"consistency": {"strong", "expected one of absolute, eventual"},
		"sync":        {"maybe", "expected one of no_sync, sync, write_no_sync"},
		"timeout":     {"5", "is not a duration"},
		"retries":     {"-1", "is not a number of at least 0"},
		"replicas":    {"three", "is not a number"},
		"limits":      {"none", "expected one of cloud, onprem"},
		"nothing":     {"x", `unknown setting "nothing"; expected one of ack, consistency`},
	} {
		if _, err := readSettings(map[string]string{name: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
	for d, want := range map[drivers.Durability]string{
		drivers.Power: "sync", drivers.Process: "write_no_sync", drivers.Memory: "no_sync", drivers.DurabilityDefault: "no_sync",
	} {
		s, err := readSettings(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.wants(d, nil); err != nil || s.words["sync"] != want {
			t.Errorf("durability %s: sync %s, %v; expected %s", d, s.words["sync"], err, want)
		}
	}
	s, err := readSettings(map[string]string{"sync": "no_sync"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.wants(drivers.Power, map[string]string{"sync": "no_sync"}); err == nil {
		t.Error("durability power was given together with no_sync")
	}
	if err := s.wants(drivers.Quorum, nil); err == nil {
		t.Error("durability quorum was given, though nobody knows the replicas")
	}
	for ack, ok := range map[string]bool{"simple_majority": true, "none": false} {
		s, err := readSettings(map[string]string{"replicas": "3", "ack": ack})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.wants(drivers.Quorum, nil); (err == nil) != ok || (s.class() == drivers.Quorum) != ok {
			t.Errorf("three replicas, ack %s: durability %s, %v", ack, s.class(), err)
		}
	}
}

// carrier counts the requests that it carries.
type carrier struct {
	http.RoundTripper
	requests int
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests++
	return c.RoundTripper.RoundTrip(r)
}

// TestLoginGoesOverItsStore: a login is sent over the connections of its own store, and is one request.
func TestLoginGoesOverItsStore(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"token": "t0k3n", "expireAt": 99999999999999}`)
	}))
	t.Cleanup(server.Close)
	var stores [2]*carrier
	for i := range stores {
		stores[i] = &carrier{RoundTripper: http.DefaultTransport}
		l := &login{Login: &drivers.Login{User: "ann", Password: "secret"}, endpoints: []string{server.URL}, over: stores[i], timeout: time.Minute}
		for range 2 {
			if token, err := l.AuthorizationString(nil); err != nil || token != "Bearer t0k3n" {
				t.Fatalf("token %q, %v", token, err)
			}
		}
	}
	for i, over := range stores {
		if over.requests != 1 {
			t.Errorf("store %d carried %d logins, expected 1", i, over.requests)
		}
	}
}

// TestTokens: a token that the proxy no longer takes is replaced by one login for all workers. A write
// that was refused for its token is sent again.
func TestTokens(t *testing.T) {
	p := &proxy{}
	var mu sync.Mutex
	valid, logins, taken := "", 0, make(chan struct{}, 8*20)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		login := strings.HasSuffix(r.URL.Path, "/login")
		if login {
			logins++
			valid = fmt.Sprint("token", logins)
		}
		token := valid
		mu.Unlock()
		switch {
		case login:
			fmt.Fprintf(w, `{"token": %q, "expireAt": 99999999999999}`, token)
		case r.Header.Get("Authorization") == "Bearer "+token:
			p.serve(w, r)
			select {
			case taken <- struct{}{}:
			default: // of more than the test waits for
			}
		default:
			reply(w, failure(nosqlerr.RetryAuthentication))
		}
	}))
	t.Cleanup(p.Close)
	t.Setenv(userVariable, "ann")
	t.Setenv(passwordVariable, "secret")
	s := asked(t)
	st := p.store(t, s, nil)
	stmt, err := st.Prepare(t.Context(), s.Pattern("count"))
	if err != nil {
		t.Fatal(err)
	}
	var working sync.WaitGroup
	for range 8 {
		se, err := st.session()
		if err != nil {
			t.Fatal(err)
		}
		working.Go(func() {
			for i := range 20 {
				if _, err := se.Write(t.Context(), stmt, drivers.Example(stmt.Pattern())); err != nil {
					t.Errorf("write %d: %v", i, err)
				}
			}
		})
	}
	for range 8 {
		<-taken
	}
	mu.Lock()
	valid = "none"
	mu.Unlock()
	working.Wait()
	if _, err := st.readNamespace(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if logins != 2 {
		t.Errorf("%d logins, expected 2", logins)
	}
}

// TestSecuredLive: a real proxy over TLS refuses a wrong password, and a token that it does not know is
// replaced by another. make test cannot start one:
//
//	MAILBENCH_TEST_ORACLENOSQL_TLS=host:port  the proxy, of a store with a login
//	MAILBENCH_TEST_ORACLENOSQL_CA=FILE        the certificate of its authority
//
// and the variables of the login, of a user who may make namespaces.
func TestSecuredLive(t *testing.T) {
	contact := os.Getenv("MAILBENCH_TEST_ORACLENOSQL_TLS")
	if contact == "" {
		t.Skip("MAILBENCH_TEST_ORACLENOSQL_TLS is not set: it names a proxy with TLS and a login that you have started")
	}
	o := drivers.Options{
		Contact: []string{contact}, Named: []string{"contact"}, Namespace: newNamespace(),
		Settings: map[string]string{"tls": "true", "tls_ca": os.Getenv("MAILBENCH_TEST_ORACLENOSQL_CA")},
	}
	opened, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	st := opened.(*Store)
	t.Cleanup(func() {
		_, err := drivers.Drop(context.Background(), st)
		if err := errors.Join(err, st.Close()); err != nil {
			t.Error(err)
		}
	})
	s := asked(t)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	stmt, err := st.Prepare(t.Context(), s.Pattern("next"))
	if err != nil {
		t.Fatal(err)
	}
	se, err := st.session()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		r, err := se.Write(t.Context(), stmt, []drivers.Value{drivers.Text("ann"), drivers.Bigint(1)})
		if err != nil || r.Row[0].Int64() != int64(n+1) {
			t.Fatalf("increment %d: %v, %v", n+1, r.Row, err)
		}
		st.login.tokens, st.login.over = nil, &spoiler{RoundTripper: st.base}
	}
	if cost := se.Take(); cost.Retries != 2 {
		t.Errorf("%d requests were sent again, expected the two that had no valid token", cost.Retries)
	}
	t.Setenv(passwordVariable, "wrong")
	t.Setenv(passwordFileVariable, "")
	if _, err := open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "InvalidAuthorization") {
		t.Errorf("a wrong password: %v", err)
	}
	o.Settings = map[string]string{"tls": "true"}
	if _, err := open(t.Context(), o); !errors.Is(err, drivers.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an authority that nobody named: %v", err)
	}
}

// spoiler changes the first token that goes through it.
type spoiler struct {
	http.RoundTripper
	done bool
}

func (s *spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(r)
	if err != nil || s.done {
		return answer, err
	}
	s.done = true
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	at := bytes.Index(b, []byte(`", "expireAt"`)) - 1 // the last digit
	b[at] = '0' + (b[at]-'0'+1)%10
	answer.Body = io.NopCloser(bytes.NewReader(b))
	return answer, nil
}

// TestWrongServer: redirects and answers that are too long are refused, whatever the request, with an error that
// says what answered; none is sent again.
func TestWrongServer(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	endless := func(w http.ResponseWriter) {
		for b := make([]byte, 1<<20); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		serve func(w http.ResponseWriter, r *http.Request)
		want  string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}, "redirects to " + other.URL + ", and"},
		"a length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server", "nginx")
			w.Header().Set("Content-Length", "1200000000")
		}, `server "nginx"`},
		"no end":         {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "is no proxy of Oracle NoSQL"},
		"an error's end": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); endless(w) }, ""},
	} {
		for _, user := range []string{"", "ann"} {
			var asked atomic.Int64
			p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); c.serve(w, r) }))
			t.Setenv(userVariable, user)
			t.Setenv(passwordVariable, strings.Repeat("secret", len(user)))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := open(t.Context(), drivers.Options{Contact: []string{strings.TrimPrefix(p.URL, "http://")}, Named: []string{"contact"}})
			runtime.ReadMemStats(&after)
			p.Close()
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 20_000 {
				t.Errorf("%s, user %q: %.1000v, want %q", name, user, err, c.want)
			}
			if n, bytes := asked.Load(), after.TotalAlloc-before.TotalAlloc; n != 1 || bytes > 600<<20 {
				t.Errorf("%s, user %q: %d requests, %d bytes", name, user, n, bytes)
			}
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("another server got %d requests", n)
	}
}
