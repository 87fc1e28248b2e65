package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Populate makes the accounts of the population, or finds those of a data set that
// is there already. It returns the load that the data set lacks, or nil.
func (t *Target) Populate(ctx context.Context) (*Load, error) {
	t.makeLive()
	t.Dataset.Closed, t.Dataset.Durability = false, t.Caps.Durability.String()
	if t.reused {
		load, err := t.complete(ctx)
		t.offersOfPromise()
		return load, err
	}
	t.Dataset.begin(&plan.Growth{}, t.Census)
	if err := t.note(); err != nil {
		return nil, err
	}
	t.kept = t.Keep
	if err := t.completeAccounts(ctx, true); err != nil {
		return nil, err
	}
	if err := t.findOffers(ctx); err != nil {
		return nil, err
	}
	stream, err := t.Census.LoadStream(ctx)
	if err != nil {
		return nil, err
	}
	return &Load{Stream: stream, Messages: int64(t.Census.Messages())}, nil
}

// findOffers finds out which reads and flags the model offers.
func (t *Target) findOffers(ctx context.Context) error {
	if err := cmp.Or(t.findPromise(ctx), t.findFlags(ctx)); err != nil {
		return err
	}
	t.offersOfPromise()
	// An audit must know the promise, also if this process is killed meanwhile.
	return t.note()
}

// makeLive makes an empty live set for the population.
func (t *Target) makeLive() {
	t.Live = &Live{Accounts: make([]Account, t.Census.Users())}
	t.remember()
}

// remember finds out what the live set must remember for the workload's operations.
func (t *Target) remember() {
	for i := range t.Workload.Phases {
		mix := &t.Workload.Phases[i].Mix
		t.Live.keepDeleted = t.Live.keepDeleted || mix.Has(workloads.Restore)
		t.Live.keepAttached = t.Live.keepAttached || mix.Has(workloads.Attachment)
	}
}

// enter puts an account with the folders named into the live set.
func (t *Target) enter(u int, a *models.Account, folders []string) error {
	account := &t.Live.Accounts[u]
	account.Ref = a
	for i := len(account.Folders); i < len(folders); i++ {
		name := folders[i]
		f := a.Folder(name)
		if f == nil {
			return fmt.Errorf("account %s: folder %s: %w", a.Address, name, models.ErrNotFound)
		}
		place := ledger.Place{Account: uint32(u), Folder: uint16(i)}
		account.Folders = append(account.Folders, Folder{f, &FolderSet{Place: place}})
	}
	return nil
}

func (t *Target) folderNames(u int) []string {
	names := make([]string, t.Census.FolderCount(u))
	for i := range names {
		names[i] = plan.FolderName(i)
	}
	return names
}

// eachAccount calls do for all users, by several workers.
func (t *Target) eachAccount(ctx context.Context, do func(ctx context.Context, mb models.Mailbox, u int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	n := min(max(1, t.Workers), t.Census.Users())
	for i := range n {
		some := func(mb models.Mailbox) error {
			for u := i; u < t.Census.Users() && ctx.Err() == nil; u += n {
				if !t.Census.Has(u) {
					continue
				}
				if err := do(ctx, mb, u); err != nil {
					return err
				}
			}
			return ctx.Err()
		}
		g.Go(func() error { return crash.Guard(func() error { return t.withMailbox(some) }) })
	}
	return g.Wait()
}

// findPromise reads the raw form and an attachment of a message that does not
// exist. A model that keeps them says not found; a model that does not keep them
// says not offered.
func (t *Target) findPromise(ctx context.Context) error {
	return t.withMailbox(func(mb models.Mailbox) error {
		f := t.Live.Accounts[t.Census.FirstUser()].Folders[0].Ref
		_, rawErr := mb.Raw(ctx, f, models.Handle{}, io.Discard)
		_, attErr := mb.Attachment(ctx, f, models.Handle{}, "", io.Discard)
		t.Dataset.Promise = ledger.Promise{
			Raw: !errors.Is(rawErr, models.ErrNotOffered), Attachments: !errors.Is(attErr, models.ErrNotOffered),
		}
		return nil
	})
}

// withMailbox calls do with a mailbox on a session of its own.
func (t *Target) withMailbox(do func(models.Mailbox) error) error {
	s, err := t.Store.Session()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer s.Close()
	return do(t.Bound.Mailbox(s))
}

// offersOfPromise sets Offers for the two reads that depend on the promise.
func (t *Target) offersOfPromise() {
	t.Offers[workloads.Raw], t.Offers[workloads.Attachment] = t.Dataset.Promise.Raw, t.Dataset.Promise.Attachments
}

// completeAccounts makes the accounts of the population with their folders, and enters them into the live set. If
// the data set is not fresh, it finds the accounts and folders that the store has, and makes those that are missing:
// a run that was killed may have left an account without all of its folders. If all users share one folder, it is
// the inbox of user 0, and the others join.
func (t *Target) completeAccounts(ctx context.Context, fresh bool) error {
	if t.Census.Shared() {
		first := func(mb models.Mailbox) error { return t.completeAccount(ctx, mb, 0, fresh) }
		if err := t.withMailbox(first); err != nil {
			return err
		}
	}
	err := t.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		return t.completeAccount(ctx, mb, u, fresh)
	})
	if err == nil {
		t.share()
	}
	return err
}

func (t *Target) completeAccount(ctx context.Context, mb models.Mailbox, u int, fresh bool) error {
	account, names := &t.Live.Accounts[u], t.folderNames(u)
	if len(account.Folders) == len(names) {
		return nil // it is complete
	}
	a, joins := account.Ref, t.Census.Shared() && u > 0
	if a == nil {
		own := names
		if joins {
			own = nil
		}
		var err error
		if a, err = t.find(ctx, mb, plan.Address(u), own, fresh); err != nil {
			return err
		}
	}
	for _, name := range names {
		if a.Folder(name) != nil {
			continue
		}
		f, err := addFolder(ctx, mb, a, name, joins, &t.Live.Accounts[0])
		if err != nil {
			return fmt.Errorf("account %s, folder %s: %w", a.Address, name, err)
		}
		a.Folders = append(a.Folders, f)
	}
	return t.enter(u, a, names)
}

// find makes an account. Unless the data set is fresh, it logs the user in who has one: a login may read all accounts
// (james). If the store has neither an account nor room for one, a killed run had only claimed the address: the
// folders are made one by one. The null engine finds any account once it has one.
func (t *Target) find(
	ctx context.Context, mb models.Mailbox, address string, names []string, fresh bool,
) (*models.Account, error) {
	a, err := mb.CreateUser(ctx, address, names)
	if errors.Is(err, models.ErrExists) && fresh && !t.Caps.Discards {
		return nil, fmt.Errorf("the store contains another dataset already: account %s: %w", address, err)
	}
	if errors.Is(err, models.ErrExists) {
		a, err = mb.Login(ctx, address)
	}
	if errors.Is(err, models.ErrNotFound) {
		a, err = &models.Account{Address: address}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create account %s: %w", address, err)
	}
	return a, nil
}

func addFolder(
	ctx context.Context, mb models.Mailbox, a *models.Account, name string, joins bool,
	first *Account,
) (*models.Folder, error) {
	if joins {
		return mb.(models.Poster).Join(ctx, a, first.Folders[0].Ref)
	}
	return mb.CreateFolder(ctx, a, name)
}
