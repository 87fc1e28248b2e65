package faithful

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/models/oracle"
)

// sqlshell is the source design of oracle on the Oracle NoSQL Database that tests share, and a bare
// client of the SDK.
type sqlshell struct {
	*world
	*nosqldb.Client
}

func onOracle(t *testing.T) *sqlshell {
	t.Helper()
	contact := live.Contact(t, "oraclenosql")
	w := newWorld(t, oraclenosql.Engine(), contact, oracle.Model(), models.Options{})
	client, err := nosqldb.NewClient(nosqldb.Config{
		Mode: "onprem", Endpoint: "http://" + contact,
		RequestConfig: nosqldb.RequestConfig{Consistency: types.Absolute},
		LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
	})
	w.must(err)
	t.Cleanup(func() { client.Close() })
	return &sqlshell{w, client}
}

// table returns what a table of the source design is called.
func (s *sqlshell) table(name string) string { return drivers.Prefix + s.namespace + "_oracle:" + name }

// sql runs a statement in which users means the namespace's tables, and returns its rows.
func (s *sqlshell) sql(statement string, variables map[string]any) (rows []map[string]any) {
	s.Helper()
	p, err := s.Prepare(&nosqldb.PrepareRequest{Statement: strings.ReplaceAll(statement, "~", s.table(""))})
	s.must(err)
	for name, v := range variables {
		s.must(p.PreparedStatement.SetVariable(name, v))
	}
	q := &nosqldb.QueryRequest{PreparedStatement: &p.PreparedStatement}
	for {
		r, err := s.Query(q)
		s.must(err)
		all, err := r.GetResults()
		s.must(err)
		for _, m := range all {
			rows = append(rows, m.Map())
		}
		if q.IsDone() {
			return rows
		}
	}
}

// plan returns the plan of a statement.
func (s *sqlshell) plan(statement string) string {
	s.Helper()
	r, err := s.Prepare(&nosqldb.PrepareRequest{Statement: strings.ReplaceAll(statement, "~", s.table("")), GetQueryPlan: true})
	s.must(err)
	return r.PreparedStatement.GetQueryPlan()
}

// The source design's questions.
const (
	byAddress = `DECLARE $address STRING; SELECT userID FROM ~users WHERE emailAddress = $address`
	nested    = `DECLARE $user STRING; SELECT u.emailAddress, f.folderName, m.subject
		FROM NESTED TABLES(~users u DESCENDANTS(~users.folder f, ~users.folder.message m)) WHERE u.userID = $user`
	page25 = `DECLARE $user STRING; $folder STRING; SELECT messageId, createdDate, subject FROM ~users.folder.message
		WHERE userID = $user AND folderId = $folder ORDER BY createdDate DESC, messageId DESC LIMIT 25`
)

// TestOracle runs the source design's queries in plain SQL on rows that the model wrote, and the model on
// rows that a bare client wrote.
func TestOracle(t *testing.T) {
	s := onOracle(t)
	ann := s.user("ann@example.org", "Inbox", "Archive")
	s.user("bob@example.org", "Inbox")
	inbox, archive := ann.Folders[0], ann.Folders[1]
	for i := range 40 {
		s.deliver(modeltest.Draft{Subject: fmt.Sprint("letter ", i), Text: []byte("Hello")}, inbox)
	}

	users := s.sql(byAddress, map[string]any{"$address": "ann@example.org"})
	if len(users) != 1 {
		t.Fatalf("the address has %d users", len(users))
	}
	user := users[0]["userID"].(string)
	folders := s.sql(`DECLARE $user STRING; SELECT folderId, folderName FROM ~users.folder WHERE userID = $user ORDER BY folderId`,
		map[string]any{"$user": user})
	var ids []string
	for i, f := range folders {
		if f["folderName"] != ann.Folders[i].Name {
			t.Errorf("folder %v, expected %s", f, ann.Folders[i].Name)
		}
		ids = append(ids, f["folderId"].(string))
	}
	s.samePage(inbox, user, ids[0])

	rows := s.sql(nested, map[string]any{"$user": user})
	letters := 0
	for _, r := range rows {
		if text, ok := r["subject"].(string); ok && r["folderName"] == "Inbox" && strings.HasPrefix(text, "letter ") {
			letters++
		}
	}
	names := map[string]int{}
	s.must(s.mailbox.(models.Nester).Nested(s.ctx, ann, func(folder string, _ *models.Entry) error {
		names[folder]++
		return nil
	}))
	if names["Inbox"] != 40 || names["Archive"] != 1 || len(names) != 2 {
		t.Errorf("the model's nested read has %v", names)
	}
	if letters != 40 || len(rows) != 41 { // and the empty folder
		t.Errorf("the user with folders and messages is %d rows with %d letters, expected 41 with 40", len(rows), letters)
	}

	// The model moves three messages; then a bare client moves them back, in one atomic write.
	_, handles := s.list(inbox, 3)
	s.must(s.mailbox.Move(s.ctx, inbox, archive, handles, make([]models.Handle, 3)))
	if n := len(s.messages(user, ids[1])); n != 3 {
		t.Fatalf("after a move of three messages the archive has %d", n)
	}
	s.moveBack(user, ids[1], ids[0])
	s.samePage(inbox, user, ids[0])
	if lines, _ := s.list(archive, 10); len(lines) != 0 {
		t.Errorf("the archive still has %v", lines)
	}

	// A bare client inserts a message as JSON, as the source design does.
	message, err := types.NewMapValueFromJSON(fmt.Sprintf(`{"userID": %q, "folderId": %q,
		"messageId": "0123456789abcdef0123456789abcdef", "createdDate": "2026-04-01T10:00:00.000001", "from": "tom@example.org",
		"subject": "from JSON", "body": "plain", "size": 5, "isRead": false}`, user, ids[1]))
	s.must(err)
	r, err := s.Put(&nosqldb.PutRequest{TableName: s.table("users.folder.message"), Value: message, ExactMatch: true})
	if s.must(err); !r.Success() {
		t.Fatal("the message was not put")
	}
	lines, handles := s.list(archive, 5)
	want := []line{{
		From: "tom@example.org", Subject: "from JSON", Size: 5,
		Date: time.Date(2026, 4, 1, 10, 0, 0, 1000, time.UTC),
	}}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("the model lists (-want +got):\n%s", d)
	}
	if got := string(s.open(archive, handles[0]).Body); got != "plain" {
		t.Errorf("the model opens %q", got)
	}
	s.pages(user, ids[0])
}

// messages returns the whole messages of a folder.
func (s *sqlshell) messages(user, folder string) []map[string]any {
	s.Helper()
	return s.sql(`DECLARE $user STRING; $folder STRING; SELECT * FROM ~users.folder.message m
		WHERE userID = $user AND folderId = $folder`, map[string]any{"$user": user, "$folder": folder})
}

// samePage compares the newest 25 messages by SQL with those that the model lists.
func (s *sqlshell) samePage(f *models.Folder, user, folder string) {
	s.Helper()
	lines, _ := s.list(f, 25)
	var listed, asked []string
	for _, l := range lines {
		listed = append(listed, l.Subject)
	}
	for _, r := range s.sql(page25, map[string]any{"$user": user, "$folder": folder}) {
		asked = append(asked, r["subject"].(string))
	}
	if !slices.Equal(listed, asked) || len(asked) != 25 {
		s.Errorf("SQL yields\n%q\nthe model lists\n%q", asked, listed)
	}
}

// moveBack moves all messages of a folder with one WriteMultiple.
func (s *sqlshell) moveBack(user, from, to string) {
	s.Helper()
	table, all := s.table("users.folder.message"), &nosqldb.WriteMultipleRequest{}
	for _, row := range s.messages(user, from) {
		m := types.NewMapValue(row)
		key := map[string]any{"userID": user, "folderId": from, "messageId": row["messageId"], "createdDate": row["createdDate"]}
		s.must(all.AddDeleteRequest(&nosqldb.DeleteRequest{TableName: table, Key: types.NewMapValue(key)}, true))
		m.Put("folderId", to)
		s.must(all.AddPutRequest(&nosqldb.PutRequest{TableName: table, Value: m, ExactMatch: true}, true))
	}
	r, err := s.WriteMultiple(all)
	if s.must(err); !r.IsSuccess() {
		s.Fatal("the move was refused")
	}
}

// pages compares the plans of a page of 25 with the index on arrival and without it, and logs
// how long both take.
func (s *sqlshell) pages(user, folder string) {
	s.Helper()
	hint := "SELECT /*+ FORCE_PRIMARY_INDEX(users.folder.message) */"
	without := strings.Replace(page25, "SELECT", hint, 1)
	for statement, sorts := range map[string]bool{page25: false, without: true} {
		if got := strings.Contains(s.plan(statement), `"SORT"`); got != sorts {
			s.Errorf("the plan of %s sorts: %v, expected %v", statement, got, sorts)
		}
	}
	took := make(map[string][]time.Duration)
	for range 21 {
		for name, statement := range map[string]string{"with the index": page25, "without": without} {
			begin := time.Now()
			s.sql(statement, map[string]any{"$user": user, "$folder": folder})
			took[name] = append(took[name], time.Since(begin))
		}
	}
	for name, all := range took {
		slices.Sort(all)
		s.Logf("a page of 25, %s: median %v", name, all[len(all)/2])
	}
}
