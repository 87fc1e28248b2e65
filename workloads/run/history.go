package run

import "github.com/mailbench/mailbench/models"

// history is what a ledger comes to: which messages must be there, which must
// not, and which may be either.
type history struct {
	entries []entry       // in order of delivery or arrival in their folder
	at      map[key]int32 // the entry of a message
	moving  uint64        // digest of the message that left in the record before
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
	switch r.event {
	case unsure:
		h.unknown++
		return
	case delivered:
		h.delivered++
		h.add(entry{key: k, n: r.n, digest: r.digest, at: at, ahead: r.ahead})
		return
	case arrived:
		h.add(entry{key: k, n: r.n, digest: h.moving, at: at, ahead: r.ahead})
		return
	}
	i, ok := h.at[k]
	if !ok {
		return // its delivery was unsure
	}
	e := &h.entries[i]
	switch r.event {
	case taking:
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
		h.moving, e.state = e.digest, gone
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
