package cmd

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas/cql"
)

// TestImportLiveCassandra: the published designs are created in a keyspace of somebody else's. It is
// imported from the live cluster; what is imported from text or from the cluster does not differ from
// it, a change by hand is found, and the keyspace is read without a mark or a model.
func TestImportLiveCassandra(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	s, err := live.CQL(t).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	m := &loaded{}
	for _, d := range []struct{ name, keyspace, change, found string }{
		{
			"killrvideo", "killrvideo", "ALTER TABLE KS.video_recommendations DROP rating",
			"table video_recommendations has no column rating; it should have a plain column of type float",
		},
		{
			"apache-james", "james", "ALTER TABLE KS.message_id_table WITH default_time_to_live = 60",
			"setting cassandra.ttl of table message_id_table is 60; it should be 0",
		},
		{
			"sensors", "sensor_data", "DROP TABLE KS.sensors_by_network", "table sensors_by_network is missing",
		},
	} {
		ks := d.keyspace + "_" + randomWord(t)
		file := createDesign(t, s, d.name, d.keyspace, ks)
		dir := t.TempDir()
		text, shown, saved := filepath.Join(dir, "text.yaml"), filepath.Join(dir, "live.yaml"), filepath.Join(dir, "live.cql")
		m.mailbench(t, exitOK, "schema", "import", "--cql", file, "-o", text)
		m.mailbench(t, exitOK, "schema", "import", "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--save-cql", saved, "-o", shown)
		for _, schema := range []string{text, shown} {
			diff := []string{"schema", "diff", schema, "-e", "cassandra", "--contact", contact, "--keyspace", ks}
			want := "no difference"
			if d.name == "sensors" && schema == text { // its CQL says how it is replicated, in a datacenter of their own
				m.mailbench(t, exitBroken, diff...)
				diff, want = append(diff, "--ignore", "replication"), "but for what is ignored"
			}
			if out := m.mailbench(t, exitOK, diff...); !strings.Contains(out, want) {
				t.Errorf("%s: %s differs:\n%s", d.name, filepath.Base(schema), out)
			}
		}
		m.mailbench(t, exitOK, "schema", "validate", shown, "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--quiet")
		at := []string{"-e", "cassandra", "--contact", contact, "--keyspace", ks + "x"}
		want := "there is no keyspace " + ks + "x at " + contact + `; did you mean "` + ks + `"? --keyspace names another`
		m.refuses(t, want, slices.Concat([]string{"schema", "validate", shown}, at)...)
		m.refuses(t, want, slices.Concat([]string{"schema", "import"}, at)...)
		if out := m.mailbench(t, exitBroken, slices.Concat([]string{"schema", "diff", shown}, at)...); !strings.Contains(out, want) {
			t.Errorf("%s: diff of a keyspace that is not there:\n%s", d.name, out)
		}
		if err := s.Query(strings.ReplaceAll(d.change, "KS", ks)).Exec(); err != nil {
			t.Fatal(err)
		}
		diff := []string{"schema", "diff", text, "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--ignore", "replication"}
		if out := m.mailbench(t, exitBroken, diff...); !strings.Contains(out, d.found) {
			t.Errorf("%s: diff does not say %q:\n%s", d.name, d.found, out)
		}
	}
}

func randomWord(t *testing.T) string {
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

var comments = regexp.MustCompile(`(?m)^--.*$`)

// createDesign creates a design in a keyspace of its own, and returns a file
// with its CQL.
func createDesign(t *testing.T, s *gocql.Session, name, from, keyspace string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "schemas", "imports", "testdata", name+".cql"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(src), from+".", keyspace+".")
	text = strings.ReplaceAll(text, "USE "+from, "USE "+keyspace)
	text = strings.ReplaceAll(text, "CREATE KEYSPACE "+from, "CREATE KEYSPACE "+keyspace)
	run := func(stmt string) {
		if err := s.Query(stmt).Exec(); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
	run("CREATE KEYSPACE " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}")
	t.Cleanup(func() { run("DROP KEYSPACE " + keyspace) })
	for stmt := range strings.SplitSeq(comments.ReplaceAllString(text, ""), ";") {
		made := cql.Parse("", stmt)
		if len(made.Definitions) == 0 || made.Definitions[0].Create == nil || made.Definitions[0].Create.Keyspace != nil {
			continue
		}
		for _, word := range []string{"TABLE ", "TYPE "} { // a session has no USE
			if !strings.Contains(stmt, keyspace+".") {
				stmt = strings.Replace(stmt, "CREATE "+word, "CREATE "+word+keyspace+".", 1)
			}
		}
		run(stmt)
	}
	file := filepath.Join(t.TempDir(), name+".cql")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
