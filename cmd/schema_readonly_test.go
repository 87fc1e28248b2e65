package cmd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestAuth: import, diff, validate and explain run under a role that has SELECT only. It runs on a
// Cassandra with a login.
func TestAuth(t *testing.T) {
	in := live.Secured(t)
	login := in.Login()
	authority, err := os.ReadFile(login.Authority)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		t.Fatal("no certificate")
	}
	connect := func(user, password string) *gocql.Session {
		t.Helper()
		c := gocql.NewCluster(in.Contact()...)
		c.Authenticator = gocql.PasswordAuthenticator{Username: user, Password: password}
		c.SslOpts = &gocql.SslOptions{Config: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, EnableHostVerification: true}
		s, err := c.CreateSession()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	secret, err := os.ReadFile(filepath.Join(filepath.Dir(login.PasswordFile), "admin.password"))
	if err != nil {
		t.Fatal(err)
	}
	admin := connect("mailbench_admin", strings.TrimSpace(string(secret)))
	ks, role := "boxes_"+randomWord(t), "reader_"+randomWord(t)
	fillBoxes(t, admin, ks)
	run := func(stmt string) {
		t.Helper()
		if err := admin.Query(stmt).Exec(); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
	run("CREATE ROLE " + role + " WITH PASSWORD = 'secret' AND LOGIN = true")
	t.Cleanup(func() { run("DROP ROLE " + role) }) // engine up refuses roles that it did not make
	run("GRANT SELECT ON KEYSPACE " + ks + " TO " + role)

	t.Setenv("MAILBENCH_CASSANDRA_USER", role)
	t.Setenv("MAILBENCH_CASSANDRA_PASSWORD", "secret")
	t.Setenv("MAILBENCH_CASSANDRA_PASSWORD_FILE", "")
	m, dir := &loaded{}, t.TempDir()
	at := func(args ...string) []string {
		return append(args, "-e", "cassandra", "--keyspace", ks, "--contact", strings.Join(in.Contact(), ","),
			"--set", "engines.cassandra.tls=true", "--set", "engines.cassandra.tls_ca="+login.Authority)
	}
	queries := filepath.Join(dir, "queries.cql")
	if err := os.WriteFile(queries, []byte("SELECT id, subject FROM messages WHERE box = ? LIMIT 25;"), 0o600); err != nil {
		t.Fatal(err)
	}
	schema := filepath.Join(dir, "boxes.yaml")
	m.mailbench(t, exitOK, at("schema", "import", "--queries", queries, "-o", schema)...)
	m.mailbench(t, exitOK, at("schema", "diff", schema)...)
	file := filepath.Join(dir, "check")
	out := m.mailbench(t, exitOK, at("schema", "validate", schema, "--rate-limit", "100000/s", "--pause-on-latency", "30s", "--resume", file)...)
	for _, want := range []string{"messages  105 ", "At most 100000 rows a second were read.", "No pause: ", ": 0 rows broken, 0 orphaned"} {
		if !strings.Contains(out, want) {
			t.Errorf("validate does not say %q:\n%s", want, out)
		}
	}
	if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
		t.Errorf("a check that is whole leaves %q", left)
	}

	reader := connect(role, "secret")
	for _, stmt := range []string{
		"INSERT INTO " + ks + ".messages (box, id) VALUES ('a', 1)", "DROP TABLE " + ks + ".messages", "TRUNCATE " + ks + ".messages",
	} {
		var refused gocql.RequestError
		if err := reader.Query(stmt).Exec(); !errors.As(err, &refused) || refused.Code() != gocql.ErrCodeUnauthorized {
			t.Errorf("%s: %v; the role should have SELECT only", stmt, err)
		}
	}
}
