package faithful

import (
	"bytes"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

// rowMarker is the cell by which the driver sees that a row exists: HBase has
// no rows without cells.
const rowMarker = "\x00"

// putMessage puts a message of one chunk as the source design would.
func (h *hbshell) putMessage(mailbox [16]byte, uid int64, raw []byte) {
	h.Helper()
	h.put("JAMES_MESSAGES", rowKey(mailbox, uid), map[string]map[string][]byte{
		metadata: {rowMarker: {1}, "size": number(int64(len(raw))), "seen": boolean(false), "answered": boolean(false), "flagged": boolean(false)},
		data:     {string(number(1)): raw},
	})
}

// testJamesInserted writes a mailbox and a message of two chunks as the source design
// would, and uses the model on them.
func testJamesInserted(h *hbshell) {
	const user = "eve@example.org"
	id := [16]byte{0: 0x75, 6: 0x40, 8: 0x80, 15: 1} // any UUID
	h.put("JAMES_MAILBOXES", id[:], map[string]map[string][]byte{metadata: {
		rowMarker: {1}, "user": []byte(user), "name": []byte("INBOX"), "last_uid": number(41), "message_count": number(1),
	}})
	inc, err := hrpc.NewIncStrSingle(h.ctx, string(h.table("JAMES_MAILBOXES")), string(id[:]), metadata, "last_uid", 1)
	h.must(err)
	if uid, err := h.Increment(inc); err != nil || uid != 42 {
		h.Fatalf("the next UID is %d, %v", uid, err)
	}
	m := modeltest.Draft{Text: []byte("Good morning.")}.Message()
	raw := rawOf(m)
	each := len(raw) - 10
	date := time.Date(2011, 3, 12, 9, 0, 0, 0, time.UTC)
	row := map[string][]byte{
		rowMarker: {1}, "internal_date": number(date.UnixMicro()), "size": number(int64(len(raw))),
		"seen": boolean(false), "answered": boolean(true), "flagged": boolean(false),
	}
	chunks := map[string][]byte{string(number(1)): raw[:each], string(number(2)): raw[each:]}
	h.put("JAMES_MESSAGES", rowKey(id, 42), map[string]map[string][]byte{metadata: row, data: chunks})

	inbox := h.login(user).Folders[0]
	lines, hs := h.list(inbox, 10)
	if diff := cmp.Diff([]line{{Date: date, Size: int64(len(raw))}}, lines); diff != "" {
		h.Fatalf("list (-want +got):\n%s", diff)
	}
	// How large a chunk is and where the body lies are additions, without which
	// nothing of the message is read.
	if err := h.mailbox.Open(h.ctx, inbox, hs[0], new(models.Opened)); !errors.Is(err, models.ErrBroken) {
		h.Errorf("open without the additions: %v, want it to be broken", err)
	}
	h.put("JAMES_MESSAGES", rowKey(id, 42), map[string]map[string][]byte{metadata: {
		"chunk_size": number(int64(each))[4:], "properties": models.AppendLayout(nil, m, models.Checksum(0, raw)),
	}})
	if o := h.open(inbox, hs[0]); string(o.Body) != "Good morning." || o.Flags != models.Answered || !bytes.Equal(h.raw(inbox, hs[0]), raw) {
		h.Errorf("the model opens %+v", o)
	}
	// And on: the next changes are where the source design has it.
	h.deliver(modeltest.Draft{}, inbox)
	h.areKeys(h.messages(id), rowKey(id, 43), rowKey(id, 42))
	h.must(h.mailbox.Flag(h.ctx, inbox, hs[0], models.Seen, true))
	if r := h.messages(id)[1]; !bytes.Equal(r.cell(metadata, "seen"), boolean(true)) {
		h.Errorf("after it was seen, the message's cell is %x", r.cell(metadata, "seen"))
	}
}
