package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
)

// offered reports whether a mailbox has an operation that not every model has.
var offered = map[workloads.Op]func(models.Mailbox) bool{
	workloads.Label:         is[models.Labeler],
	workloads.Restore:       is[models.Purger],
	workloads.Purge:         is[models.Purger],
	workloads.Recount:       is[models.Recounter],
	workloads.SearchSender:  is[models.SenderSearcher],
	workloads.Slice:         is[models.Slicer],
	workloads.Seen:          is[models.Seer],
	workloads.Subscribe:     is[models.Subscriber],
	workloads.Range:         is[models.RangeReader],
	workloads.Expunge:       is[models.UIDs],
	workloads.Subscriptions: is[models.Subscriber],
	workloads.SeenBy:        is[models.Seer],
	workloads.SearchAll:     is[models.SenderSearcher],
	workloads.AllMail:       is[models.AllMailer],
	workloads.Totals:        is[models.AllMailer],
	workloads.Join:          is[models.Poster],
	workloads.Leave:         is[models.Poster],
	workloads.Nested:        is[models.Nester],
}

func is[T any](mb models.Mailbox) bool {
	_, ok := mb.(T)
	return ok
}

// Lacks returns the operations that the model does not offer.
func (t *Target) Lacks() (lacks [workloads.NumOps]bool) {
	for op, offered := range t.Offers {
		lacks[op] = !offered
	}
	return lacks
}

// probe finds out what the model lacks, before anything is measured.
func (t *Target) probe() error {
	return t.withMailbox(func(mb models.Mailbox) error {
		for i := range t.Offers {
			has := offered[workloads.Op(i)]
			t.Offers[i] = has == nil || has(mb)
		}
		if _, ok := mb.(models.Poster); t.Census.Shared() && !ok {
			t.NotOffered = fmt.Sprintf("%s has no folder that several accounts share", t.Model.Name)
		}
		return nil
	})
}

// findFlags tries a message that does not exist, to learn which of the workload's flags
// the model does not store.
func (t *Target) findFlags(ctx context.Context) error {
	return t.withMailbox(func(mb models.Mailbox) error {
		f := t.Live.Accounts[t.Census.FirstUser()].Folders[0].Ref
		for i := range t.LacksFlag {
			if m := workloads.Mark(i); m != workloads.FlagSeen && t.Workload.Sets(m) {
				t.LacksFlag[m] = errors.Is(Flag(ctx, mb, f, models.Handle{}, m, true), models.ErrNotOffered)
			}
		}
		return nil
	})
}

// marks are the flags of a model, by workloads.Mark.
var marks = [...]models.Flag{
	workloads.FlagSeen: models.Seen, workloads.FlagAnswered: models.Answered, workloads.FlagFlagged: models.Flagged,
	workloads.FlagDeleted: models.Deleted, workloads.FlagDraft: models.Draft,
}

// userFlag is the flag that users name in workloads, one of those that mail programs agree on.
const userFlag = "$Forwarded"

// Flag sets or clears a flag of a workload. The error is models.ErrNotOffered for one that the model does not store.
func Flag(ctx context.Context, mb models.Mailbox, f *models.Folder, h models.Handle, m workloads.Mark, on bool) error {
	if m != workloads.FlagUser {
		return mb.Flag(ctx, f, h, marks[m], on)
	}
	if u, ok := mb.(models.UserFlagger); ok {
		return u.UserFlag(ctx, f, h, userFlag, on)
	}
	return models.ErrNotOffered
}
