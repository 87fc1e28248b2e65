package lint

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gocql/gocql"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas/imports"
)

// lacks matches why a Cassandra refuses the tables of a case: SASI is a setting, and 4.1 has neither SAI nor vectors.
var lacks = regexp.MustCompile("SASI indexes are disabled|non-CUSTOM index|find custom indexer class|mismatched input '<'")

// TestErrorsLive: Cassandra refuses to run a SELECT of testdata/cases/errors.txtar without ALLOW FILTERING if lint says that it
// scans, or drops what it has read, and no other one.
func TestErrorsLive(t *testing.T) {
	config := live.CQL(t)
	session, err := config.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	archive, err := txtar.ParseFile("testdata/cases/errors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) { asked += inKeyspace(t, session, *config, f) })
	}
	if asked < 20 {
		t.Errorf("%d statements: the test shows nothing", asked)
	}
}

// inKeyspace creates the tables of a case, and compares what lint and Cassandra say of each SELECT.
func inKeyspace(t *testing.T, session *gocql.Session, config gocql.ClusterConfig, f txtar.File) (asked int) {
	keyspace := "l" + strings.ToLower(rand.Text()[:15])
	run := func(statement string) {
		if err := session.Query(statement).Exec(); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	run("CREATE KEYSPACE " + keyspace + " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	defer run("DROP KEYSPACE " + keyspace)
	config.Keyspace = keyspace
	own, err := config.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for statement := range strings.SplitSeq(string(f.Data), ";") {
		at := strings.Index(statement, "CREATE ")
		if at < 0 {
			continue
		}
		if err := own.Query(statement[at:]).Exec(); err != nil && lacks.MatchString(err.Error()) {
			t.Logf("%s: not compared: %v", f.Name, err)
			return 0
		} else if err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	imported, err := imports.Import("", imports.Source{File: f.Name, Text: string(f.Data)})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Check(imported.Schema, Options{Facts: facts(imported.Schema)})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range imported.Read {
		if !read.Pattern.Kind.Reads() {
			continue
		}
		asked++
		filters := slices.ContainsFunc(report.Findings, func(f Finding) bool {
			return f.Pattern == read.Pattern.Name && slices.Contains([]string{"scan-filter", "filter-reads-more"}, f.Rule.ID)
		})
		text := strings.Replace(read.Text, " ALLOW FILTERING", "", 1)
		// Without values, gocql prepares the statement and does not send them.
		err := own.Query(text).WithContext(context.Background()).Exec()
		var refused gocql.RequestError
		if got := errors.As(err, &refused); got != filters {
			t.Errorf("lint says that it filters: %v; Cassandra says %v: %s", filters, err, text)
		}
	}
	return asked
}
