package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
)

// reload fills the live set from the ledger of the runs before.
func (t *Target) reload(ctx context.Context, h *ledger.History) error {
	for i := range h.Entries {
		e := &h.Entries[i]
		if u, f := int(e.Place.Account), int(e.Place.Folder); u >= len(t.Live.Accounts) ||
			f >= len(t.Live.Accounts[u].Folders) {
			return t.foreign(e.Place)
		}
		if e.State == ledger.Live && !e.Labelled {
			f := t.Live.Accounts[e.Place.Account].Folders[e.Place.Folder]
			t.Live.Add(f.FolderSet, e.Handle, nil, e.Held.Holding())
		}
	}
	if t.Live.keepAttached {
		return t.learnAttachments(ctx)
	}
	return nil
}

// foreign is the error for a ledger that is not of the data set.
func (t *Target) foreign(p ledger.Place) error {
	return fmt.Errorf("the ledger in %s is not of this data set: it names folder %d of account %d, which the population "+
		"does not have",
		t.Dir, p.Folder, p.Account)
}

// loginAccounts finds the users of a data set that is there already.
func (t *Target) loginAccounts(ctx context.Context) error {
	err := t.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		a, err := mb.Login(ctx, plan.Address(u))
		if err != nil {
			return fmt.Errorf("login %s: %w", plan.Address(u), err)
		}
		return t.enter(u, a, t.folderNames(u))
	})
	if err == nil {
		t.share()
	}
	return err
}

// share gives all accounts the same folder set, if all share one folder.
func (t *Target) share() {
	if t.Census.Shared() {
		for u := range t.Live.Accounts {
			t.Live.Accounts[u].Folders[0].FolderSet = t.Live.Accounts[0].Folders[0].FolderSet
		}
	}
}

// learnAttachments opens some of the newest messages of each folder, to find a few that have
// attachments: a ledger does not say which do.
func (t *Target) learnAttachments(ctx context.Context) error {
	return t.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		var o models.Opened
		for _, f := range t.Live.Accounts[u].Folders {
			for rank := range min(attachedMost, f.Len()) {
				h, _ := f.Read(rank)
				f.Release(h)
				release, err := t.Large.Hold(ctx, t.Live.Holding(h).Open)
				if err != nil {
					return err
				}
				err = mb.Open(ctx, f.Ref, h, &o)
				o.Body = models.Reuse(o.Body)
				if release(); errors.Is(err, drivers.ErrTooLarge) {
					continue // its text body is too large; other messages will do
				} else if err != nil {
					return fmt.Errorf("open a message of the data set: %w", err)
				}
				if len(o.Attachments) > 0 {
					f.attach(h, o.Attachments[0].Name)
				}
			}
		}
		return nil
	})
}
