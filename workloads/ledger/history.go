package ledger

import (
	"fmt"

	"github.com/mailbench/mailbench/models"
)

// History is the result of a ledger: which messages must exist, which must not, and
// which may or may not.
type History struct {
	Entries []Entry       // in order of delivery or arrival in their folder
	at      map[Key]int32 // the entry of a message
	last    Record        // the record read last
	lastOf  int32         // the entry of that record, or -1
	records uint32        // read so far
	unsure  []Delivery    // deliveries of unknown outcome

	Delivered, Deleted int64 // acknowledged
	Unknown            int64 // deliveries and changes whose outcome nobody knows
	Torn               bool  // the last record is not whole
}

// Lacks returns an error if the ledger has fewer records than that.
func (h *History) Lacks(least int64) error {
	if int64(h.records) < least {
		return unfit(fmt.Sprintf("the ledger has %d records, and had at least %d", h.records, least))
	}
	return nil
}

// Lacking is the error for a ledger that has none of so many messages that were loaded.
func Lacking(messages uint64) error {
	return unfit(fmt.Sprintf("the ledger has none of the %d messages that were loaded", messages))
}

// entriesMost is how many entries of messages the folders have at most, second labels and deliveries of
// unknown outcome counted.
func (h *History) entriesMost() int64 {
	n := int64(len(h.unsure))
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.State == Gone || e.State == Superseded {
			continue
		}
		if n++; e.Labelled {
			n++
		}
	}
	return n
}

// Key names a message: its folder and its handle there.
type Key struct {
	Place  Place
	Handle models.Handle
}

// Delivery is a message of that number, delivered into a folder.
type Delivery struct {
	Place Place
	N     uint64
}

// Deliveries yields all deliveries, also those whose outcome is unknown.
func (h *History) Deliveries(yield func(Delivery) bool) {
	for i := range h.Entries {
		if e := &h.Entries[i]; e.from == 0 && !yield(Delivery{e.Place, e.N}) {
			return
		}
	}
	for _, d := range h.unsure {
		if !yield(d) {
			return
		}
	}
}

// Entry is one message in one folder.
type Entry struct {
	Key
	N, Digest uint64
	at, ahead uint32 // its record's number, from 0, and that record's Ahead
	from      int32  // 1 + index of the entry that it was before it moved here; 0: none
	State     State
	Labelled  bool          // a second folder may show it
	Held      models.Packed // as in its Record; 0 in older ledgers
}

// State is what must be true of a message.
type State uint8

// The states.
const (
	Live State = iota // it must exist
	Gone              // it must not exist
	// A change began, and its outcome is not known. The name begins with the state before.
	LiveOrGone
	GoneOrLive
	// The same handle came back to the folder: a later entry has it, or the
	// message is there under a second label.
	Superseded
)

// ReadHistory reads a ledger into a history. It takes about 140 bytes of memory for each
// message.
func ReadHistory(name string) (*History, error) {
	h := &History{at: map[Key]int32{}, lastOf: -1}
	torn, err := read(name, h.apply)
	h.Torn = torn
	for i := range h.Entries {
		if s := h.Entries[i].State; s == LiveOrGone || s == GoneOrLive {
			h.Unknown++
		}
	}
	return h, err
}

func (h *History) apply(r *Record) {
	k, at := Key{r.Place, r.Handle}, h.records
	h.records++
	last, lastOf := h.last, h.lastOf
	h.last, h.lastOf = *r, -1
	switch r.Event {
	case UnknownDelivery:
		h.Unknown++
		h.unsure = append(h.unsure, Delivery{r.Place, r.N})
		return
	case Delivered:
		h.Delivered++
		h.add(Entry{Key: k, N: r.N, Digest: r.Digest, Held: r.Held, at: at, ahead: r.Ahead})
		return
	case Arrived:
		if lastOf < 0 {
			return // the message that was moved has no entry
		}
		was := &h.Entries[lastOf]
		h.add(Entry{Key: k, N: r.N, Digest: was.Digest, Held: was.Held, at: at, ahead: r.Ahead, from: lastOf + 1})
		return
	case Shown:
		if last.Event == Labelled && last.N == r.N && lastOf >= 0 {
			h.mayBeBack(lastOf, r.Place)
		}
	}
	i, ok := h.at[k]
	if !ok {
		return // its delivery was unsure
	}
	e := &h.Entries[i]
	h.lastOf = i
	switch r.Event {
	case Taking:
		if last.Event == Shown && last.N == r.N {
			h.mayBeBack(i, last.Place)
		}
		if e.State == Live {
			e.State = LiveOrGone
		} else {
			e.State = GoneOrLive
		}
	case Kept:
		if e.State == LiveOrGone {
			e.State = Live
		} else {
			e.State = Gone
		}
	case Deleted:
		h.Deleted++
		e.State = Gone
	case Restored:
		e.State = Live
	case Left:
		e.State = Gone
	case Labelled:
		e.Labelled = true
	case Unlabelled:
		e.Labelled = false
	case Shown:
		if e.State == Gone {
			e.State = Superseded
		}
	}
}

// mayBeBack notes that a move or label under way may show a message in a folder that it
// had left. It may have its old handle there.
func (h *History) mayBeBack(i int32, in Place) {
	for j := h.Entries[i].from; j > 0; j = h.Entries[j-1].from {
		if e := &h.Entries[j-1]; e.Place == in && e.State == Gone {
			e.State = Superseded
		}
	}
}

// add adds a message that is new in its folder. In some models, a message that is moved
// away and back has its old handle. Then the new entry supersedes the old one.
func (h *History) add(e Entry) {
	if i, ok := h.at[e.Key]; ok {
		h.Entries[i].State = Superseded
	}
	h.at[e.Key] = int32(len(h.Entries))
	h.Entries = append(h.Entries, e)
}
