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
				diff, want = append(diff, "--ignore", "replication"), "except for ignored differences"
			}
			if out := m.mailbench(t, exitOK, diff...); !strings.Contains(out, want) {
				t.Errorf("%s: %s differs:\n%s", d.name, filepath.Base(schema), out)
			}
		}
		m.mailbench(t, exitOK, "schema", "validate", shown, "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--quiet")
		at := []string{"-e", "cassandra", "--contact", contact, "--keyspace", ks + "x"}
		want := "there is no keyspace " + ks + "x at " + contact + `; did you mean "` + ks + `"? --keyspace NAME names another`
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

// liveKinds are kinds of types, tables, indexes and views, with what Cassandra they are of.
var liveKinds = []struct{ name, since, cql string }{
	{"types", "4", `CREATE TYPE place (lat double, "Lon" double); CREATE TYPE visit (at timestamp, spot frozen<place>, tags frozen<set<text>>);
		CREATE TABLE typed (a uuid PRIMARY KEY, b frozen<place>, c visit, d list<frozen<visit>>, e tuple<int, text>, "Fg" int);
		CREATE INDEX "Typed_F" ON typed ("Fg"); CREATE INDEX typed_b ON typed (b)`},
	{"keys", "4", `CREATE TABLE keyed (a uuid, b text, c int, d text static, e text, PRIMARY KEY ((a, b), c));
		CREATE INDEX ON keyed (e); CREATE INDEX keyed_c ON keyed (c); CREATE INDEX ON keyed (b); CREATE INDEX keyed_d ON keyed (d)`},
	{"sasi", "4", `CREATE TABLE sasi (a uuid PRIMARY KEY, b text, c int, d text, e text);
		CREATE CUSTOM INDEX sasi_b ON sasi (b) USING 'org.apache.cassandra.index.sasi.SASIIndex';
		CREATE CUSTOM INDEX ON sasi (c) USING 'org.apache.cassandra.index.sasi.SASIIndex' WITH OPTIONS = {'mode': 'SPARSE'};
		CREATE INDEX sasi_d ON sasi (d)`},
	{"collections", "4", `CREATE TABLE sets (a uuid PRIMARY KEY, b map<text, text>, c map<text, int>, d set<text>, e frozen<list<int>>, f map<text, int>);
		CREATE INDEX sets_b ON sets (ENTRIES(b)); CREATE INDEX sets_c ON sets (KEYS(c)); CREATE INDEX sets_d ON sets (d);
		CREATE INDEX sets_e ON sets (FULL(e)); CREATE INDEX ON sets (f); CREATE INDEX "sets_F" ON sets (KEYS(f))`},
	{"views", "4", `CREATE TABLE base (a uuid, b text, c int, d text, e text, PRIMARY KEY ((a, b), c));
		CREATE MATERIALIZED VIEW whole AS SELECT * FROM base WHERE e IS NOT NULL AND a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL
			PRIMARY KEY (e, a, b, c) WITH CLUSTERING ORDER BY (a DESC, b ASC, c DESC);
		CREATE MATERIALIZED VIEW some AS SELECT a, b, c FROM base WHERE c > 5 AND a IS NOT NULL AND b IS NOT NULL
			PRIMARY KEY (c, a, b) WITH gc_grace_seconds = 60 AND comment = 'some of them'`},
	{"settings", "4", `CREATE TABLE counts (a uuid PRIMARY KEY, n counter) WITH compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '80'};
		CREATE TABLE expires (a uuid, b timeuuid, PRIMARY KEY (a, b)) WITH CLUSTERING ORDER BY (b DESC) AND default_time_to_live = 3600 AND
			compaction = {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': 2} AND
			gc_grace_seconds = 100 AND compression = {'enabled': false} AND caching = {'keys': 'NONE', 'rows_per_partition': '10'} AND
			bloom_filter_fp_chance = 0.1 AND cdc = true AND speculative_retry = '50ms' AND read_repair = 'NONE' AND comment = 'it''s'`},
	{"sai", "5", `CREATE TABLE sai (a uuid, b int, c int, d text, e text, f vector<float, 3>, g map<text, int>, h map<text, int>, i set<text>,
			j map<text, text>, PRIMARY KEY ((a, b), c));
		CREATE INDEX sai_d ON sai (d) USING 'sai'; CREATE INDEX ON sai (c) USING 'sai'; CREATE INDEX sai_b ON sai (b) USING 'sai';
		CREATE CUSTOM INDEX sai_e ON sai (e) USING 'StorageAttachedIndex' WITH OPTIONS = {'case_sensitive': 'false', 'normalize': 'true'};
		CREATE INDEX sai_f ON sai (f) USING 'sai' WITH OPTIONS = {'similarity_function': 'dot_product'};
		CREATE INDEX sai_g ON sai (ENTRIES(g)) USING 'sai'; CREATE INDEX sai_h ON sai (KEYS(h)) USING 'sai';
		CREATE INDEX sai_i ON sai (VALUES(i)) USING 'sai'; CREATE INDEX sai_j ON sai (j) USING 'sai'`},
	{"mixed", "5", `CREATE TABLE mixed (a uuid PRIMARY KEY, b int, c int, d int); CREATE INDEX mixed_b ON mixed (b) USING 'legacy_local_table';
		CREATE INDEX mixed_c ON mixed (c) USING 'sai'; CREATE INDEX mixed_d ON mixed (d)`},
}

// TestDiffAfterImport: a live keyspace does not differ from the schema that was imported from it, for each
// kind of type, index and view.
func TestDiffAfterImport(t *testing.T) {
	at := []string{"-e", "cassandra", "--contact", live.Contact(t, "cassandra")}
	config := live.CQL(t)
	s, err := config.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var version string
	if err := s.Query("SELECT release_version FROM system.local").Scan(&version); err != nil {
		t.Fatal(err)
	}
	for _, kind := range liveKinds {
		if version < kind.since {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			config := *config
			config.Keyspace = "kinds_" + randomWord(t)
			run := func(s *gocql.Session, stmt string) {
				if err := s.Query(stmt).Exec(); err != nil {
					t.Fatalf("%s: %v", stmt, err)
				}
			}
			run(s, "CREATE KEYSPACE "+config.Keyspace+" WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}")
			t.Cleanup(func() { run(s, "DROP KEYSPACE "+config.Keyspace) })
			own, err := config.CreateSession()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(own.Close)
			for stmt := range strings.SplitSeq(kind.cql, ";") {
				run(own, stmt)
			}
			shown, m := filepath.Join(t.TempDir(), "live.yaml"), &loaded{}
			flags := append([]string{"--keyspace", config.Keyspace}, at...)
			m.mailbench(t, exitOK, slices.Concat([]string{"schema", "import", "-o", shown}, flags)...)
			m.mailbench(t, exitOK, slices.Concat([]string{"schema", "diff", shown}, flags)...)
		})
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
		if len(made.Definitions) == 0 || made.Definitions[0].Create == nil || made.Definitions[0].Create.Kind == "keyspace" {
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
