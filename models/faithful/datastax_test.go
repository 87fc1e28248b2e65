package faithful

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// The access patterns of the source design, as CQL. None says ORDER BY: that the
// most recent emails come first is the table's order.
const (
	q1       = `SELECT label, color FROM folders_by_user WHERE username = ?`
	q1Unread = `SELECT label, num_unread FROM unread_email_stats WHERE username = ?`
	q2       = `SELECT id, "from", subject, is_read FROM emails_by_user_folder WHERE username = ? AND label = ?`
	q3       = `SELECT "to", "from", subject, body, attachments FROM emails WHERE id = ?`
	q4       = `SELECT bytes FROM attachments WHERE email_id = ? AND filename = ? AND chunk_number = ?`
)

// kb is the KB of the source design: a chunk is 1000 of them.
const kb = 1024

func TestDataStax(t *testing.T) {
	t.Parallel()
	c := onCassandra(t, datastax.Model(), models.Options{})
	ann, bob := c.user("ann@example.org", "inbox", "work", "archive"), c.user("bob@example.org", "inbox")
	inbox, work, archive := ann.Folders[0], ann.Folders[1], ann.Folders[2]
	carl := mail.Address{Name: "Carl", Address: "carl@example.org"}
	one, three := noise(530*kb), noise(2416*kb)

	_, report := c.deliver(modeltest.Draft{
		From: carl, To: []mail.Address{{Address: "ann@example.org"}, {Address: "bob@example.org"}},
		Subject: "report", Text: []byte("Read this.\n"),
		Files: []modeltest.File{
			{Name: "notes.pdf", Encoding: mail.Base64, Content: one},
			{Name: "film.mp4", Encoding: mail.Base64, Content: three},
		},
	}, inbox, bob.Folders[0])
	_, lunch := c.deliver(modeltest.Draft{From: carl, Subject: "lunch", Text: []byte("At one?")}, inbox)
	_, plan := c.deliver(modeltest.Draft{From: carl, Subject: "plan", Text: []byte("Later.")}, inbox)
	_, old := c.deliver(modeltest.Draft{From: carl, Subject: "old", Text: []byte("Long ago.")}, inbox)
	c.must(c.mailbox.Flag(c.ctx, inbox, lunch[0], models.Seen, true))
	_, err := c.mailbox.(models.Labeler).Label(c.ctx, inbox, plan[0], work, true)
	c.must(err)
	c.must(c.mailbox.Move(c.ctx, inbox, archive, old, make([]models.Handle, 1)))
	c.must(c.mailbox.Delete(c.ctx, bob.Folders[0], report[1:]))

	c.in("created", testCreated)
	c.in("Q1", func(c *cqlsh) {
		want := []row{{"label": "archive", "color": "orange"}, {"label": "inbox", "color": "blue"}, {"label": "work", "color": "green"}}
		if diff := cmp.Diff(want, c.query(q1, ann.Address)); diff != "" {
			c.Errorf("folders (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int64{"archive": 1, "inbox": 2, "work": 1}, c.unread(ann.Address)); diff != "" {
			c.Errorf("unread emails (-want +got):\n%s", diff)
		}
		c.sameFolders(ann)
		c.sameFolders(bob)
	})
	c.in("Q2", func(c *cqlsh) {
		for _, f := range []*models.Folder{inbox, work, archive, bob.Folders[0]} {
			c.sameList(f, f.Name)
		}
		if got := column[string](c.query(q2, ann.Address, "inbox"), "subject"); !slices.Equal(got, []string{"plan", "lunch", "report"}) {
			c.Errorf("the inbox shows %q", got)
		}
	})
	id := c.idOf("report")
	c.in("Q3", func(c *cqlsh) {
		email := c.one(q3, id)
		want := row{
			"to": []string{"ann@example.org", "bob@example.org"}, "from": carl.Address, "subject": "report",
			"body": "Read this.\n", "attachments": map[string]int64{"film.mp4": 2416 * kb, "notes.pdf": 530 * kb},
		}
		if diff := cmp.Diff(want, email); diff != "" {
			c.Errorf("email (-want +got):\n%s", diff)
		}
		o := c.open(inbox, report[0])
		if string(o.Body) != email["body"] || string(o.From) != email["from"] || string(o.Subject) != email["subject"] || len(o.Attachments) != 2 {
			c.Errorf("the model opens %+v", o)
		}
		for _, a := range o.Attachments {
			if a.Size != want["attachments"].(map[string]int64)[a.Name] {
				c.Errorf("the model opens attachment %+v", a)
			}
		}
		if n := len(c.query(`SELECT id FROM emails`)); n != 4 {
			c.Errorf("%d emails are stored, want 4: one that two users were sent is stored once", n)
		}
	})
	c.in("Q4", func(c *cqlsh) {
		for name, want := range map[string]struct {
			content []byte
			chunks  int
		}{"notes.pdf": {one, 1}, "film.mp4": {three, 3}} {
			chunks := c.chunks(id, name)
			if len(chunks) != want.chunks {
				c.Errorf("%s lies in %d chunks, want %d", name, len(chunks), want.chunks)
			}
			for _, full := range chunks[:len(chunks)-1] {
				if len(full) != 1000*kb {
					c.Errorf("a chunk of %s has %d bytes, and more follow", name, len(full))
				}
			}
			whole := bytes.Join(chunks, nil)
			if !bytes.Equal(whole, want.content) || !bytes.Equal(whole, c.attachment(inbox, report[0], name)) {
				c.Errorf("%s differs from the delivered message, or not what the model reads", name)
			}
		}
	})
	c.in("overflow labels", testOverflow)
	c.in("inserted by CQL", testDataStaxInserted)
}

// testOverflow lets the inbox grow into inbox-overflow-1 and -2.
func testOverflow(c *cqlsh) {
	c.mailbox = c.bind(modeltest.Sized(0, 3))
	inbox := c.user("olga@example.org", "inbox").Folders[0]
	for i := range 7 {
		c.deliver(modeltest.Draft{Subject: string(rune('a' + i))}, inbox)
	}
	var shown [][]string
	labels := []string{"inbox-overflow-2", "inbox-overflow-1", "inbox"}
	for _, label := range labels {
		shown = append(shown, column[string](c.query(q2, "olga@example.org", label), "subject"))
	}
	if diff := cmp.Diff([][]string{{"g"}, {"f", "e", "d"}, {"c", "b", "a"}}, shown); diff != "" {
		c.Errorf("the labels %q show (-want +got):\n%s", labels, diff)
	}
	want := map[string]int64{"inbox": 3, "inbox-overflow-1": 3, "inbox-overflow-2": 1}
	if diff := cmp.Diff(want, c.unread("olga@example.org")); diff != "" {
		c.Errorf("unread emails (-want +got):\n%s", diff)
	}
	c.sameList(inbox, labels...)
	if n := c.foldersOf(inbox.Account)["inbox"].Unread; n != 7 || len(c.query(q1, "olga@example.org")) != 1 {
		c.Errorf("the user sees more than one inbox, or not with 7 unread emails, but %d", n)
	}
}

// testDataStaxInserted writes as the source design would, and uses the model on it.
func testDataStaxInserted(c *cqlsh) {
	const user = "eve@example.org"
	id, first, second := gocql.UUIDFromTime(c.now), noise(1000*kb), noise(7)
	c.exec(`INSERT INTO folders_by_user (username, label, color) VALUES (?, 'inbox', 'black')`, user)
	c.exec(`INSERT INTO folders_by_user (username, label, color) VALUES (?, 'done', 'white')`, user)
	c.exec(`INSERT INTO emails (id, "to", "from", subject, body, attachments) VALUES (?, {'eve@example.org'}, 'dan@example.org', 'by hand', 'Hello.', {'a.bin': 1024007})`, id)
	c.exec(`INSERT INTO emails_by_user_folder (username, label, id, "from", subject, is_read) VALUES (?, 'inbox', ?, 'dan@example.org', 'by hand', false)`, user, id)
	c.exec(`UPDATE unread_email_stats SET num_unread = num_unread + 1 WHERE username = ? AND label = 'inbox'`, user)
	c.exec(`INSERT INTO attachments (email_id, filename, chunk_number, bytes) VALUES (?, 'a.bin', 0, ?)`, id, first)
	c.exec(`INSERT INTO attachments (email_id, filename, chunk_number, bytes) VALUES (?, 'a.bin', 1, ?)`, id, second)

	a := c.login(user)
	if len(a.Folders) != 2 {
		c.Fatalf("login finds %d folders, want 2", len(a.Folders))
	}
	inbox, done := a.Folder("inbox"), a.Folder("done")
	c.sameFolders(a)
	c.sameList(inbox, "inbox")
	lines, hs := c.list(inbox, 10)
	if diff := cmp.Diff([]line{{"dan@example.org", "by hand", id.Time().UTC(), 0, false}}, lines); diff != "" {
		c.Fatalf("list (-want +got):\n%s", diff)
	}
	o := c.open(inbox, hs[0])
	if string(o.Body) != "Hello." || len(o.Attachments) != 1 || o.Attachments[0] != (models.AttachmentInfo{Name: "a.bin", Size: 1_024_007}) {
		c.Errorf("open: %+v", o)
	}
	// The source design has no checksums, without which the model trusts no chunk.
	if _, err := c.mailbox.Attachment(c.ctx, inbox, hs[0], "a.bin", &bytes.Buffer{}); !errors.Is(err, models.ErrBroken) {
		c.Errorf("an attachment without checksums: %v, want it to be broken", err)
	}
	for n, chunk := range [][]byte{first, second} {
		c.exec(`UPDATE attachments SET checksum = ? WHERE email_id = ? AND filename = 'a.bin' AND chunk_number = ?`, int64(models.Checksum(0, chunk)), id, n)
	}
	if got := c.attachment(inbox, hs[0], "a.bin"); !bytes.Equal(got, slices.Concat(first, second)) {
		c.Errorf("the attachment has %d bytes and is not what was inserted", len(got))
	}
	// And on: the changes of the model are where the source design has it.
	c.must(c.mailbox.Flag(c.ctx, inbox, hs[0], models.Seen, true))
	c.must(c.mailbox.Move(c.ctx, inbox, done, hs, hs))
	if r := c.one(q2, user, "done"); r["id"] != id || r["is_read"] != true || len(c.query(q2, user, "inbox")) != 0 {
		c.Errorf("after a flag and a move, done shows %v", r)
	}
	if n := c.unread(user)["inbox"]; n != 0 {
		c.Errorf("%d unread emails after the only one was read", n)
	}
}

// unread is the rest of Q1.
func (c *cqlsh) unread(user string) map[string]int64 {
	c.Helper()
	n := make(map[string]int64)
	for _, r := range c.query(q1Unread, user) {
		n[r["label"].(string)] = r["num_unread"].(int64)
	}
	return n
}

// sameFolders checks that the model and Q1 agree on an account without
// overflow labels.
func (c *cqlsh) sameFolders(a *models.Account) {
	c.Helper()
	unread, folders := c.unread(a.Address), c.foldersOf(a)
	labels := c.query(q1, a.Address)
	if len(labels) != len(folders) {
		c.Errorf("%d labels, the model has %d folders", len(labels), len(folders))
	}
	for _, r := range labels {
		label := r["label"].(string)
		if f, ok := folders[label]; !ok || f.Unread != unread[label] {
			c.Errorf("label %s has %d unread emails, the model's folder %+v", label, unread[label], f)
		}
	}
}

// foldersOf returns an account's folders as the model has them.
func (c *cqlsh) foldersOf(a *models.Account) map[string]models.FolderInfo {
	c.Helper()
	folders := make(map[string]models.FolderInfo)
	c.must(c.mailbox.Folders(c.ctx, a, func(f models.FolderInfo) error {
		folders[f.Name] = f
		return nil
	}))
	return folders
}

// sameList checks that the model lists what Q2 returns for its labels, the
// newest label first.
func (c *cqlsh) sameList(f *models.Folder, labels ...string) {
	c.Helper()
	var want []line
	for _, label := range labels {
		for _, r := range c.query(q2, f.Account.Address, label) {
			want = append(want, line{r["from"].(string), r["subject"].(string), r["id"].(gocql.UUID).Time().UTC(), 0, r["is_read"].(bool)})
		}
	}
	if !slices.IsSortedFunc(want, func(a, b line) int { return b.Date.Compare(a.Date) }) {
		c.Errorf("Q2 does not return %q newest first: %v", labels, want)
	}
	if got, _ := c.list(f, 100); !slices.EqualFunc(got, want, func(a, b line) bool { return a == b }) {
		c.Errorf("folder %s: the model lists %v\nQ2 returns %v", f.Name, got, want)
	}
}

// idOf finds an email by its subject, which only a scan can.
func (c *cqlsh) idOf(subject string) gocql.UUID {
	c.Helper()
	for _, r := range c.query(`SELECT id, subject FROM emails`) {
		if r["subject"] == subject {
			return r["id"].(gocql.UUID)
		}
	}
	c.Fatalf("no email has the subject %q", subject)
	return gocql.UUID{}
}

// chunks is Q4 for one chunk after another, until there is none.
func (c *cqlsh) chunks(id gocql.UUID, name string) (chunks [][]byte) {
	c.Helper()
	for {
		rows := c.query(q4, id, name, len(chunks))
		if len(rows) == 0 {
			return chunks
		}
		chunks = append(chunks, rows[0]["bytes"].([]byte))
	}
}
