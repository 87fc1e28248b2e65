package run

import "github.com/mailbench/mailbench/models"

// history is what a ledger comes to: which messages must be there, which must
// not, and which may be either.
type history struct {
	entries []entry       // in order of delivery or arrival in their folder
	at      map[key]int32 // the entry of a message
	last    record        // the one before
	lastOf  int32         // its entry, or -1
	records uint32        // read so far

	delivered, deleted int64 // acknowledged
	unknown            int64 // deliveries and changes whose outcome nobody knows
	torn               bool
}

type key struct {
	place  place
	handle models.Handle
}

type entry struct {
	key
	n, digest uint64
	at, ahead uint32 // its record's number, from 0, and its records ahead
	from      int32  // 1 + the entry that it was before it moved here; 0: none
	state     state
	labelled  bool // a second folder may show it
}

type state uint8

const (
	live state = iota
	gone
	// A change was begun, and its outcome is not known.
	liveOrGone
	goneOrLive
	// The same handle came back to the folder: a later entry has it, or the
	// message is there under a second label.
	superseded
)

// readHistory folds a ledger, about 140 bytes of memory for each message.
func readHistory(name string) (*history, error) {
	h := &history{at: map[key]int32{}}
	torn, err := readLedger(name, h.apply)
	h.torn = torn
	for i := range h.entries {
		if s := h.entries[i].state; s == liveOrGone || s == goneOrLive {
			h.unknown++
		}
	}
	return h, err
}

func (h *history) apply(r *record) {
	k, at := key{r.place, r.handle}, h.records
	h.records++
	last, lastOf := h.last, h.lastOf
	h.last, h.lastOf = *r, -1
	switch r.event {
	case unsure:
		h.unknown++
		return
	case delivered:
		h.delivered++
		h.add(entry{key: k, n: r.n, digest: r.digest, at: at, ahead: r.ahead})
		return
	case arrived:
		if lastOf < 0 {
			return // it left nothing that was delivered
		}
		h.add(entry{key: k, n: r.n, digest: h.entries[lastOf].digest, at: at, ahead: r.ahead, from: lastOf + 1})
		return
	case shown:
		if last.event == labelled && last.n == r.n && lastOf >= 0 {
			h.mayBeBack(lastOf, r.place)
		}
	}
	i, ok := h.at[k]
	if !ok {
		return // its delivery was unsure
	}
	e := &h.entries[i]
	h.lastOf = i
	switch r.event {
	case taking:
		if last.event == shown && last.n == r.n {
			h.mayBeBack(i, last.place)
		}
		if e.state == live {
			e.state = liveOrGone
		} else {
			e.state = goneOrLive
		}
	case kept:
		if e.state == liveOrGone {
			e.state = live
		} else {
			e.state = gone
		}
	case deleted:
		h.deleted++
		e.state = gone
	case restored:
		e.state = live
	case left:
		e.state = gone
	case labelled:
		e.labelled = true
	case unlabelled:
		e.labelled = false
	case shown:
		if e.state == gone {
			e.state = superseded
		}
	}
}

// mayBeBack notes that a move or label under way may show a message in a folder
// that it had left: there it may have the handle again that it had.
func (h *history) mayBeBack(i int32, in place) {
	for j := h.entries[i].from; j > 0; j = h.entries[j-1].from {
		if e := &h.entries[j-1]; e.place == in && e.state == gone {
			e.state = superseded
		}
	}
}

// add enters a message that is new in its folder. A handle that was there
// before (moved away and back, in models where it stays the same) goes to the
// end, where the newest are.
func (h *history) add(e entry) {
	if i, ok := h.at[e.key]; ok {
		h.entries[i].state = superseded
	}
	h.at[e.key] = int32(len(h.entries))
	h.entries = append(h.entries, e)
}
