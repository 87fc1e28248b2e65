package faithful

import (
	"slices"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// slice is the query of the source design, whose times are an hour ahead of UTC: its
// message of 07:03:20 has the id 2f3feb0f-9c24-11e2-…, which is 06:03:20.
const slice = `SELECT * FROM messages WHERE conversation_id = ?
	AND message_id > minTimeuuid('2013-04-03 07:04:00+0100')
	AND message_id < maxTimeuuid('2013-04-03 07:10:00+0100')`

func clock(hhmmss string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.9999999 -0700", "2013-04-03 "+hhmmss+" +0100")
	if err != nil {
		panic(err) // the time is a constant in this file
	}
	return t
}

// sent is the source design's conversation. The ids give the time of the first message.
// The messages at the bounds of the slice are our own.
var sent = []struct{ at, content, sender string }{
	{"07:01:00", "Hi!", "ann@example.org"},
	{"07:03:20", "Hello!", "tom@example.org"},
	{"07:03:59.999", "before the slice", "ann@example.org"},
	{"07:04:00", "its first", "ann@example.org"},
	{"07:04:52", "Where are you?", "ann@example.org"},
	{"07:05:01", "in Istanbul", "tom@example.org"},
	{"07:06:32", "wow! how come", "ann@example.org"},
	{"07:10:00.0005", "its last, in the millisecond of the bound", "tom@example.org"},
	{"07:10:00.001", "behind the slice", "tom@example.org"},
}

func TestConversation(t *testing.T) {
	t.Parallel()
	c := onCassandra(t, conversation.Model(), models.Options{})
	ann, bob := c.user("ann@example.org", "tom"), c.user("bob@example.org", "tom")
	chat, other := ann.Folders[0], bob.Folders[0]
	handles := make(map[string]models.Handle) // by content
	for _, s := range sent {
		c.now = clock(s.at).Add(-time.Minute)
		d := modeltest.Draft{
			From: mail.Address{Address: s.sender}, To: []mail.Address{{Address: "ann@example.org"}, {Address: "tom@example.org"}},
			Text: []byte(s.content),
		}
		if s.content == "in Istanbul" {
			d.To = append(d.To, mail.Address{Address: "zoe@example.org"})
			d.Files = []modeltest.File{{Name: "map.txt", Content: []byte("turn left")}}
		}
		to := []*models.Folder{chat}
		if s.content == "Hello!" {
			to = append(to, other)
		}
		_, hs := c.deliver(d, to...)
		handles[s.content] = hs[0]
	}
	id := c.conversationOf(ann.Address, "tom")

	c.in("created", testCreated)
	c.in("newest N", func(c *cqlsh) {
		rows := c.query(`SELECT * FROM messages WHERE conversation_id = ? LIMIT 4`, id)
		c.areLast(rows, sent[5:9])
		got, _ := c.list(chat, 4)
		c.sameLines(got, rows, ann.Address)
	})
	c.in("slice", func(c *cqlsh) {
		rows := c.query(slice, id)
		c.areLast(rows, sent[3:8])
		var got []line
		c.must(c.mailbox.(models.Slicer).Slice(c.ctx, chat, clock("07:04:00"), clock("07:10:00"), 100, func(e *models.Entry) error {
			got = append(got, lineOf(e))
			return nil
		}))
		c.sameLines(got, rows, ann.Address)
	})
	c.in("a message", func(c *cqlsh) {
		r := c.query(`SELECT * FROM messages WHERE conversation_id = ?`, id)[3]
		want := row{
			"conversation_id": id, "message_id": r["message_id"], "title": "tom", "content": "in Istanbul", "sender": "tom@example.org",
			"recipients": []string{"ann@example.org", "tom@example.org", "zoe@example.org"}, "seen_by": []string{},
			"attachments": map[string]string{"map.txt": "turn left"}, "attachment_sizes": map[string]int64{"map.txt": 9},
		}
		if diff := cmp.Diff(want, r); diff != "" {
			c.Errorf("-want +got:\n%s", diff)
		}
		o := c.open(chat, handles["in Istanbul"])
		if string(o.Body) != "in Istanbul" || len(o.Attachments) != 1 || string(c.attachment(chat, o.Handle, "map.txt")) != "turn left" {
			c.Errorf("the model opens %+v", o)
		}
	})
	c.in("by sender", func(c *cqlsh) { testBySender(c, id, chat, other) })
	c.in("seen by", func(c *cqlsh) { testSeenBy(c, id, chat, handles["Hello!"]) })
	c.in("title", func(c *cqlsh) {
		// Static: written without a message, and the same with each of them.
		c.exec(`UPDATE messages SET title = 'Istanbul' WHERE conversation_id = ?`, id)
		if titles := slices.Compact(column[string](c.query(`SELECT title FROM messages WHERE conversation_id = ?`, id), "title")); !slices.Equal(titles, []string{"Istanbul"}) {
			c.Errorf("titles of the conversation: %q", titles)
		}
		joined, err := c.mailbox.(models.Poster).Join(c.ctx, bob, chat)
		if err != nil || joined.Name != "Istanbul" {
			c.Errorf("who joins sees %+v, %v", joined, err)
		}
	})
	c.in("inserted by CQL", testConversationInserted)
}

// testBySender reads every node, and then those of one conversation.
func testBySender(c *cqlsh, id gocql.UUID, chat, other *models.Folder) {
	everywhere := c.query(`SELECT * FROM messages WHERE sender = 'tom@example.org'`)
	here := c.query(`SELECT * FROM messages WHERE conversation_id = ? AND sender = 'tom@example.org'`, id)
	if len(everywhere) != 5 {
		c.Errorf("tom sent %d messages to all, want 5", len(everywhere))
	}
	if got := column[string](here, "content"); !slices.Equal(got, []string{"behind the slice", "its last, in the millisecond of the bound", "in Istanbul", "Hello!"}) {
		c.Errorf("tom sent %q", got)
	}
	for _, x := range []struct {
		folder *models.Folder
		rows   []row
	}{{nil, everywhere}, {chat, here}, {other, c.query(`SELECT * FROM messages WHERE conversation_id = ? AND sender = 'tom@example.org'`, c.conversationOf("bob@example.org", "tom"))}} {
		var got []line
		c.must(c.mailbox.(models.SenderSearcher).BySender(c.ctx, x.folder, "tom@example.org", 100, func(e *models.Entry) error {
			got = append(got, lineOf(e))
			return nil
		}))
		c.sameLines(got, x.rows, "")
	}
}

// testSeenBy lets participants see a message in no order of the alphabet, one
// of them by CQL.
func testSeenBy(c *cqlsh, id gocql.UUID, chat *models.Folder, h models.Handle) {
	seer := c.mailbox.(models.Seer)
	c.must(seer.Seen(c.ctx, chat, h, "zoe@example.org"))
	c.must(c.mailbox.Flag(c.ctx, chat, h, models.Seen, true)) // by ann, whose folder it is
	message := c.query(`SELECT message_id, content FROM messages WHERE conversation_id = ?`, id)
	at := slices.IndexFunc(message, func(r row) bool { return r["content"] == "Hello!" })
	c.exec(`UPDATE messages SET seen_by = seen_by + ['tom@example.org'] WHERE conversation_id = ? AND message_id = ?`, id, message[at]["message_id"])
	c.must(seer.Seen(c.ctx, chat, h, "bob@example.org"))
	want := []string{"zoe@example.org", "ann@example.org", "tom@example.org", "bob@example.org"}
	r := c.one(`SELECT seen_by FROM messages WHERE conversation_id = ? AND message_id = ?`, id, message[at]["message_id"])
	var got []string
	c.must(seer.SeenBy(c.ctx, chat, h, func(who string) error {
		got = append(got, who)
		return nil
	}))
	if !slices.Equal(r["seen_by"].([]string), want) || !slices.Equal(got, want) {
		c.Errorf("seen by %q, the model says %q, want %q", r["seen_by"], got, want)
	}
}

// testConversationInserted writes as the source design does, with ids of its own,
// and uses the model on it.
func testConversationInserted(c *cqlsh) {
	const insert = `INSERT INTO messages (conversation_id, message_id, content, sender, recipients, attachments, seen_by)
		VALUES (04d580b0-9412-11e2-8000-000000009a66, `
	const user = "eve@example.org"
	c.exec(insert + `dbcd9d0f-9c23-11e2-7f7f-7f7f7f7f7f7f, 'Hi!', 'eve@example.org', {'tom@example.org'}, {}, ['tom@example.org', 'eve@example.org'])`)
	c.exec(insert + `2f3feb0f-9c24-11e2-7f7f-7f7f7f7f7f7f, 'Hello!', 'tom@example.org', {'eve@example.org'}, {'cat.txt': 'miaow'}, [])`)
	// The source design has no column for the owner of a conversation.
	c.exec(`INSERT INTO conversations_by_user (user, name, conversation_id, is_inbox) VALUES (?, 'tom', 04d580b0-9412-11e2-8000-000000009a66, true)`, user)

	chat := c.login(user).Folder("tom")
	lines, hs := c.list(chat, 10)
	want := []line{
		{From: "tom@example.org", Date: clock("07:03:20.0009999")},
		{From: user, Date: clock("07:01:00.0009999"), Seen: true},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		c.Fatalf("list (-want +got):\n%s", diff)
	}
	// Which attachments there are is in an extension, without which they can
	// only be read by name.
	o := c.open(chat, hs[0])
	if string(o.Body) != "Hello!" || len(o.Attachments) != 0 || string(c.attachment(chat, hs[0], "cat.txt")) != "miaow" {
		c.Errorf("the model opens %+v", o)
	}
	c.exec(`UPDATE messages SET attachment_sizes = {'cat.txt': 5} WHERE conversation_id = 04d580b0-9412-11e2-8000-000000009a66 AND message_id = 2f3feb0f-9c24-11e2-7f7f-7f7f7f7f7f7f`)
	if o := c.open(chat, hs[0]); !slices.Equal(o.Attachments, []models.AttachmentInfo{{Name: "cat.txt", Size: 5}}) {
		c.Errorf("the model names the attachments %+v", o.Attachments)
	}
	// And on: a message that the model deletes is gone from the source design's table.
	c.must(c.mailbox.Delete(c.ctx, chat, hs[1:]))
	if left := column[string](c.query(`SELECT content FROM messages WHERE conversation_id = 04d580b0-9412-11e2-8000-000000009a66`), "content"); !slices.Equal(left, []string{"Hello!"}) {
		c.Errorf("after the first was deleted the conversation is %q", left)
	}
}

// conversationOf finds the conversation of a user that has this name.
func (c *cqlsh) conversationOf(user, name string) gocql.UUID {
	c.Helper()
	return c.one(`SELECT conversation_id FROM conversations_by_user WHERE user = ? AND name = ?`, user, name)["conversation_id"].(gocql.UUID)
}

// areLast checks that rows are these messages, the last first.
func (c *cqlsh) areLast(rows []row, want []struct{ at, content, sender string }) {
	c.Helper()
	var got []struct{ at, content, sender string }
	for _, r := range slices.Backward(rows) {
		at := r["message_id"].(gocql.UUID).Time().In(clock("00:00:00").Location())
		got = append(got, struct{ at, content, sender string }{at.Format("15:04:05.9999999"), r["content"].(string), r["sender"].(string)})
	}
	if !slices.Equal(got, want) {
		c.Errorf("got %q\nwant, the last first, %q", got, want)
	}
}

// sameLines checks that the model lists what a query returned, as seen by who.
func (c *cqlsh) sameLines(got []line, rows []row, who string) {
	c.Helper()
	want := make([]line, len(rows))
	for i, r := range rows {
		seen := slices.Contains(r["seen_by"].([]string), who)
		want[i] = line{From: r["sender"].(string), Date: r["message_id"].(gocql.UUID).Time().UTC(), Seen: seen}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("the model lists something else (-query +model):\n%s", diff)
	}
}
