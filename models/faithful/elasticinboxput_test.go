package faithful

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

// testElasticInboxInserted writes the source design's sample, with a TimeUUID in
// place of the one that is none, and uses the model on it.
func testElasticInboxInserted(c *cqlsh) {
	const user = "user@elasticinbox.com"
	for name, value := range map[string]string{
		"label:0": "all", "label:1": "inbox", "label:2": "drafts", "label:1234": "MyLabel",
		"lattr:1234:color": "Green", "lattr:1234:MyAttribute": "My Text Value",
	} {
		c.exec(`INSERT INTO "Accounts" (key, name, value) VALUES (?, ?, ?)`, user, name, value)
	}
	date := time.Date(2011, 3, 12, 0, 0, 0, 0, time.UTC)
	id := gocql.UUIDFromTime(date.Add(9 * time.Hour))
	m := modeltest.Draft{Date: date, Subject: "Hello world!", Text: []byte("Good morning.")}.Message()
	raw := rawOf(m)
	sub := map[string]string{
		"from": `[["EI Test","test@elasticinbox.com"]]`, "to": `[["Me","user@elasticinbox.com"],["You","you@elasticinbox.com"]]`,
		"subject": "Hello world!", "date": "12 March 2011", "size": fmt.Sprint(len(raw)),
		"location": fmt.Sprintf("blob://db/%s?b=2&s=%d", id, len(raw)-10), "l:0": "true", "l:1": "true", "l:1234": "true",
	}
	for name, value := range sub {
		c.exec(`INSERT INTO "MessageMetadata" (key, message, name, value) VALUES (?, ?, ?, ?)`, user, id, name, []byte(value))
	}
	c.exec(`INSERT INTO "MessageBlob" (message, block, subblock, data) VALUES (?, 0, 0, ?)`, id, raw[:len(raw)-10])
	c.exec(`INSERT INTO "MessageBlob" (message, block, subblock, data) VALUES (?, 1, 0, ?)`, id, raw[len(raw)-10:])
	for _, label := range []string{"0", "1", "1234"} {
		c.exec(`INSERT INTO "IndexLabels" (key, id) VALUES (?, ?)`, user+":"+label, id)
		c.exec(`UPDATE "Counters" SET value = value + 1 WHERE key = ? AND kind = 'l' AND id = ? AND stat = 'm'`, user, label)
		c.exec(`UPDATE "Counters" SET value = value + 1 WHERE key = ? AND kind = 'l' AND id = ? AND stat = 'u'`, user, label)
	}
	c.exec(`UPDATE "Counters" SET value = value + ? WHERE key = ? AND kind = 'l' AND id = '0' AND stat = 'b'`, int64(len(raw)), user)

	a := c.login(user)
	var names []string
	for _, f := range a.Folders {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"inbox", "drafts", "MyLabel"}) {
		c.Fatalf("login finds %q", names)
	}
	mine := a.Folders[2]
	lines, hs := c.list(mine, 10)
	want := []line{{"test@elasticinbox.com", "Hello world!", date, int64(len(raw)), false}}
	if diff := cmp.Diff(want, lines); diff != "" {
		c.Fatalf("list (-want +got):\n%s", diff)
	}
	// Where body and attachments lie in the message is an addition. Without it the model reads
	// the message and finds them itself.
	if o := c.open(mine, hs[0]); string(o.Body) != "Good morning." {
		c.Errorf("the model opens %+v of the source design's own message", o)
	}
	parts := models.AppendLayout(nil, m, models.Checksum(0, raw))
	c.exec(`INSERT INTO "MessageMetadata" (key, message, name, value) VALUES (?, ?, 'parts', ?)`, user, id, parts)
	if o := c.open(mine, hs[0]); string(o.Body) != "Good morning." || !bytes.Equal(c.raw(mine, hs[0]), raw) {
		c.Errorf("the model opens %+v", o)
	}
	// And on: the changes of the model are where the source design has it.
	c.must(c.mailbox.Flag(c.ctx, mine, hs[0], models.Seen, true))
	_, err := c.mailbox.(models.Labeler).Label(c.ctx, mine, hs[0], a.Folders[0], false)
	c.must(err)
	got := map[string]int64{
		"l:0:b": int64(len(raw)), "l:0:m": 1, "l:0:u": 0, "l:1:m": 0, "l:1:u": 0, "l:1234:m": 1, "l:1234:u": 0,
	}
	if diff := cmp.Diff(got, c.counters(user)); diff != "" {
		c.Errorf("counters (-want +got):\n%s", diff)
	}
	if s := c.superColumn(user, id); s["m:1"] != "true" || s["l:1"] != "" || len(c.query(labelIndex, user+":1")) != 0 {
		c.Errorf("after a flag and a label taken off, the message is %q", s)
	}
}
