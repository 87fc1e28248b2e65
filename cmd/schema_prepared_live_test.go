package cmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch/live"
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

// TestImportPreparedLive: import reads the statements that clients of a keyspace have prepared.
func TestImportPreparedLive(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	s, err := live.CQL(t).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ks := "boxes_" + randomWord(t)
	fillBoxes(t, s, ks)
	m := &loaded{}
	prepared := m.mailbench(t, exitOK, "schema", "import", "-e", "cassandra", "--contact", contact, "--keyspace", ks, "--prepared")
	if !strings.Contains(prepared, "kind: put") && !strings.Contains(prepared, "put: messages") ||
		!strings.Contains(prepared, "at: system.prepared_statements:") {
		t.Errorf("import --prepared has no statement that this test has prepared:\n%s", prepared)
	}
}
