package modeltest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Order is what a model sorts a folder by, newest first.
type Order uint8

// The orders.
const (
	ByDelivery Order = 1 + iota // time of delivery, kept by a move; then order of delivery
	ByDate                      // the message's own date; then order of delivery
	ByArrival                   // arrival in the folder: a move makes it the newest
)

// Traits are the properties of a model that its source design states and no method returns.
type Traits struct {
	Order Order
	// OneMessage: several folders can show one message. They share its flags, and Delete
	// removes it from all of them.
	OneMessage bool
	// KeepsBodies: a delivery is one email, whatever folders show it. A folder shows it once.
	// An email that no folder shows any more stays, and the audit counts it. Such a model is a
	// models.Keeper.
	KeepsBodies bool
	// WholeRows: a message is one row with its attachments, which the client holds while it
	// writes the row.
	WholeRows bool
	// DeletesIf: a delete is one write that is applied only if the messages are there. It reads nothing first.
	DeletesIf bool
	// MoveReads is the pattern by which a move reads, piece by piece, the bytes that it writes
	// again; "" if there is none.
	MoveReads string
}

// reference is the mail that a store must hold: slices in memory, searched from end to end. The
// methods of a differential change it as they change the model's mailbox.
type reference struct {
	Traits
	accounts  []*account
	delivered int    // messages, each counted once
	last      uint64 // number of the last state
	// left is how many unreferenced bodies an audit counted after deliveries that failed halfway. They are no fault.
	left int64
}

type account struct {
	got     *models.Account
	address string
	folders []*folder
	subs    []string
	mail    []*entry // all that is not deleted, whichever folders show it: as it came
	deleted []deletion
}

// folder is a folder of an account. Accounts that share one share its box.
type folder struct {
	*box
	name string
	got  *models.Folder
	in   *account
}

type box struct {
	entries []*entry
	came    uint64 // number of entries that have come
	uid     uint64 // the last UID that the model gave
}

// entry is a message in a folder.
type entry struct {
	*state
	got   models.Handle
	place uint64 // ascends in the order in which entries come into the box
}

// state is a message with its flags and viewers: of one entry, or of all entries of the message.
type state struct {
	*mail.Message
	at     time.Time
	number uint64 // ascends in the order of delivery
	flags  models.Flag
	named  []string // flags that users name
	seenBy []string
}

// message is an entry and the folder whose entry it is or was.
type message struct {
	*entry
	in *folder
}

type deletion struct {
	at      time.Time
	came    *entry // of the account's mail
	folders []*folder
	entries []*entry
}

func (r *reference) number() uint64 {
	r.last++
	return r.last
}

// account returns the account of an address, or nil.
func (r *reference) account(address string) *account {
	i := slices.IndexFunc(r.accounts, func(a *account) bool { return a.address == address })
	if i < 0 {
		return nil
	}
	return r.accounts[i]
}

func (a *account) folder(name string) *folder {
	i := slices.IndexFunc(a.folders, func(f *folder) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return a.folders[i]
}

func (a *account) add(name string) *folder {
	f := &folder{&box{}, name, nil, a}
	a.folders = append(a.folders, f)
	return f
}

// use makes later calls use the model's account got.
func (a *account) use(got *models.Account) {
	a.got = got
	for _, f := range a.folders {
		f.got = got.Folder(f.name)
	}
}

// put adds an entry to a box. If it shows the same message already, put returns that entry.
func (b *box) put(st *state) *entry {
	if e := b.entry(st); e != nil {
		return e
	}
	b.came++
	e := &entry{state: st, place: b.came}
	b.entries = append(b.entries, e)
	return e
}

// entry returns the entry of the same message, or nil.
func (b *box) entry(st *state) *entry {
	i := slices.IndexFunc(b.entries, func(e *entry) bool { return e.number == st.number })
	if i < 0 {
		return nil
	}
	return b.entries[i]
}

func (b *box) drop(e *entry) {
	b.entries = slices.DeleteFunc(b.entries, func(x *entry) bool { return x == e })
}

// has returns ErrNotFound if a message is not in the box, or is named twice.
func (b *box) has(ms []message) error {
	for i, m := range ms {
		twice := slices.ContainsFunc(ms[:i], func(x message) bool { return x.entry == m.entry })
		if twice || !slices.Contains(b.entries, m.entry) {
			return models.ErrNotFound
		}
	}
	return nil
}

func (b *box) stats() models.Stats { return statsOf(b.entries) }

func statsOf(es []*entry) models.Stats {
	s := models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes, Messages: int64(len(es))}
	for _, e := range es {
		s.Bytes += e.Raw.Size()
		if e.flags&models.Seen == 0 {
			s.Unread++
		}
	}
	return s
}

// list returns the messages of a folder in the model's own order.
func (r *reference) list(f *folder) (ms []message) {
	for _, e := range slices.SortedFunc(slices.Values(f.entries), r.compare) {
		ms = append(ms, message{e, f})
	}
	return ms
}

// compare orders entries of a folder, the newest first.
func (r *reference) compare(a, b *entry) int {
	first := 0
	switch r.Order {
	case ByDate:
		first = b.Date.Compare(a.Date)
	case ByArrival:
		return cmp.Compare(b.place, a.place)
	default:
		first = b.at.Compare(a.at)
	}
	return cmp.Or(first, cmp.Compare(b.number, a.number))
}

// delete removes a message from a folder, or from all folders if it is one message in all of them.
func (r *reference) delete(m message, at time.Time) {
	if !r.OneMessage {
		m.in.drop(m.entry)
		return
	}
	a, d := m.in.in, deletion{at: at, came: m.entry}
	a.mail = slices.DeleteFunc(a.mail, func(x *entry) bool {
		if x.state == m.state {
			d.came = x
		}
		return x.state == m.state
	})
	for _, f := range a.folders {
		if x := f.entry(m.state); x != nil {
			f.drop(x)
			d.folders, d.entries = append(d.folders, f), append(d.entries, x)
		}
	}
	a.deleted = append(a.deleted, d)
}

// boxes yields each box of all accounts once.
func (r *reference) boxes(yield func(*box) bool) {
	var yielded []*box
	for _, a := range r.accounts {
		for _, f := range a.folders {
			if slices.Contains(yielded, f.box) {
				continue
			}
			if yielded = append(yielded, f.box); !yield(f.box) {
				return
			}
		}
	}
}

// audit is what a verification of the store must count.
func (r *reference) audit() models.Audit {
	a := models.Audit{Accounts: int64(len(r.accounts))}
	shown := map[uint64]bool{}
	for _, x := range r.accounts {
		a.Deleted += int64(len(x.deleted))
	}
	for b := range r.boxes {
		a.Folders++
		a.Messages += int64(len(b.entries))
		for _, e := range b.entries {
			shown[e.number] = true
		}
	}
	if r.KeepsBodies {
		a.Unreferenced = int64(r.delivered - len(shown))
	}
	return a
}

// checkAudit compares the audit with that of the reference: it must find no fault and count
// the same.
func (diff *differential) checkAudit() models.Audit {
	got, err := diff.got.Audit(diff.ctx)
	diff.agree("audit", err, nil)
	want := diff.audit()
	if !has[models.Purger](diff.got) { // a variant may remove at once what its model keeps
		want.Deleted = 0
	}
	if has[models.Labeler](diff.got) { // a message that several folders show may count once or for each
		want.Messages = got.Messages
	}
	// The number of rows of an orphaned message depends on the model.
	if got.Unreferenced < want.Unreferenced || got.Unreferenced > diff.left && want.Unreferenced == 0 {
		diff.t.Fatalf("audit: %d unreferenced, want %d messages\naudit is %+v", got.Unreferenced, want.Unreferenced, got)
	}
	want.Unreferenced = got.Unreferenced
	if more := countsOf(got).since(countsOf(want)).changes(); more != "" {
		diff.t.Fatalf("audit: %s\naudit is %+v", more, got)
	}
	return got
}

// failed notes what deliveries that failed have left.
func (diff *differential) failed() {
	got, err := diff.got.Audit(diff.ctx)
	diff.agree("audit", err, nil)
	diff.left = got.Unreferenced
}

// counted are the numbers of an audit. Those from firstFault on are faults, which are 0 in an undamaged store.
var counted = [...]string{
	"accounts", "folders", "messages", "deleted", "unreferenced",
	"broken references", "duplicated", "broken bodies", "counter drift",
}

const firstFault = 5

// counts are the numbers of an audit, which == compares at once.
type counts [len(counted)]int64

func countsOf(a models.Audit) counts {
	return counts{
		a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced,
		a.Dangling, a.Duplicated, a.BrokenBodies, a.CounterDrift,
	}
}

// since returns the difference of two audits.
func (cs counts) since(was counts) counts {
	for i := range cs {
		cs[i] -= was[i]
	}
	return cs
}

// changes returns what is counted more or less, or "".
func (cs counts) changes() string {
	var words []string
	for i, n := range cs {
		if n != 0 {
			words = append(words, fmt.Sprintf("%s %+d", counted[i], n))
		}
	}
	return strings.Join(words, ", ")
}

// of returns a number by its name.
func (cs counts) of(what string) int64 { return cs[slices.Index(counted[:], what)] }

// faults returns the faults that an audit counts, or "".
func (cs counts) faults() string {
	clear(cs[:firstFault])
	return cs.changes()
}
