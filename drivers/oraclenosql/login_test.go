package oraclenosql

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{map[string]string{"tls": "true", "tls_ca": os.Args[0]}, "has no certificate"},
		{map[string]string{"tls_ca": ca}, "need tls: true"},
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
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		paths, tokens = append(paths, r.URL.Path), append(tokens, r.Header.Get("Authorization"))
		p.mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/login") {
			if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Write([]byte(`{"token": "t0k3n", "expireAt": 99999999999999}`))
			return
		}
		p.serve(w, r)
	}))
	t.Cleanup(p.Close)
	t.Setenv(userVariable, "ann")
	t.Setenv(passwordVariable, "secret")
	o := drivers.Options{Contact: []string{strings.TrimPrefix(p.URL, "http://")}, Named: true}
	st, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if len(paths) < 2 || !strings.HasSuffix(paths[0], "/login") || tokens[1] != "Bearer t0k3n" {
		t.Errorf("requests %q with %q", paths, tokens)
	}
	for name, bad := range map[string]drivers.Options{
		"a contact of the workload":  {Contact: o.Contact},
		"another machine, plaintext": {Contact: []string{"db.example.org:8080"}, Named: true},
	} {
		if st, err := open(t.Context(), bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	t.Setenv(passwordVariable, "")
	if _, err := open(t.Context(), o); err == nil || !strings.Contains(err.Error(), passwordFileVariable) {
		t.Errorf("a user without a password: %v", err)
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
