package cassandra

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gocql/gocql"
	"github.com/golang/snappy"

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
		{"127.0.0.1:19042", passwordGuard{}, ""},
		{"[::1]:9042", passwordGuard{}, ""},
		{"localhost", passwordGuard{}, ""},
		{"10.0.0.1:9042", passwordGuard{}, "10.0.0.1 without TLS"},
		{"db", passwordGuard{}, "db without TLS"},
		{"localhost.example.com", passwordGuard{}, "without TLS"},
		{"10.0.0.1:9042", passwordGuard{encrypted: true}, ""},
		{"10.0.0.1:9042", passwordGuard{plaintext: listed("db, 10.0.0.1")}, ""},
		{"10.0.0.10", passwordGuard{plaintext: listed("10.0.0.1")}, "without TLS"},
	} {
		err := c.guard.check(t.Context(), c.contact)
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

// TestPasswordStays: mailbench does not even connect to a host that only a file names.
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

// Kinds of frames.
const (
	opError, opReady, opAuthenticate, opOptions, opSupported, opQuery, opResult = 0, 2, 3, 5, 6, 7, 8
	opPrepare, opExecute                                                        = 9, 10
	opStartup, opRegister, opAuthChallenge, opAuthResponse, opAuthSuccess       = 1, 11, 14, 15, 16
)

// localColumns begins a result of system.local: its metadata is global, with the columns host_id, partitioner
// and rpc_address. localRow is its one row.
var (
	localColumns = "\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x03" + short("system") + short("local") +
		short("host_id") + "\x00\x0c" + short("partitioner") + "\x00\x0d" + short("rpc_address") + "\x00\x10"
	localRow = "\x00\x00\x00\x01" + "\x00\x00\x00\x10" + "0123456789abcdef" +
		"\x00\x00" + short("Murmur3Partitioner") + "\x00\x00\x00\x04\x7f\x00\x00\x01"
)

func short(s string) string { return string(binary.BigEndian.AppendUint16(nil, uint16(len(s)))) + s }

// fakeNode is a server that wants user and password, and answers all else with answer. It returns its address.
func fakeNode(t *testing.T, answer func(op byte, body string) (byte, string)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveNode(t, l, answer)
	return l.Addr().String()
}

// serveNode is fakeNode at a listener. It answers compressed requests with compressed responses.
func serveNode(t *testing.T, l net.Listener, answer func(op byte, body string) (byte, string)) {
	t.Cleanup(func() { l.Close() })
	serve := func(conn net.Conn) {
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
			compressed := head[1]&1 != 0
			if compressed {
				body, _ = snappy.Decode(nil, body)
			}
			out := ""
			switch head[4] {
			case opOptions:
				head[4], out = opSupported, "\x00\x01"+short("COMPRESSION")+"\x00\x01"+short("snappy")
			case opStartup:
				head[4], out = opAuthenticate, short("org.apache.cassandra.auth.PasswordAuthenticator")
			case opRegister:
				head[4] = opReady
			default:
				head[4], out = answer(head[4], string(body))
			}
			if compressed {
				out = string(snappy.Encode(nil, []byte(out)))
			}
			binary.BigEndian.PutUint32(head[5:], uint32(len(out)))
			if _, err := conn.Write(append(head, out...)); err != nil {
				return
			}
		}
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go serve(conn)
		}
	}()
}

// TestStrangeAnswers: answers that Cassandra does not give are errors of opening, and end no process.
func TestStrangeAnswers(t *testing.T) {
	t.Setenv(userVariable, "me")
	t.Setenv(passwordVariable, "s3cret")
	t.Setenv(passwordFileVariable, "")
	for name, c := range map[string]struct{ login, local, want string }{
		"a second challenge":  {login: "\x00\x00\x00\x05again", want: "needs more than user and password"},
		"nulls":               {local: localColumns + "\x00\x00\x00\x01" + strings.Repeat("\xff\xff\xff\xff", 3), want: "no valid connect address"},
		"a row that is short": {local: localColumns + "\x00\x00\x00\x01\x00\x00\x00\x10", want: "not enough bytes"},
		"too many rows":       {local: localColumns + "\x7f\xff\xff\xff", want: "answers a statement that Cassandra rejects"},
		"too many columns":    {local: "\x00\x00\x00\x02\x00\x00\x00\x01\x7f\xff\xff\xff", want: "not enough bytes"},
		"a result of no kind": {local: "\x00\x00\x00\x63", want: "unknown result kind"},
	} {
		t.Run(name, func(t *testing.T) {
			address := fakeNode(t, func(op byte, body string) (byte, string) {
				switch {
				case op == opAuthResponse && c.login != "":
					return opAuthChallenge, c.login
				case op == opAuthResponse:
					return opAuthSuccess, "\xff\xff\xff\xff"
				}
				return opResult, c.local
			})
			_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{address}, Named: []string{"contact"}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestPasswordHidden: a server that repeats the password in an error does not have it printed, whether it refuses
// the login or, later, a request.
func TestPasswordHidden(t *testing.T) {
	var accepts atomic.Bool // the login
	address := fakeNode(t, func(op byte, body string) (byte, string) {
		switch {
		case op == opAuthResponse && accepts.Load():
			return opAuthSuccess, "\xff\xff\xff\xff"
		case op == opQuery && strings.Contains(body, "system.local"):
			return opResult, localColumns + localRow
		case op == opQuery && strings.Contains(body, "system.peers"):
			return opResult, "\x00\x00\x00\x01" // void
		}
		return opError, "\x00\x00\x01\x00" +
			short("Provided username and/or password are incorrect: \x00me\x00s3cret, bWU6czNjcmV0")
	})
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
	_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{address}, Named: []string{"contact"}})
	hidden("open", err)

	accepts.Store(true)
	set, err := readSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	user := &drivers.Login{User: "me", Password: "s3cret"}
	config, err := set.config([]string{address}, login{PasswordAuthenticator: gocql.PasswordAuthenticator{Username: user.User, Password: user.Password}})
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
	d, err := ddl.Define(sch, "", ddl.Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	st.compiler.applied.Add(d.Schema, d.Of)
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
		"describe":   func() error { _, err := st.Describe(t.Context(), "k"); return err },
		"prepared":   func() error { _, err := st.Prepared(t.Context(), "k"); return err },
		"drop":       func() error { _, err := st.Drop(t.Context()); return err },
		"prepare":    func() error { _, err := st.Prepare(t.Context(), sch.Pattern("get")); return err },
		"read":       func() error { return s.Read(t.Context(), compiled("get"), row[:2], nil) },
		"write":      func() error { _, err := s.Write(t.Context(), compiled("put"), row); return err },
		"batch": func() error {
			return s.Batch(t.Context(), compiled("both"), []drivers.Call{{Part: 1, Args: row}, {Part: 0, Args: []drivers.Value{row[0], drivers.Int(2)}}})
		},
	} {
		hidden(call, do())
	}
}
