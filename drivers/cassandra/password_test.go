package cassandra

import (
	"encoding/binary"
	"io"
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
		{"127.0.0.1:19042", passwordGuard{}, ""},
		{"[::1]:9042", passwordGuard{}, ""},
		{"localhost", passwordGuard{}, ""},
		{"10.0.0.1:9042", passwordGuard{}, "10.0.0.1 without TLS"},
		{"db", passwordGuard{}, "db without TLS"},
		{"localhost.example.com", passwordGuard{}, "without TLS"},
		{"10.0.0.1:9042", passwordGuard{encrypted: true}, ""},
		{"10.0.0.1:9042", passwordGuard{plaintext: plaintextHosts("db, 10.0.0.1")}, ""},
		{"10.0.0.10", passwordGuard{plaintext: plaintextHosts("10.0.0.1")}, "without TLS"},
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
	g := passwordGuard{plaintext: []string{"192.0.2.7"}}
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
	here, ca := l.Addr().String(), "/etc/ssl/of-a-stranger.pem"
	contact := []string{here}
	for _, c := range []struct {
		o    drivers.Options
		want string // of the error
	}{
		{drivers.Options{Contact: contact, Settings: map[string]string{"tls": "false"}}, "add --contact " + here},
		{drivers.Options{Contact: contact, Settings: map[string]string{"tls": "true"}}, "add --contact " + here},
		{
			drivers.Options{Settings: map[string]string{"addresses": "127.0.0.1:9042=" + here}},
			"add --set engines.cassandra.addresses=127.0.0.1:9042=" + here,
		},
		{
			drivers.Options{Contact: contact, Named: []string{"contact"}, Settings: map[string]string{"addresses": "10.0.0.1:9042=" + here}},
			"add --set engines.cassandra.addresses=",
		},
		{
			drivers.Options{Contact: contact, Named: []string{"contact"}, Settings: map[string]string{"tls": "true", "tls_ca": ca}},
			"add --set engines.cassandra.tls_ca=" + ca,
		},
		{
			drivers.Options{Contact: contact, Named: []string{"contact"}, Settings: map[string]string{"tls": "true", "tls_server_name": "evil"}},
			"add --set engines.cassandra.tls_server_name=evil",
		},
	} {
		_, err := Engine().Open(t.Context(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v, want %q", c.o, err, c.want)
		}
	}
	l.Close()
	<-done
	if n := called.Load(); n > 0 {
		t.Errorf("the host got %d connections", n)
	}
}

// TestPasswordHidden: a server that repeats the password in its error does not have it printed.
func TestPasswordHidden(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text := func(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }
	answer := func(conn net.Conn) {
		defer conn.Close()
		for head := make([]byte, 9); ; {
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			body := make([]byte, binary.BigEndian.Uint32(head[5:]))
			if _, err := io.ReadFull(conn, body); err != nil {
				return
			}
			head[0] |= 0x80
			out := "\x00\x00" // no options are supported
			switch head[4] {
			case 5: // OPTIONS
				head[4] = 6
			case 1: // STARTUP
				head[4], out = 3, text("org.apache.cassandra.auth.PasswordAuthenticator")
			default: // AUTH_RESPONSE
				head[4], out = 0, "\x00\x00\x01\x00"+text("Provided username and/or password are incorrect: "+string(body))
			}
			binary.BigEndian.PutUint32(head[5:], uint32(len(out)))
			if _, err := conn.Write(append(head, out...)); err != nil {
				return
			}
		}
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go answer(conn)
		}
	}()
	t.Setenv(userVariable, "me")
	t.Setenv(passwordVariable, "s3cret")
	t.Setenv(passwordFileVariable, "")
	_, err = Engine().Open(t.Context(), drivers.Options{Contact: []string{l.Addr().String()}, Named: []string{"contact"}})
	if err == nil || !strings.Contains(err.Error(), "are incorrect: ") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}
