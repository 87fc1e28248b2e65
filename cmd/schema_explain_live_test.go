package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/trace/queries"
)

// boxes is a keyspace of somebody else's: three boxes of 40 messages.
var boxes = []string{
	"CREATE KEYSPACE KS WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}",
	`CREATE TABLE KS.messages (box text, id int, subject text, tags set<text>, day date, PRIMARY KEY (box, id))
WITH CLUSTERING ORDER BY (id DESC)`,
}

// fillBoxes makes the keyspace. Messages 31 to 35 of each box are deleted.
func fillBoxes(t *testing.T, s *gocql.Session, keyspace string) {
	t.Helper()
	run := func(stmt string, values ...any) {
		t.Helper()
		if err := s.Query(strings.ReplaceAll(stmt, "KS", keyspace), values...).Exec(); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
	for _, stmt := range boxes {
		run(stmt)
	}
	t.Cleanup(func() { run("DROP KEYSPACE KS") })
	for box := range 3 {
		for id := range 40 {
			run("INSERT INTO KS.messages (box, id, subject, tags, day) VALUES (?, ?, ?, ?, '2026-01-01')",
				fmt.Sprintf("box%d", box), id, fmt.Sprintf("subject %d", id), []string{"a", "b"})
		}
		for id := 31; id < 36; id++ {
			run("DELETE FROM KS.messages WHERE box = ? AND id = ?", fmt.Sprintf("box%d", box), id)
		}
	}
}

// boxQueries have a line each, so that line n is number n of the test's table.
const boxQueries = `SELECT id, subject FROM messages WHERE box = ? LIMIT 25;
SELECT subject FROM messages WHERE box = ? AND id = ?;
SELECT id FROM messages WHERE box = ? AND id < ? AND id >= ?;
SELECT id FROM messages WHERE box IN ?;
SELECT subject FROM messages WHERE box = :mine AND id IN :those;
SELECT id FROM messages WHERE subject = 'subject 7' ALLOW FILTERING;
SELECT count(*) FROM messages;
SELECT id FROM messages WHERE tags CONTAINS ? ALLOW FILTERING;
INSERT INTO messages (box, id, subject) VALUES (?, ?, 'new');
DELETE FROM messages WHERE box = 'box0' AND id = 3;
SELECT id FROM messages WHERE token(box) > ? LIMIT ?;
SELECT id FROM elsewhere WHERE id = ?;
SELECT id FROM KS.messages WHERE box = 'box1' AND day > ? ALLOW FILTERING;
SELECT id FROM messages WHERE box = ? AND (id) > ?;
SELECT id, subject FROM messages;
`

// TestExplainQueriesLive: statements of an application are run on its keyspace if they only read, with
// values of its own rows, and the work of the cluster is next to the prediction of lint.
func TestExplainQueriesLive(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	s, err := live.CQL(t).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ks := "boxes_" + randomWord(t)
	fillBoxes(t, s, ks)
	file := filepath.Join(t.TempDir(), "queries.cql")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(boxQueries, "KS", ks)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &loaded{}
	explain := []string{"schema", "explain", "--queries", file, "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--quiet"}
	var r queries.Report
	if err := json.Unmarshal([]byte(m.mailbench(t, exitOK, append(explain, "--json")...)), &r); err != nil {
		t.Fatal(err)
	}
	byLine := make(map[int]*queries.Statement)
	for i := range r.Statements {
		byLine[r.Statements[i].Line] = &r.Statements[i]
	}
	for _, want := range []struct {
		line                              int
		runs                              int
		returned, read, tombstones, nodes int64
		foretold, finding, notRun         string
	}{
		{line: 1, runs: 5, returned: 25, read: 25, tombstones: 5, nodes: 1, foretold: "one partition, limit 25"},
		{line: 2, runs: 5, returned: 1, read: 1, nodes: 1, foretold: "one partition, one row"},
		{line: 3, runs: 5, returned: 4, read: 4, tombstones: 0, nodes: 1, foretold: "one partition, none, rows of the key prefix"},
		{line: 4, runs: 5, returned: 100, foretold: "one partition per box, list length"},
		{line: 5, runs: 5, returned: 3, read: 3, nodes: 1, foretold: "one partition, list length"},
		{line: 6, runs: 1, returned: 3, read: 105, tombstones: 15, nodes: 1, foretold: "all partitions, none, all rows", finding: "scan-filter"},
		{line: 7, notRun: "it would read the whole table for one answer"},
		{line: 8, runs: 5, returned: 100, foretold: "all partitions, none, all rows", finding: "scan-filter"},
		{line: 9, notRun: "it writes"},
		{line: 10, notRun: "it writes"},
		{line: 11, runs: 5, foretold: "all partitions, limit argument"},
		{line: 13, runs: 5, foretold: "one partition, none, rows of the key prefix", finding: "filter-reads-more"},
		{line: 14, notRun: "no values for its parameters: (id) is a tuple"},
		{line: 15, runs: 1, returned: 100, foretold: "all partitions, none, all rows"},
	} {
		got := byLine[want.line]
		switch {
		case got == nil:
			t.Errorf("line %d is not in the report", want.line)
			continue
		case got.NotRun != want.notRun || got.Calls != want.runs || got.Failed > 0:
			t.Errorf("line %d: %d runs, not run: %q, failed %d %q; want %d runs, %q", want.line, got.Calls, got.NotRun, got.Failed,
				got.Errors, want.runs, want.notRun)
			continue
		}
		if text := got.Predicted.Partitions + ", " + got.Predicted.Bound; want.foretold != "" && text != want.foretold {
			t.Errorf("line %d: foretold %q, want %q", want.line, text, want.foretold)
		}
		if found := strings.Join(got.Predicted.Findings, "\n"); !strings.Contains(found, want.finding) {
			t.Errorf("line %d: findings %q, want %s", want.line, found, want.finding)
		}
		if want.returned > 0 && got.Most.Returned != want.returned || want.read > 0 && got.Most.Rows != want.read ||
			want.tombstones > 0 && got.Most.Tombstones < want.tombstones || want.nodes > 0 && got.Most.Nodes != want.nodes {
			t.Errorf("line %d: %+v, want %+v", want.line, got.Most, want)
		}
	}
	if !byLine[15].More || byLine[1].More {
		t.Errorf("further pages: %v of the whole table, %v of a page", byLine[15].More, byLine[1].More)
	}
	if len(r.Unread) != 1 || r.Unread[0].Line != 12 || !strings.Contains(r.Unread[0].Reason, "there is no table elsewhere") {
		t.Errorf("not read: %+v, want line 12", r.Unread)
	}
	text := m.mailbench(t, exitOK, explain...)
	for _, want := range []string{
		"STATEMENT ", "PREDICTED ", " TOMBSTONES ", "one partition, limit 25", "not run: it writes",
		"read the most with box='box", file + ":12: not read: there is no table elsewhere",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	prepared := m.mailbench(t, exitOK, "schema", "import", "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--prepared")
	if !strings.Contains(prepared, "kind: put") && !strings.Contains(prepared, "put: messages") ||
		!strings.Contains(prepared, "at: system.prepared_statements:") {
		t.Errorf("import --prepared has no statement that this test has prepared:\n%s", prepared)
	}
	var rows int
	if err := s.Query("SELECT count(*) FROM " + ks + ".messages").Scan(&rows); err != nil || rows != 105 {
		t.Errorf("%d rows after it, %v; want 105 as before", rows, err)
	}
}
