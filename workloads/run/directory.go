package run

import (
	"strings"
	"sync"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// directory is what is live in one store: the accounts as the model resolved
// them, and the targets in their folders.
type directory struct {
	accounts []account
	// keepDeleted and keepAttached: the workload restores messages, or reads
	// attachments, and so needs to know which ones can be.
	keepDeleted, keepAttached bool
}

type account struct {
	ref     *models.Account
	folders []folder

	mu        sync.Mutex
	deleted   []key // newest last, at most deletedMost
	restoring int   // restores under way: a purge must wait for them
	purging   bool  // and the other way round
}

// folder is a folder of an account. Accounts that share a folder have each
// their own ref to it.
type folder struct {
	ref *models.Folder
	*shelf
}

// shelf is what is live in one folder.
type shelf struct {
	targets
	place place

	extra    sync.Mutex
	labelled []twofold  // messages that show in a second folder, oldest first
	attached []attached // some live messages with an attachment, at most attachedMost
}

// twofold is a message that a label operation showed in a second folder. It
// stays owned, so that it is not deleted under that label.
type twofold struct {
	handle models.Handle
	at     folder // the second
}

type attached struct {
	handle models.Handle
	name   string
}

const (
	deletedMost  = 64
	attachedMost = 16
	labelledMost = 16
)

// add enters a message that was delivered to, or arrived in, the folder.
func (d *directory) add(f *shelf, h models.Handle, m *mail.Message) {
	f.targets.add(h)
	if d.keepAttached && m != nil && len(m.Attachments) > 0 {
		f.attach(h, strings.Clone(m.Attachments[0].Name)) // the message's bytes are its reader's
	}
}

// attach remembers that a message has an attachment of that name.
func (f *shelf) attach(h models.Handle, name string) {
	f.extra.Lock()
	defer f.extra.Unlock()
	if len(f.attached) == attachedMost {
		copy(f.attached, f.attached[1:])
		f.attached = f.attached[:attachedMost-1]
	}
	f.attached = append(f.attached, attached{h, name})
}

// remove takes the message of that rank, or the next older free one, out of
// the folder.
func (f *shelf) remove(rank int) (models.Handle, bool) {
	f.extra.Lock()
	defer f.extra.Unlock()
	h, ok := f.take(rank)
	for i := range f.attached {
		if ok && f.attached[i].handle == h {
			f.attached = append(f.attached[:i], f.attached[i+1:]...)
			break
		}
	}
	return h, ok
}

// readAttached pins one of the messages with an attachment.
func (f *shelf) readAttached(rank int) (attached, bool) {
	f.extra.Lock()
	defer f.extra.Unlock()
	if len(f.attached) == 0 {
		return attached{}, false
	}
	a := f.attached[len(f.attached)-1-rank%len(f.attached)]
	f.pin(a.handle)
	return a, true
}

// unlabel gives a message that has a second label, once there are enough of
// them: from then on labels are taken off as often as they are put on.
func (f *shelf) unlabel() (twofold, bool) {
	f.extra.Lock()
	defer f.extra.Unlock()
	if len(f.labelled) < labelledMost {
		return twofold{}, false
	}
	l := f.labelled[0]
	f.labelled = append(f.labelled[:0], f.labelled[1:]...)
	return l, true
}

func (f *shelf) label(l twofold) {
	f.extra.Lock()
	defer f.extra.Unlock()
	f.labelled = append(f.labelled, l)
}

// discard remembers a deleted message, for restoring it.
func (a *account) discard(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.deleted) == deletedMost {
		copy(a.deleted, a.deleted[1:])
		a.deleted = a.deleted[:deletedMost-1]
	}
	a.deleted = append(a.deleted, k)
}

// beginRestore takes the message that was deleted last, unless a purge is
// under way.
func (a *account) beginRestore() (key, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.deleted) - 1
	if n < 0 || a.purging {
		return key{}, false
	}
	k := a.deleted[n]
	a.deleted = a.deleted[:n]
	a.restoring++
	return k, true
}

func (a *account) endRestore() {
	a.mu.Lock()
	a.restoring--
	a.mu.Unlock()
}

// beginPurge forgets all deleted messages, unless one is being restored or
// another purge is under way.
func (a *account) beginPurge() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.restoring > 0 || a.purging {
		return false
	}
	a.purging = true
	a.deleted = a.deleted[:0]
	return true
}

func (a *account) endPurge() {
	a.mu.Lock()
	a.purging = false
	a.mu.Unlock()
}
