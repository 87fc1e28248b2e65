package cassandra

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestPasswordGuard: a password goes where the user said, and only encrypted or allowed
// by name.
func TestPasswordGuard(t *testing.T) {
	for _, c := range []struct {
		contact string
		guard   passwordGuard
		want    string // of the error; "" is none
	}{
		{"", passwordGuard{}, ""},
		{"10.0.0.1:9042", passwordGuard{}, "add --contact 10.0.0.1:9042"},
		{"10.0.0.1:9042", passwordGuard{encrypted: true}, "add --contact"}, // a certificate proves a name, not whose it is
		{"127.0.0.1:19042", passwordGuard{}, "add --contact"},              // any user's server
		{"127.0.0.1:19042", passwordGuard{named: true}, ""},
		{"[::1]:9042", passwordGuard{named: true}, ""},
		{"localhost", passwordGuard{named: true}, ""},
		{"10.0.0.1:9042", passwordGuard{named: true}, "10.0.0.1 without TLS"},
		{"db", passwordGuard{named: true}, "db without TLS"},
		{"localhost.example.com", passwordGuard{named: true}, "without TLS"},
		{"10.0.0.1:9042", passwordGuard{named: true, encrypted: true}, ""},
		{"10.0.0.1:9042", passwordGuard{named: true, plaintext: plaintextHosts("db, 10.0.0.1")}, ""},
		{"10.0.0.10", passwordGuard{named: true, plaintext: plaintextHosts("10.0.0.1")}, "without TLS"},
	} {
		var contact []string
		if c.contact != "" {
			contact = []string{c.contact}
		}
		err := c.guard.check(contact)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q with %+v: %v, want %q", c.contact, c.guard, err, c.want)
		}
	}
	// A cluster may name nodes that the user did not.
	g := passwordGuard{named: true, plaintext: []string{"192.0.2.7"}}
	if conn, err := g.DialContext(t.Context(), "tcp", "192.0.2.1:9042"); err == nil || !strings.Contains(err.Error(), "192.0.2.1 without TLS") {
		t.Errorf("a node that the cluster names: %v, %v", conn, err)
	}
}

// TestPasswordStays: nobody who is named by a file only is even called.
func TestPasswordStays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var called atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			called.Add(1)
			conn.Close()
		}
	}()
	t.Setenv(userVariable, "me")
	t.Setenv(passwordVariable, "secret")
	t.Setenv(passwordFileVariable, "")
	for _, tls := range []string{"false", "true"} {
		_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{l.Addr().String()}, Settings: map[string]string{"tls": tls}})
		if err == nil || !strings.Contains(err.Error(), "--contact") || strings.Contains(err.Error(), "secret") {
			t.Errorf("tls %s: %v", tls, err)
		}
	}
	l.Close()
	<-done
	if n := called.Load(); n > 0 {
		t.Errorf("the host got %d connections", n)
	}
}
