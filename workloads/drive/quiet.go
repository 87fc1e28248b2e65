package drive

import (
	"slices"
	"sync"

	"github.com/mailbench/mailbench/workloads"
)

// A recount adds to a counter what it lacks beside its index. An operation that has changed the index
// and not yet the counter would be counted twice. So a recount has its account alone: it waits for
// changes of the account that are under way, and those that come wait for it. That wait is before
// the call: it is in response times and not in service times.

// hold takes the accounts that an operation changes, if the model has recounts.
func (t *task) hold() {
	if t.excludes() {
		t.changes((*sync.RWMutex).Lock, (*sync.RWMutex).RLock)
	}
}

// letGo gives back what hold took.
func (t *task) letGo() {
	if t.excludes() {
		t.changes((*sync.RWMutex).Unlock, (*sync.RWMutex).RUnlock)
	}
}

// excludes reports whether the operation and a recount exclude each other.
func (t *task) excludes() bool { return t.op.Op.Changes() && t.target.Offers[workloads.Recount] }

// changes calls alone for the account of a recount, and beside for each one that another operation
// changes.
func (t *task) changes(alone, beside func(*sync.RWMutex)) {
	switch t.op.Op {
	case workloads.Recount:
		alone(&t.account.Changes)
	case workloads.Deliver:
		// All deliveries take accounts in one order. Else two of them would wait for recounts that
		// wait for the other.
		slices.Sort(t.op.Recipients)
		for _, u := range t.op.Recipients {
			beside(&t.live.Accounts[u].Changes)
		}
	default:
		beside(&t.account.Changes)
	}
}
