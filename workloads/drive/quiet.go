package drive

import (
	"slices"

	"github.com/mailbench/mailbench/workloads"
)

// A recount adds to a counter what it lacks beside its index. An operation that has changed the index
// and not yet the counter would be counted twice. So a recount has its account alone: it waits for
// changes of the account that are under way, and those that come wait for it. That wait is before
// the call: it is in response times and not in service times.

// hold takes the accounts of an operation, if the model has recounts.
func (t *task) hold() {
	if !t.target.Offers[workloads.Recount] {
		return
	}
	switch t.op.Op {
	case workloads.Deliver:
		// All deliveries take accounts in one order. Else two of them would wait for recounts that
		// wait for the other.
		slices.Sort(t.op.Recipients)
		for _, u := range t.op.Recipients {
			t.live.Accounts[u].Changes.RLock()
		}
	case workloads.Flag, workloads.Label, workloads.Move, workloads.Delete, workloads.Restore, workloads.Purge:
		t.account.Changes.RLock()
	case workloads.Recount:
		t.account.Changes.Lock()
	}
}

// letGo gives back what hold took.
func (t *task) letGo() {
	if !t.target.Offers[workloads.Recount] {
		return
	}
	switch t.op.Op {
	case workloads.Deliver:
		for _, u := range t.op.Recipients {
			t.live.Accounts[u].Changes.RUnlock()
		}
	case workloads.Flag, workloads.Label, workloads.Move, workloads.Delete, workloads.Restore, workloads.Purge:
		t.account.Changes.RUnlock()
	case workloads.Recount:
		t.account.Changes.Unlock()
	}
}
