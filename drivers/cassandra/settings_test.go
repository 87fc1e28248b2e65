package cassandra

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

func TestSettings(t *testing.T) {
	s, err := readSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.consistency != gocql.LocalQuorum || s.client.SerialConsistency != gocql.LocalSerial || s.client.WriteCoalesceWaitTime != 0 || s.client.Timeout != 12*time.Second || s.client.NumConns != 2 || s.replication != 0 {
		t.Errorf("defaults are %+v", s)
	}
	s, err = readSettings(map[string]string{
		"consistency": "one", "serial_consistency": "serial", "replication": "3",
		"timeout": "300ms", "write_coalesce": "200us",
	})
	if err != nil || s.consistency != gocql.One || s.client.SerialConsistency != gocql.Serial || s.replication != 3 || s.client.Timeout != 300*time.Millisecond || s.client.WriteCoalesceWaitTime != 200*time.Microsecond {
		t.Errorf("settings are %+v, %v", s, err)
	}
	for _, c := range []struct{ name, value, want string }{
		{"consistancy", "ONE", `unknown setting "consistancy"`},
		{"password", "secret", `unknown setting "password"`},
		{"consistency", "MOST", "setting consistency:"},
		{"consistency", "ANY", `"ANY"; expected one of ONE`},
		{"consistency", "QUORM", `"QUORM"; expected one of ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE; did you mean "QUORUM"?`},
		{"serial_consistency", "ALL", "expected one of SERIAL, LOCAL_SERIAL"},
		{"serial_consistency", "QUORUM", "setting serial_consistency:"},
		{"replication", "0", "setting replication:"},
		{"replication", "dc1=3", "datacenters with theirs such as dc1:3,dc2:2"},
		{"replication", "dc1:0", "dc1:0 has no number of at least 1"},
		{"replication", "dc1:1,dc1:2", "each name once"},
		{"addresses", "a:1=b:2", `"a:1"; expected the IP address and port that the cluster reports for a node`},
		{"addresses", "10.0.0.1:1=b", `"b"; expected host:port`},
		{"addresses", "10.0.0.1:1=b:99999", `"b:99999"; expected host:port`},
		{"addresses", "10.0.0.1:9x=b:2", "expected the IP address and port"},
		{"addresses", "a:1", "expected NAME=VALUE"},
		{"compression", "zstd", "expected one of none, snappy"},
		{"connections", "none", "setting connections:"},
		{"page_size", "0", "setting page_size:"},
		{"retries", "-1", "setting retries:"},
		{"timeout", "5", "setting timeout:"},
		{"connect_timeout", "0s", "setting connect_timeout:"},
		{"tls", "maybe", "setting tls:"},
		{"tls_ca", "ca.pem", "tls_ca needs tls"},
	} {
		if _, err := readSettings(map[string]string{c.name: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s gives %v, want an error with %q", c.name, c.value, err, c.want)
		}
	}
	if _, err := readSettings(map[string]string{"tls": "true", "tls_cert": "c"}); err == nil {
		t.Errorf("a certificate without its key was taken")
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		contact []string
		hosts   []string
		port    int
	}{
		{nil, []string{"127.0.0.1:9042"}, 9042},
		{[]string{"a", "b"}, []string{"a:9042", "b:9042"}, 9042},
		{[]string{"127.0.0.1:9142"}, []string{"127.0.0.1:9142"}, 9142},
		{[]string{"[::1]:7"}, []string{"[::1]:7"}, 7},
		{[]string{"a:1", "b:2"}, []string{"a:1", "b:2"}, 1}, // a port a node
		{[]string{"::1"}, []string{"[::1]:9042"}, 9042},
	} {
		hosts, port, err := addresses(c.contact)
		if err != nil || !slices.Equal(hosts, c.hosts) || port != c.port {
			t.Errorf("addresses(%q) = %q, %d, %v", c.contact, hosts, port, err)
		}
	}
	for _, contact := range [][]string{{"a:0"}, {"a:x"}, {":9042"}} {
		if hosts, _, err := addresses(contact); err == nil {
			t.Errorf("addresses(%q) = %q and no error", contact, hosts)
		}
	}
}

func TestAuthenticator(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want *drivers.Login
		err  string
	}{
		{nil, nil, ""},
		{
			map[string]string{userVariable: "u", passwordVariable: "p"},
			&drivers.Login{User: "u", Password: "p"},
			"",
		},
		{
			map[string]string{userVariable: "u", passwordFileVariable: file},
			&drivers.Login{User: "u", Password: "from a file"},
			"",
		},
		{map[string]string{userVariable: "u"}, nil, "no password"},
		{map[string]string{passwordVariable: "p"}, nil, "no user"},
		{map[string]string{userVariable: "u", passwordVariable: "p", passwordFileVariable: file}, nil, "both set"},
		{map[string]string{userVariable: "u", passwordFileVariable: file + "x"}, nil, "read the password"},
		{map[string]string{userVariable: "u", passwordFileVariable: os.DevNull}, nil, "is no plain file"},
	} {
		got, err := drivers.ReadLogin(environment, func(name string) string { return c.env[name] })
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v, want %q", slices.Sorted(maps.Keys(c.env)), err, c.err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: not the user and password expected", slices.Sorted(maps.Keys(c.env)))
		}
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]*settings{
		"tls_ca: open":            {TLS: drivers.TLS{Encrypted: true, CA: filepath.Join(dir, "none.pem")}},
		"contains no certificate": {TLS: drivers.TLS{Encrypted: true, CA: empty}},
		"tls_cert and tls_key: ":  {TLS: drivers.TLS{Encrypted: true, Cert: empty, Key: empty}},
		// A workload of others may name these: a device has no end.
		"tls_ca: " + os.DevNull + " is no plain file":               {TLS: drivers.TLS{Encrypted: true, CA: os.DevNull}},
		"tls_cert and tls_key: " + os.DevNull + " is no plain file": {TLS: drivers.TLS{Encrypted: true, Cert: os.DevNull, Key: empty}},
	} {
		if _, err := s.config(nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	c, err := (&settings{TLS: drivers.TLS{Encrypted: true, Server: "cassandra.example"}}).config(nil, nil)
	if err != nil || c.SslOpts == nil || c.SslOpts.InsecureSkipVerify || !c.SslOpts.EnableHostVerification || c.SslOpts.ServerName != "cassandra.example" {
		t.Errorf("TLS is %+v, %v; certificates must be verified", c.SslOpts, err)
	}
}

// TestUnreachable: an error names immediately the address that does not answer.
func TestUnreachable(t *testing.T) {
	const nobody = "127.0.0.1:1"
	begin := time.Now()
	_, err := Engine().Open(context.Background(), drivers.Options{Contact: []string{nobody}})
	if !errors.Is(err, drivers.ErrUnreachable) || !strings.Contains(err.Error(), nobody) {
		t.Errorf("open: %v, want unreachable with %s", err, nobody)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestLimits(t *testing.T) {
	if l := limitsOf(nil); l.batch != 50<<10 || l.mutation != 16<<20-mutationMargin {
		t.Errorf("limits of a cluster that reports none: %+v", l)
	}
	l := limitsOf(map[string]string{
		"max_mutation_size": "8192KiB", "native_transport_max_frame_size": "16MiB",
		"batch_size_fail_threshold": "640KiB",
	})
	if l.batch != 640<<10 || l.mutation != 8<<20-mutationMargin {
		t.Errorf("limits: %+v", l)
	}
	for v, want := range map[string]int64{
		"50KiB": 50 << 10, "16MiB": 16 << 20, "1GiB": 1 << 30, "12B": 12, "": 0,
		"many": 0, "xMiB": 0,
	} {
		if got := sizeSetting(v, 0); got != want {
			t.Errorf("sizeSetting(%q) = %d, want %d", v, got, want)
		}
	}
	small := []drivers.Value{
		drivers.Text("key"), drivers.Blob(make([]byte, 1000)),
		drivers.ListOf([]drivers.Value{drivers.Int(1), drivers.Int(2)}),
	}
	if got := (&statement{keys: 1}).sizeOf(small); got < 1000+3+8+4*20 || got > 1200 {
		t.Errorf("a call of 1011 bytes counts as %d", got)
	}
}
