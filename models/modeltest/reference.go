package modeltest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
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

// reference is the mail that a store must hold: slices in memory, searched from end to end. It runs each operation
// after the model has.
type reference struct {
	Traits
	like      models.Mailbox // the model's
	now       func() time.Time
	accounts  []*account
	delivered int    // messages, each counted once
	last      uint64 // number of the last state
	// left is how many unreferenced bodies an audit counted after deliveries that failed halfway. They are no fault.
	left int64
	late bool // a delivery over a network was canceled, of which rows may be there, or come later
}

func (f *fixture) reference() *reference {
	return &reference{Traits: f.Traits, now: f.clock.now}
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
	ever    map[models.Handle]*entry // and those that are gone
	came    uint64                   // number of entries that have come
	uid     uint64                   // the last UID that the model gave
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

// account returns the account of an address, or nil.
func (r *reference) account(address string) *account {
	i := slices.IndexFunc(r.accounts, func(a *account) bool { return a.address == address })
	if i < 0 {
		return nil
	}
	return r.accounts[i]
}

// folder returns the folder that a call names. One that its account has left is empty.
func (r *reference) folder(f *models.Folder) *folder {
	if f != nil {
		if found := r.account(f.Account.Address).folder(f.Name); found != nil {
			return found
		}
	}
	return &folder{box: newBox()}
}

func (a *account) folder(name string) *folder {
	i := slices.IndexFunc(a.folders, func(f *folder) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return a.folders[i]
}

func (a *account) add(name string, b *box) {
	a.folders = append(a.folders, &folder{b, name, nil, a})
}

func newBox() *box { return &box{ever: map[models.Handle]*entry{}} }

// use makes later calls use the model's account got.
func (a *account) use(got *models.Account) {
	a.got = got
	for _, f := range a.folders {
		f.got = got.Folder(f.name)
	}
}

// find returns entries by their handles, or ErrNotFound if one is not there or is named twice.
func (b *box) find(hs ...models.Handle) (es []*entry, err error) {
	for _, h := range hs {
		i := slices.IndexFunc(b.entries, func(e *entry) bool { return e.got == h })
		if i < 0 || slices.Contains(es, b.entries[i]) {
			return nil, models.ErrNotFound
		}
		es = append(es, b.entries[i])
	}
	return es, nil
}

// distinct names each message once.
func distinct(hs []models.Handle) []models.Handle {
	hs = slices.SortedFunc(slices.Values(hs), func(a, b models.Handle) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(hs)
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

// put adds an entry to a folder, with the handle that the model gave it. If the folder shows the message already, put
// returns that entry.
func (r *reference) put(f *folder, st *state, got models.Handle) (*entry, error) {
	if got.IsZero() {
		return nil, errors.New("a message was given the zero handle")
	}
	e := f.entry(st)
	if e == nil {
		f.came++
		e = &entry{state: st, place: f.came}
		f.entries = append(f.entries, e)
	}
	e.got, f.ever[got] = got, e
	return e, nil
}

// sorted returns entries in the model's own order, the newest first.
func (r *reference) sorted(es []*entry) []*entry {
	return slices.SortedFunc(slices.Values(es), r.compare)
}

// list returns the messages of a folder in the model's own order.
func (r *reference) list(f *folder) (ms []message) {
	for _, e := range r.sorted(f.entries) {
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

// remove removes an entry from a folder, or the message from all folders if it is one message in all of them.
func (r *reference) remove(from *folder, e *entry) {
	if !r.OneMessage {
		from.drop(e)
		return
	}
	a, d := from.in, deletion{at: r.now(), came: e}
	a.mail = slices.DeleteFunc(a.mail, func(x *entry) bool {
		if x.state == e.state {
			d.came = x
		}
		return x.state == e.state
	})
	for _, f := range a.folders {
		if x := f.entry(e.state); x != nil {
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
