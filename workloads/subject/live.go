package subject

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/ledger"
)

// Live is the live set of one store: its accounts as the model resolved them, and
// the existing messages in their folders. Operations choose from it what they work on.
type Live struct {
	Accounts []Account // those of other segments have no folders
	// The live set remembers some deleted messages if the workload restores any, and some
	// with attachments if it reads those.
	keepDeleted, keepAttached bool

	// How many bytes calls on large messages hold. Most data sets have none.
	someLarge atomic.Bool
	holding   sync.RWMutex
	held      map[models.Handle]models.Holding

	joining sync.Mutex
	joined  []*models.Folder // of accounts that joined and have not left, at most joinedMost
}

// Account is a user of the population.
type Account struct {
	Ref     *models.Account
	Folders []Folder

	// Changes is held for reading by operations that change counters of the account, and for
	// writing by a recount.
	Changes sync.RWMutex
	// Recount is held by a recount: two at a time would both add what is missing.
	Recount sync.Mutex
	// Purge is held by a purge, and for reading by restores.
	Purge sync.RWMutex
	// Purges counts the purges that have begun.
	Purges atomic.Int64

	mu      sync.Mutex
	deleted []ledger.Key // newest last, at most deletedMost
}

// Folder is a folder of an account. Accounts that share a folder have a Ref of
// their own each, and the FolderSet in common.
type Folder struct {
	Ref *models.Folder
	*FolderSet
}

// FolderSet holds the existing messages of one folder, oldest first. An operation pins
// the message that it works on, and takes out the one that it will remove, so
// that nothing fails because the workload itself deleted it.
//
// The handles are in chunks: removing one from a folder of millions moves at most one
// chunk, and a message costs the 32 bytes of its handle and little more.
type FolderSet struct {
	Place ledger.Place

	// LargestRow is the most bytes that a call holds of one row of the folder. It is 0 if they are few or not known. It
	// does not fall when messages go.
	LargestRow atomic.Int64

	mu       sync.Mutex
	chunks   [][]models.Handle // none is empty
	n        int
	pins     []pin           // pins of the operations under way in this folder
	labeled  []DoubleLabeled // oldest first
	attached []attached      // some existing messages with an attachment, at most attachedMost
}

// DoubleLabeled is a message that a label operation showed in a second folder. It
// stays owned, so that it is not deleted under that label.
type DoubleLabeled struct {
	Handle models.Handle
	Second Folder
}

type attached struct {
	handle models.Handle
	name   string
}

const (
	deletedMost  = 64
	attachedMost = 16
	labeledMost  = 16
	joinedMost   = 1024
)

// Add enters a message that was delivered to, or arrived in, the folder. m is nil if its
// attachments are not known. held is how many bytes calls on it hold.
func (l *Live) Add(f *FolderSet, h models.Handle, m *mail.Message, held models.Holding) {
	if held.Reading() > models.LargeMessage {
		l.holding.Lock()
		if l.held == nil {
			l.held = make(map[models.Handle]models.Holding)
		}
		if old := l.held[h]; old.Reading() < held.Reading() { // two folders may have messages of one handle
			l.held[h] = held
		}
		l.someLarge.Store(true)
		l.holding.Unlock()
	}
	for held.Row > models.LargeMessage {
		if old := f.LargestRow.Load(); held.Row <= old || f.LargestRow.CompareAndSwap(old, held.Row) {
			break
		}
	}
	if l.keepAttached && m != nil && len(m.Attachments) > 0 { // before Add: no operation has removed the message yet
		f.mu.Lock()
		one := attached{h, strings.Clone(m.Attachments[0].Name)} // the message's bytes are its reader's
		f.attached = appendLast(f.attached, one, attachedMost)
		f.mu.Unlock()
	}
	f.Add(h)
}

// Holding returns how many bytes calls on a message hold. It is zero if they are few or not
// known, as with older ledgers.
func (l *Live) Holding(h models.Handle) models.Holding {
	if !l.someLarge.Load() {
		return models.Holding{}
	}
	l.holding.RLock()
	defer l.holding.RUnlock()
	return l.held[h]
}

// Join remembers that an account joined a folder, which is the account's own, so that it can leave.
func (l *Live) Join(f *models.Folder) {
	l.joining.Lock()
	defer l.joining.Unlock()
	if len(l.joined) < joinedMost {
		l.joined = append(l.joined, f)
	}
}

// Leave takes a folder that an account joined last and has not left; nil if there is none.
func (l *Live) Leave() (f *models.Folder) {
	l.joining.Lock()
	defer l.joining.Unlock()
	if n := len(l.joined) - 1; n >= 0 {
		f, l.joined = l.joined[n], l.joined[:n]
	}
	return f
}

// After returns the next user of this segment. There must be one.
func (l *Live) After(user int) int {
	for {
		if user = (user + 1) % len(l.Accounts); len(l.Accounts[user].Folders) > 0 {
			return user
		}
	}
}

// Messages counts the existing messages in all folders. Call it between two phases, when no
// worker runs.
func (l *Live) Messages() int {
	n := 0
	for i := range l.Accounts {
		for _, f := range l.Accounts[i].Folders {
			if int(f.Place.Account) == i { // else the account shares it
				n += f.Len()
			}
		}
	}
	return n
}

// Remove takes the message of that rank, or the next older one that no operation has pinned, out of the folder.
func (f *FolderSet) Remove(rank int) (models.Handle, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, i, ok := f.free(rank)
	if !ok {
		return models.Handle{}, false
	}
	h := f.chunks[c][i]
	f.n--
	f.chunks[c] = slices.Delete(f.chunks[c], i, i+1)
	f.join(max(1, c))
	f.join(c + 1)
	f.attached = slices.DeleteFunc(f.attached, func(a attached) bool { return a.handle == h })
	return h, true
}

// ReadAttached pins one of the messages with an attachment, for reading, and returns the
// attachment's name.
func (f *FolderSet) ReadAttached(rank int) (h models.Handle, name string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.attached) == 0 {
		return h, "", false
	}
	a := f.attached[len(f.attached)-1-rank%len(f.attached)]
	f.pin(a.handle)
	return a.handle, a.name, true
}

// Unlabel returns the message that has had a second label longest, once labeledMost have
// one. From then on labels are taken off as often as they are put on.
func (f *FolderSet) Unlabel() (DoubleLabeled, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.labeled) < labeledMost {
		return DoubleLabeled{}, false
	}
	l := f.labeled[0]
	f.labeled = slices.Delete(f.labeled, 0, 1)
	return l, true
}

// Label remembers a message that has a second label now.
func (f *FolderSet) Label(l DoubleLabeled) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.labeled = append(f.labeled, l)
}

// Discard remembers a deleted message of the account, for restoring it, unless a purge has begun
// since Purges was purges: it may have removed the message, whose deletion was under way.
func (l *Live) Discard(a *Account, k ledger.Key, purges int64) {
	if !l.keepDeleted {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Purges.Load() == purges {
		a.deleted = appendLast(a.deleted, k, deletedMost)
	}
}

// appendLast appends one to the list, of which the last ones stay, most of them.
func appendLast[T any](list []T, one T, most int) []T {
	if len(list) == most {
		list = list[:copy(list, list[1:])]
	}
	return append(list, one)
}

// BeginRestore takes the message that was deleted last, and holds Purge for reading, unless a purge is
// under way.
func (a *Account) BeginRestore() (k ledger.Key, ok bool) {
	if !a.Purge.TryRLock() {
		return k, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.deleted) - 1
	if n < 0 {
		a.Purge.RUnlock()
		return k, false
	}
	k, a.deleted = a.deleted[n], a.deleted[:n]
	return k, true
}

// BeginPurge holds Purge and forgets all deleted messages, unless one is being restored or
// another purge is under way.
func (a *Account) BeginPurge() bool {
	if !a.Purge.TryLock() {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Purges.Add(1)
	a.deleted = a.deleted[:0]
	return true
}

// pin keeps a message from being taken. At most one owner and any number of readers share it.
type pin struct {
	handle models.Handle
	shared int
}

// chunkLen is 8 KB of handles, a size class of the allocator.
const chunkLen = 256

// Len returns how many messages are live and not taken.
func (f *FolderSet) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// Add puts in the newest message.
func (f *FolderSet) Add(h models.Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	last := len(f.chunks) - 1
	if last < 0 || len(f.chunks[last]) == chunkLen {
		f.chunks = append(f.chunks, nil)
		last++
	}
	c := f.chunks[last]
	if len(c) == cap(c) {
		// Most folders are small: growing by an eighth leaves little unused.
		c = append(make([]models.Handle, 0, min(chunkLen, len(c)+max(4, len(c)/8))), c...)
	}
	f.chunks[last] = append(c, h)
}

// Read pins the message of that rank, 0 being the newest, for reading.
func (f *FolderSet) Read(rank int) (models.Handle, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		return models.Handle{}, false
	}
	c, i := f.at(rank % f.n)
	h := f.chunks[c][i]
	f.pin(h)
	return h, true
}

func (f *FolderSet) pin(h models.Handle) {
	if p := f.pinned(h); p >= 0 {
		f.pins[p].shared++
	} else {
		f.pins = append(f.pins, pin{h, 1})
	}
}

// Own pins the message of that rank, or the next older one that no operation has
// pinned, for changing it. The pin is exclusive but for readers that come later.
func (f *FolderSet) Own(rank int) (models.Handle, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, i, ok := f.free(rank)
	if !ok {
		return models.Handle{}, false
	}
	h := f.chunks[c][i]
	f.pin(h)
	return h, true
}

// Release ends a Read or an Own.
func (f *FolderSet) Release(h models.Handle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.pinned(h)
	if f.pins[i].shared--; f.pins[i].shared == 0 {
		f.pins = slices.Delete(f.pins, i, i+1)
	}
}

// at finds the message of a rank, which must be below f.n.
func (f *FolderSet) at(rank int) (chunk, i int) {
	for c := len(f.chunks) - 1; ; c-- {
		if n := len(f.chunks[c]); rank < n {
			return c, n - 1 - rank
		} else {
			rank -= n
		}
	}
}

// free finds a message that no operation has pinned, beginning with that rank and going on to
// older ones. If there is one, it is among the first len(pins)+1.
func (f *FolderSet) free(rank int) (chunk, i int, ok bool) {
	for try := range min(f.n, len(f.pins)+1) {
		c, i := f.at((rank + try) % f.n)
		if f.pinned(f.chunks[c][i]) < 0 {
			return c, i, true
		}
	}
	return 0, 0, false
}

func (f *FolderSet) pinned(h models.Handle) int {
	return slices.IndexFunc(f.pins, func(p pin) bool { return p.handle == h })
}

// join puts a chunk together with its older neighbor if they fit into one, so
// that chunks are more than half full on average, however many were taken.
func (f *FolderSet) join(c int) {
	switch {
	case len(f.chunks) == 1 && len(f.chunks[0]) == 0:
		f.chunks = f.chunks[:0]
	case c < len(f.chunks) && len(f.chunks[c-1])+len(f.chunks[c]) <= chunkLen:
		f.chunks[c-1] = append(f.chunks[c-1], f.chunks[c]...)
		f.chunks = slices.Delete(f.chunks, c, c+1)
	}
}
