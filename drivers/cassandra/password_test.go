package cassandra

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
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

// TestPasswordHidden: a server that repeats the password in an error does not have it printed, whether it refuses
// the login or, later, a request.
func TestPasswordHidden(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text := func(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }
	var accepts atomic.Bool // the login
	// One row of system.local: its metadata is global, with the columns host_id, partitioner and rpc_address.
	local := "\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03" + text("system") + text("local") + text("host_id") + "\x00\x0c" +
		text("partitioner") + "\x00\x0d" + text("rpc_address") + "\x00\x10" + "\x00\x00\x00\x01" + "\x00\x00\x00\x10" + "0123456789abcdef" +
		"\x00\x00" + text("Murmur3Partitioner") + "\x00\x00\x00\x04\x7f\x00\x00\x01"
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
			switch op := head[4]; {
			case op == 5: // OPTIONS
				head[4] = 6
			case op == 1: // STARTUP
				head[4], out = 3, text("org.apache.cassandra.auth.PasswordAuthenticator")
			case op == 15 && accepts.Load(): // AUTH_RESPONSE
				head[4], out = 16, "\xff\xff\xff\xff"
			case op == 11: // REGISTER
				head[4], out = 2, ""
			case strings.Contains(string(body), "system.local"):
				head[4], out = 8, local
			case strings.Contains(string(body), "system.peers"):
				head[4], out = 8, "\x00\x00\x00\x01" // void
			default:
				head[4], out = 0, "\x00\x00\x01\x00"+text("Provided username and/or password are incorrect: \x00me\x00s3cret, bWU6czNjcmV0")
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
	hidden := func(call string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "are incorrect: ") || strings.Contains(err.Error(), "s3cret") ||
			strings.Contains(err.Error(), "bWU6czNjcmV0") {
			t.Errorf("%s: %v", call, err)
		}
	}
	_, err = Engine().Open(t.Context(), drivers.Options{Contact: []string{l.Addr().String()}, Named: []string{"contact"}})
	hidden("open", err)

	accepts.Store(true)
	set, err := readSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	user := &drivers.Login{User: "me", Password: "s3cret"}
	config, err := set.config([]string{l.Addr().String()}, login{gocql.PasswordAuthenticator{Username: user.User, Password: user.Password}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := config.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	st := storeOf(&cluster{settings: set, session: session, login: user, nodes: new(nodes)}, drivers.Options{Namespace: "hidden"})
	defer st.Close()
	sch := schemaOf(t, "flags", flagsBody)
	d, err := ddl.Define(sch, "", ddl.Replication{Datacenter: "dc1", Factor: 1})
	if err != nil {
		t.Fatal(err)
	}
	st.compiler.add(d, sch, new(ddl.LiveKeyspace))
	compiled := func(pattern string) drivers.Statement {
		stmt, err := plan.Prepare(st.Gate, sch.Pattern(pattern), st.compiler.compile)
		if err != nil {
			t.Fatal(err)
		}
		return stmt
	}
	st.limits = limitsOf(nil)
	s, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	row := []drivers.Value{drivers.Text("p"), drivers.Int(1), drivers.Bigint(1), drivers.Boolean(true)}
	for call, do := range map[string]func() error{
		"apply":      func() error { return st.Apply(t.Context(), sch) },
		"inspect":    func() error { _, err := st.Inspect(t.Context(), "flags"); return err },
		"compare":    func() error { _, err := st.Compare(t.Context(), sch); return err },
		"identity":   func() error { _, err := st.Identity(t.Context(), sch); return err },
		"namespaces": func() error { _, err := st.Namespaces(t.Context()); return err },
		"inventory":  func() error { _, err := st.Inventory(t.Context()); return err },
		"describe":   func() error { _, err := st.Describe(t.Context(), "k"); return err },
		"prepared":   func() error { _, err := st.Prepared(t.Context(), "k"); return err },
		"drop":       func() error { return st.Drop(t.Context()) },
		"prepare":    func() error { _, err := st.Prepare(t.Context(), sch.Pattern("get")); return err },
		"read":       func() error { return s.Read(t.Context(), compiled("get"), row[:2], nil) },
		"write":      func() error { _, err := s.Write(t.Context(), compiled("put"), row); return err },
		"batch": func() error {
			return s.Batch(t.Context(), compiled("both"), []drivers.Call{{Part: 1, Args: row}, {Part: 0, Args: []drivers.Value{row[0], drivers.Int(2)}}})
		},
		"ask": func() error {
			_, err := st.Ask(t.Context(), drivers.Question{Text: "SELECT a FROM k.t", Table: "k.t"})
			return err
		},
	} {
		hidden(call, do())
	}
}
