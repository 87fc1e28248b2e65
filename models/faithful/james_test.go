package faithful

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// chunk is small, so that a message has more than nine chunks: in any order but
// that of numbers, 10 comes before 2.
const chunk = 100

func TestJames(t *testing.T) {
	t.Parallel()
	h := onHBase(t, james.Model(), modeltest.Sized(chunk, 0))
	ann := h.user("ann@example.org", "INBOX", "Archive")
	inbox, archive := ann.Folders[0], ann.Folders[1]
	small := modeltest.Draft{Subject: "small"}
	long := modeltest.Draft{Subject: "long", Text: bytes.Repeat([]byte("0123456789abcde\n"), 80)}
	first, _ := h.deliver(long, inbox)
	_, moved := h.deliver(small, inbox)
	third, hs := h.deliver(long, inbox)
	h.must(h.mailbox.Flag(h.ctx, inbox, hs[0], models.Seen, true))
	h.must(h.mailbox.Flag(h.ctx, inbox, hs[0], models.Flagged, true))
	h.must(h.mailbox.Flag(h.ctx, inbox, hs[0], models.Deleted, true))
	h.must(h.mailbox.(models.UserFlagger).UserFlag(h.ctx, inbox, hs[0], "$Forwarded", true))
	h.must(h.mailbox.Move(h.ctx, inbox, archive, moved, moved))
	id := h.mailboxOf(ann.Address, "INBOX")

	h.in("mailboxes", func(h *hbshell) {
		rows := h.scan("JAMES_MAILBOXES", nil, nil)
		if len(rows) != 2 {
			h.Errorf("%d rows, want one for each mailbox", len(rows))
		}
		r := rows[slices.IndexFunc(rows, func(r hrow) bool { return bytes.Equal(r.key, id[:]) })]
		want := map[string][]byte{"user": []byte(ann.Address), "name": []byte("INBOX"), "last_uid": number(3), "message_count": number(2)}
		if diff := cmp.Diff(want, r.family(metadata)); diff != "" {
			h.Errorf("the inbox (-want +got):\n%s", diff)
		}
	})
	h.in("messages", func(h *hbshell) {
		rows := h.messages(id, of(metadata))
		h.areKeys(rows, rowKey(id, 3), rowKey(id, 1))
		h.sameUIDs(inbox, id)
		for i, m := range []*mail.Message{third, first} {
			got := rows[i].family(metadata)
			delete(got, "properties") // an addition
			if i == 0 && string(got["user_flags"]) != "$Forwarded" {
				h.Errorf("the flags of users are %q", got["user_flags"])
			}
			delete(got, "user_flags") // an addition
			want := map[string][]byte{
				"internal_date": got["internal_date"], "size": number(m.Raw.Size()), "chunk_size": {0, 0, 0, chunk},
				"seen": boolean(i == 0), "answered": boolean(false), "flagged": boolean(i == 0),
				"deleted": boolean(i == 0), "draft": boolean(false),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				h.Errorf("metadata of message %d (-want +got):\n%s", i, diff)
			}
		}
		lines, _ := h.list(inbox, 10)
		if len(lines) != len(rows) {
			h.Fatalf("the model lists %d messages, %d have rows", len(lines), len(rows))
		}
		for i, l := range lines {
			r := rows[i].family(metadata)
			micros := int64(binary.BigEndian.Uint64(r["internal_date"]))
			if l.Size != int64(binary.BigEndian.Uint64(r["size"])) || l.Seen != (r["seen"][0] != 0) || l.Date.UnixMicro() != micros {
				h.Errorf("the model lists %+v, the row is %q", l, r)
			}
		}
	})
	h.in("data", func(h *hbshell) {
		rows := h.messages(id, of(data))
		for i, m := range []*mail.Message{third, first} {
			var whole []byte
			for n, c := range rows[i].cells {
				if !bytes.Equal(c.Qualifier, number(int64(n+1))) {
					h.Errorf("column %d of message %d is named %x, want %x", n+1, i, c.Qualifier, number(int64(n+1)))
				}
				whole = append(whole, c.Value...)
			}
			if len(rows[i].cells) < 12 || !bytes.Equal(whole, rawOf(m)) {
				h.Errorf("the %d columns of message %d are not the message", len(rows[i].cells), i)
			}
		}
		if !bytes.Equal(h.raw(inbox, hs[0]), rawOf(third)) {
			h.Error("the model reads something else")
		}
	})
	h.in("a move", func(h *hbshell) {
		to := h.mailboxOf(ann.Address, "Archive")
		h.areKeys(h.messages(to), rowKey(to, 1))
		h.sameUIDs(archive, to)
	})
	h.in("subscriptions", func(h *hbshell) {
		s := h.mailbox.(models.Subscriber)
		for _, folder := range []string{"INBOX", "Lists", "Archive"} {
			h.must(s.Subscribe(h.ctx, ann, folder, true))
		}
		h.must(s.Subscribe(h.ctx, ann, "Lists", false))
		rows := h.scan("JAMES_SUBSCRIPTIONS", nil, nil)
		if len(rows) != 1 || string(rows[0].key) != ann.Address {
			h.Fatalf("%d rows, want one of the user", len(rows))
		}
		var model []string
		h.must(s.Subscriptions(h.ctx, ann, func(folder string) error {
			model = append(model, folder)
			return nil
		}))
		if got := slices.Sorted(maps.Keys(rows[0].family(metadata))); !slices.Equal(got, []string{"Archive", "INBOX"}) || !slices.Equal(got, model) {
			h.Errorf("subscribed to %q, the model says %q", got, model)
		}
	})
	h.in("one put", testOnePut)
	h.in("UIDs", testUIDs)
	h.in("expunge", testExpunge)
	h.in("put by gohbase", testJamesInserted)
}

// testOnePut: a message of one chunk is one put over both families, so that
// HBase stamps all its cells alike.
func testOnePut(h *hbshell) {
	h.mailbox = h.bind(models.Options{})
	a := h.user("one@example.org", "INBOX")
	m, _ := h.deliver(modeltest.Draft{Text: []byte("one chunk")}, a.Folders[0])
	rows := h.messages(h.mailboxOf(a.Address, "INBOX"))
	if len(rows) != 1 || !bytes.Equal(rows[0].cell(data, string(number(1))), rawOf(m)) {
		h.Fatalf("%d rows, want one with the message in column 1", len(rows))
	}
	for _, c := range rows[0].cells {
		if *c.Timestamp != *rows[0].cells[0].Timestamp {
			h.Errorf("cell %s:%q was put apart from the others", c.Family, c.Qualifier)
		}
	}
}

// testUIDs brings a mailbox to UIDs of all sizes by plain puts of its last one.
func testUIDs(h *hbshell) {
	a := h.user("uids@example.org", "INBOX")
	inbox, id := a.Folders[0], h.mailboxOf(a.Address, "INBOX")
	uids := []int64{1, 2, 255, 256, 1<<31 - 1, 1 << 31, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	var keys [][]byte
	for _, uid := range uids {
		h.put("JAMES_MAILBOXES", id[:], map[string]map[string][]byte{metadata: {"last_uid": number(uid - 1)}})
		_, hs := h.deliver(modeltest.Draft{}, inbox)
		if got := h.mailbox.(models.UIDs).UID(hs[0]); got != uint64(uid) {
			h.Errorf("after UID %d comes %d", uid-1, got)
		}
		keys = append(keys, rowKey(id, uid))
	}
	slices.Reverse(keys)
	h.areKeys(h.messages(id), keys...)
	h.sameUIDs(inbox, id)
	if key := fmt.Sprintf("%x", keys[0][16:]); key != "0000000000000000" {
		h.Errorf("the key of UID 2^63-1 ends in %s", key)
	}
	// UID 0 is given to no message, but its key is the last of a mailbox.
	h.putMessage(id, 0, []byte("by hand"))
	h.areKeys(h.messages(id), append(keys, rowKey(id, 0))...)
	h.sameUIDs(inbox, id)
}

// mailboxOf finds a user's mailbox by a scan of all, as the source design must.
func (h *hbshell) mailboxOf(user, name string) (id [16]byte) {
	h.Helper()
	for _, r := range h.scan("JAMES_MAILBOXES", nil, nil) {
		if string(r.cell(metadata, "user")) == user && string(r.cell(metadata, "name")) == name {
			return [16]byte(r.key)
		}
	}
	h.Fatalf("%s has no mailbox %s", user, name)
	return id
}

// areKeys checks which rows a scan has returned, in which order.
func (h *hbshell) areKeys(rows []hrow, want ...[]byte) {
	h.Helper()
	var got [][]byte
	for _, r := range rows {
		got = append(got, r.key)
	}
	if !slices.EqualFunc(got, want, bytes.Equal) {
		h.Errorf("rows are\n%x\nwant\n%x", got, want)
	}
}

// sameUIDs checks that the model lists the messages whose rows a plain scan of
// the mailbox returns, in the same order.
func (h *hbshell) sameUIDs(f *models.Folder, id [16]byte) {
	h.Helper()
	_, hs := h.list(f, 1000)
	var want [][]byte
	for _, m := range hs {
		want = append(want, rowKey(id, int64(h.mailbox.(models.UIDs).UID(m))))
	}
	h.areKeys(h.messages(id), want...)
}
