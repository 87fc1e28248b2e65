package ledger

import (
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/models"
)

// uids checks a model's UIDs against what IMAP promises: none is given twice in a
// folder, not even after a deletion, and a message that was acknowledged before the
// delivery of another began has the lower one. The ledger knows which came first.
func (a *Auditor) uids(u models.UIDs) {
	h := a.History
	order := make([]int32, len(h.Entries)) // entries by folder, and within it as acknowledged
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		p, q := h.Entries[x].Place, h.Entries[y].Place
		return cmp.Or(cmp.Compare(p.Account, q.Account), cmp.Compare(p.Folder, q.Folder))
	})
	for len(order) > 0 {
		n := 1
		for n < len(order) && h.Entries[order[n]].Place == h.Entries[order[0]].Place {
			n++
		}
		a.ascend(u, order[:n])
		order = order[n:]
	}
}

// ascend checks the UIDs of one folder.
func (a *Auditor) ascend(u models.UIDs, entries []int32) {
	var highest []uint64 // highest UID among the entries up to each
	given := make(map[uint64]bool, len(entries))
	for _, i := range entries {
		e := &a.History.Entries[i]
		uid := u.UID(e.Handle)
		before, _ := slices.BinarySearchFunc(entries[:len(highest)], e.ahead, func(i int32, ahead uint32) int {
			return cmp.Compare(a.History.Entries[i].at, ahead)
		})
		fault := ""
		switch {
		case given[uid]:
			fault = "was given twice"
		case before > 0 && uid <= highest[before-1]:
			fault = "is below that of a message that was acknowledged before"
		}
		if fault != "" {
			a.found.BadUIDs++
			a.note("UID %d of account %s, folder %s %s", uid, a.Address(int(e.Place.Account)),
				a.Folder(int(e.Place.Account), int(e.Place.Folder)), fault)
		}
		given[uid] = true
		if n := len(highest); n > 0 {
			uid = max(uid, highest[n-1])
		}
		highest = append(highest, uid)
	}
}
