package ledger

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/plan"
)

// History is the result of a ledger: which messages must exist, which must not, and
// which may or may not.
type History struct {
	Entries []Entry       // in order of delivery or arrival in their folder
	at      map[Key]int32 // the entry of a message
	last    Record        // the record read last
	lastOf  int32         // the entry of that record, or -1
	Records uint32        // read so far
	unsure  []uint64      // numbers of the messages whose delivery has an unknown outcome

	Delivered, Deleted int64 // acknowledged
	Unknown            int64 // deliveries and changes of unknown outcome
	Torn               bool  // the last record is not whole
}

// Key names a message: its folder and its handle there.
type Key struct {
	Place  Place
	Handle models.Handle
}

// Loaded returns the numbers of the messages that a load has delivered, in ascending order, also those whose outcome is
// unknown: they are not delivered again.
func (h *History) Loaded() []uint64 {
	all := slices.DeleteFunc(slices.Clone(h.unsure), func(n uint64) bool { return !plan.OfLoad(n) })
	for i := range h.Entries {
		if n := h.Entries[i].N; plan.OfLoad(n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // one that was moved has several entries
}

// Entry is one message in one folder.
type Entry struct {
	Key
	N, Digest uint64
	at, ahead uint32 // its record's number, from 0, and that record's Ahead
	from      int32  // 1 + index of the entry that it was before it moved here; 0: none
	State     State
	Labeled   bool          // a second folder may show it
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

// becomes has the state of a message after an event, by the one before, in the order of the states; nil: it stays.
var becomes = [lastEvent + 1]*[Superseded + 1]State{
	Taking:   {LiveOrGone, GoneOrLive, GoneOrLive, GoneOrLive, GoneOrLive},
	Kept:     {Gone, Gone, Live, Gone, Gone},
	Deleted:  {Gone, Gone, Gone, Gone, Gone},
	Restored: {Live, Live, Live, Live, Live},
	Left:     {Gone, Gone, Gone, Gone, Gone},
	Shown:    {Live, Superseded, LiveOrGone, GoneOrLive, Superseded},
}

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
	k, at := Key{r.Place, r.Handle}, h.Records
	h.Records++
	last, lastOf := h.last, h.lastOf
	h.last, h.lastOf = *r, -1
	switch r.Event {
	case UnknownDelivery:
		h.Unknown++
		h.unsure = append(h.unsure, r.N)
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
		h.add(Entry{Key: k, N: was.N, Digest: was.Digest, Held: was.Held, at: at, ahead: r.Ahead, from: lastOf + 1})
		return
	case Shown:
		if last.Event == Labeled && last.N == r.N && lastOf >= 0 {
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
	case Deleted:
		h.Deleted++
	case Labeled, Unlabeled:
		e.Labeled = r.Event == Labeled
	}
	if to := becomes[r.Event]; to != nil {
		e.State = to[e.State]
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

// The records of a ledger are a chain: the CRC-32C of each begins with that of the record before.
// So a record that is taken out, changed or moved is found.

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	firstLink  = crc32.Checksum([]byte("mailbench ledger"), castagnoli) // before the first record
)

// sumOf is the checksum that a record has.
func sumOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[recordSize-4:]) }

// link enters the checksums of encoded records, which follow a record with the checksum before. It
// returns the last.
func link(before uint32, records []byte) uint32 {
	for ; len(records) > 0; records = records[recordSize:] {
		before = crc32.Update(before, castagnoli, records[:recordSize-4])
		binary.LittleEndian.PutUint32(records[recordSize-4:], before)
	}
	return before
}

// uids checks a model's UIDs against what IMAP promises: none is given twice in a
// folder, not even after a deletion, and a message that was acknowledged before the
// delivery of another began has the lower one. The ledger knows which came first.
func (a *Auditor) uids(u models.UIDs) {
	all := a.History.Entries
	order := make([]int32, len(all)) // by folder
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		p, q := all[x].Place, all[y].Place
		return cmp.Or(cmp.Compare(p.Account, q.Account), cmp.Compare(p.Folder, q.Folder))
	})
	var given map[uint64]bool
	var at []uint32      // the records of the folder's entries
	var highest []uint64 // highest UID among the entries up to each
	for n, i := range order {
		e := &all[i]
		if n == 0 || all[order[n-1]].Place != e.Place {
			given, at, highest = map[uint64]bool{}, at[:0], highest[:0]
		}
		uid := u.UID(e.Handle)
		before, _ := slices.BinarySearch(at, e.ahead)
		fault := ""
		switch {
		case given[uid]:
			fault = "was given twice"
		case before > 0 && uid <= highest[before-1]:
			fault = "is below that of a message that was acknowledged before"
		}
		if fault != "" {
			a.Found.BadUIDs++
			a.note("UID %d of %v %s", uid, e.Place, fault)
		}
		given[uid] = true
		if n := len(highest); n > 0 {
			uid = max(uid, highest[n-1])
		}
		at, highest = append(at, e.at), append(highest, uid)
	}
}
