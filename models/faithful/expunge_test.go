package faithful

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

// testExpunge deletes ranges of a mailbox whose UUID has messages right before
// and right after it: with the first and the last UIDs that there are, so that
// no key of theirs is further than it must be from its own.
func testExpunge(h *hbshell) {
	a := h.user("expunge@example.org", "INBOX")
	inbox, id := a.Folders[0], h.mailboxOf(a.Address, "INBOX")
	neighbors := [][16]byte{[16]byte(step(id, -1)), [16]byte(step(id, 1))}
	for _, n := range neighbors {
		for _, uid := range []int64{1, 2, 3, 5, 8, math.MaxInt64 - 1, math.MaxInt64} {
			h.putMessage(n, uid, []byte("of a neighbor"))
		}
	}
	for range 8 {
		h.deliver(modeltest.Draft{Text: []byte("text")}, inbox)
	}
	before := h.rowsOf(neighbors)
	for _, x := range []struct {
		from, to uint64
		gone     int
		left     []int64
	}{
		{3, 5, 3, []int64{8, 7, 6, 2, 1}},
		{4, 4, 0, []int64{8, 7, 6, 2, 1}},
		{8, 8, 1, []int64{7, 6, 2, 1}},
		{0, 1, 1, []int64{7, 6, 2}},
		{7, math.MaxInt64, 1, []int64{6, 2}},
		{0, 0, 2, nil}, // all
		{0, 0, 0, nil},
	} {
		gone, err := h.mailbox.(models.UIDs).Expunge(h.ctx, inbox, x.from, x.to)
		h.must(err)
		if gone != x.gone {
			h.Errorf("expunge %d-%d: %d rows are gone, want %d", x.from, x.to, gone, x.gone)
		}
		var left [][]byte
		for _, uid := range x.left {
			left = append(left, rowKey(id, uid))
		}
		h.areKeys(h.messages(id), left...)
		if !slices.EqualFunc(h.rowsOf(neighbors), before, hrow.equal) {
			h.Fatalf("expunge %d-%d changed a neighbor", x.from, x.to)
		}
	}
}

// rowsOf returns the rows of mailboxes, cell by cell.
func (h *hbshell) rowsOf(mailboxes [][16]byte) (rows []hrow) {
	h.Helper()
	for _, id := range mailboxes {
		rows = append(rows, h.messages(id)...)
	}
	return rows
}
