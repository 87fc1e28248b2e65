package faithful

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// These statements do as CQL what the source design of elasticinbox does: a row of a column family is a partition, a
// super column's sub-columns are rows.
const (
	labelIndex   = `SELECT id FROM "IndexLabels" WHERE key = ? ORDER BY id DESC LIMIT 25`
	purgeIndex   = `SELECT id, value FROM "IndexLabels" WHERE key = ?`
	superColumns = `SELECT message, name, value FROM "MessageMetadata" WHERE key = ? AND message IN ?`
	blockOf      = `SELECT subblock, data FROM "MessageBlob" WHERE message = ? AND block = ?`
	countersOf   = `SELECT kind, id, stat, value FROM "Counters" WHERE key = ?`
	accountOf    = `SELECT name, value FROM "Accounts" WHERE key = ?`
)

func TestElasticInbox(t *testing.T) {
	t.Parallel()
	c := onCassandra(t, elasticinbox.Model(), models.Options{})
	const user = "ann@example.org"
	ann := c.user(user, "inbox", "drafts", "Trips")
	inbox, trips := ann.Folders[0], ann.Folders[2]
	day := func(n int) time.Time { return time.Date(2026, 2, n, 12, 0, 0, 0, time.UTC) }
	draft := func(date time.Time, subject string, text []byte) modeltest.Draft {
		return modeltest.Draft{
			Date: date, From: mail.Address{Name: "EI Test", Address: "test@example.org"},
			To: []mail.Address{{Name: "Me", Address: user}, {Address: "you@example.org"}}, Subject: subject, Text: text,
		}
	}
	// Delivered in another order than that of their dates, which counts.
	large, _ := c.deliver(draft(day(3), "large", bytes.Repeat([]byte("0123456789abcde\n"), 20_000)), inbox)
	first, read := c.deliver(draft(day(1), "first", []byte("one")), inbox)
	gone, deleted := c.deliver(draft(day(2), "gone", []byte("two")), inbox)
	last, moved := c.deliver(draft(day(4), "last", []byte("three")), inbox)
	c.must(c.mailbox.Flag(c.ctx, inbox, read[0], models.Seen, true))
	_, err := c.mailbox.(models.Labeler).Label(c.ctx, inbox, read[0], trips, true)
	c.must(err)
	c.must(c.mailbox.Move(c.ctx, inbox, trips, moved, moved))
	c.must(c.mailbox.Delete(c.ctx, inbox, deleted))

	c.in("created", testCreated)
	c.in("accounts", func(c *cqlsh) {
		want := []row{{"name": "label:0", "value": "all"}, {"name": "label:1", "value": "inbox"}, {"name": "label:2", "value": "drafts"}}
		got := c.query(accountOf, user)
		slices.SortFunc(got, func(a, b row) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
		at := slices.IndexFunc(got, func(r row) bool { return r["value"] == "Trips" })
		if at < 0 || len(got) != 4 {
			c.Fatalf("labels are %v", got)
		}
		if diff := cmp.Diff(want, slices.Delete(got, at, at+1)); diff != "" {
			c.Errorf("labels (-want +got):\n%s", diff)
		}
	})
	c.in("label index → messages", func(c *cqlsh) {
		if got := c.subjects(user, labelIndex, user+":0"); !slices.Equal(got, []string{"last", "large", "first"}) {
			c.Errorf("label 0 shows %q", got)
		}
		c.sameMessages(inbox, c.labelOf(user, "inbox"))
		c.sameMessages(trips, c.labelOf(user, "Trips"))
		if lines, _ := c.list(inbox, 10); len(lines) != 2 {
			c.Errorf("the inbox has %d messages, want 2", len(lines))
		}
	})
	c.in("metadata", func(c *cqlsh) {
		id := c.find(user, "first")
		got := c.superColumn(user, id)
		delete(got, "parts") // an addition
		want := map[string]string{
			"from": `[["EI Test","test@example.org"]]`, "to": `[["Me","ann@example.org"],["","you@example.org"]]`,
			"subject": "first", "date": "2026-02-01T12:00:00Z", "size": fmt.Sprint(len(rawOf(first))),
			"location": "blob://db/" + id.String() + "?b=1&s=131072",
			"l:0":      "true", "l:1": "true", "l:" + c.labelOf(user, "Trips"): "true", "m:1": "true",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			c.Errorf("sub-columns (-want +got):\n%s", diff)
		}
		if date := id.Time(); !date.Equal(day(1)) {
			c.Errorf("the message's UUID is of %v, its date is %v", date, day(1))
		}
	})
	c.in("blocks", func(c *cqlsh) {
		id := c.find(user, "large")
		blocks := c.blocks(id)
		if len(blocks) != 3 || len(blocks[0]) != 128*kb || len(blocks[1]) != 128*kb {
			c.Errorf("a message of %d bytes lies in %d blocks, want 3 of at most 128 KiB", large.Raw.Size(), len(blocks))
		}
		if !bytes.Equal(bytes.Join(blocks, nil), rawOf(large)) {
			c.Error("the blocks put together are not the message")
		}
		if _, hs := c.list(inbox, 1); !bytes.Equal(c.raw(inbox, hs[0]), bytes.Join(blocks, nil)) {
			c.Error("the model reads something else than the blocks")
		}
		if want := fmt.Sprintf("blob://db/%s?b=3&s=131072", id); c.superColumn(user, id)["location"] != want {
			c.Errorf("its location is %q, want %q", c.superColumn(user, id)["location"], want)
		}
	})
	c.in("counters", func(c *cqlsh) {
		label := c.labelOf(user, "Trips")
		want := map[string]int64{
			"l:0:b": large.Raw.Size() + first.Raw.Size() + last.Raw.Size(), "l:0:m": 3, "l:0:u": 2,
			"l:1:m": 2, "l:1:u": 1, "l:" + label + ":m": 2, "l:" + label + ":u": 1,
		}
		if diff := cmp.Diff(want, c.counters(user)); diff != "" {
			c.Errorf("counters (-want +got):\n%s", diff)
		}
		for _, f := range []*models.Folder{inbox, trips} {
			st, err := c.mailbox.Stats(c.ctx, f)
			c.must(err)
			if key := "l:" + c.labelOf(user, f.Name); st.Messages != want[key+":m"] || st.Unread != want[key+":u"] {
				c.Errorf("the model's numbers of %s are %+v", f.Name, st)
			}
		}
	})
	c.in("purge index", func(c *cqlsh) {
		deletion := c.one(purgeIndex, user+":purge")
		id := c.find(user, "gone")
		if deletion["value"] != id || !deletion["id"].(gocql.UUID).Time().Equal(c.now) {
			c.Errorf("the deletion is %v, want message %s at %v", deletion, id, c.now)
		}
		got := c.superColumn(user, id)
		if got["l:0"] != "true" || got["l:1"] != "true" || !bytes.Equal(bytes.Join(c.blocks(id), nil), rawOf(gone)) {
			c.Errorf("a deleted message keeps its metadata and its blocks, but there are %q", got)
		}
		n, err := c.mailbox.(models.Purger).Purge(c.ctx, ann, c.now.Add(time.Minute))
		c.must(err)
		if n != 1 || len(c.query(purgeIndex, user+":purge")) != 0 || len(c.superColumn(user, id)) != 0 || len(c.blocks(id)) != 0 {
			c.Errorf("a purge of %d messages leaves some of it", n)
		}
	})
	c.in("inserted by CQL", testElasticInboxInserted)
}

// superColumn returns the sub-columns of a message.
func (c *cqlsh) superColumn(user string, id gocql.UUID) map[string]string {
	c.Helper()
	sub := make(map[string]string)
	for _, r := range c.query(superColumns, user, []gocql.UUID{id}) {
		sub[r["name"].(string)] = string(r["value"].([]byte))
	}
	return sub
}

// subjects returns the subjects of the messages in an index.
func (c *cqlsh) subjects(user, index, key string) (subjects []string) {
	c.Helper()
	for _, id := range column[gocql.UUID](c.query(index, key), "id") {
		subjects = append(subjects, c.superColumn(user, id)["subject"])
	}
	return subjects
}

// find finds a message by its subject.
func (c *cqlsh) find(user, subject string) gocql.UUID {
	c.Helper()
	for _, r := range c.query(`SELECT message, name, value FROM "MessageMetadata" WHERE key = ?`, user) {
		if r["name"] == "subject" && string(r["value"].([]byte)) == subject {
			return r["message"].(gocql.UUID)
		}
	}
	c.Fatalf("no message has the subject %q", subject)
	return gocql.UUID{}
}

// labelOf returns the number of a label of that name.
func (c *cqlsh) labelOf(user, name string) string {
	c.Helper()
	for _, r := range c.query(accountOf, user) {
		if id, ok := strings.CutPrefix(r["name"].(string), "label:"); ok && r["value"] == name {
			return id
		}
	}
	c.Fatalf("no label is called %q", name)
	return ""
}

// blocks returns a message's blocks, from 0 until there is none.
func (c *cqlsh) blocks(id gocql.UUID) (blocks [][]byte) {
	c.Helper()
	for {
		rows := c.query(blockOf, id, len(blocks))
		if len(rows) == 0 {
			return blocks
		}
		var block []byte
		for _, r := range rows {
			block = append(block, r["data"].([]byte)...)
		}
		blocks = append(blocks, block)
	}
}

// counters returns an account's counters by the names of the source design.
func (c *cqlsh) counters(user string) map[string]int64 {
	c.Helper()
	n := make(map[string]int64)
	for _, r := range c.query(countersOf, user) {
		n[fmt.Sprintf("%s:%s:%s", r["kind"], r["id"], r["stat"])] = r["value"].(int64)
	}
	return n
}

// sameMessages checks that the model lists what a label's index and the super
// columns of its messages say.
func (c *cqlsh) sameMessages(f *models.Folder, label string) {
	c.Helper()
	var want []line
	for _, id := range column[gocql.UUID](c.query(labelIndex, f.Account.Address+":"+label), "id") {
		sub := c.superColumn(f.Account.Address, id)
		var from [][2]string
		c.must(json.Unmarshal([]byte(sub["from"]), &from))
		date, err := time.Parse(time.RFC3339Nano, sub["date"])
		c.must(err)
		l := line{From: from[0][1], Subject: sub["subject"], Date: date.UTC(), Seen: sub["m:1"] == "true"}
		_, err = fmt.Sscan(sub["size"], &l.Size)
		c.must(err)
		want = append(want, l)
	}
	if !slices.IsSortedFunc(want, func(a, b line) int { return b.Date.Compare(a.Date) }) {
		c.Errorf("the index of label %s is not in the order of the messages' dates: %v", label, want)
	}
	got, _ := c.list(f, 25)
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("folder %s (-queries +model):\n%s", f.Name, diff)
	}
}
