package subject

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/plan"
)

// completeAccounts finds the accounts of the population that the store has, makes the
// others and the folders that are missing, and enters them into the live set. A run that
// was killed may have left an account without all of its folders.
func (t *Target) completeAccounts(ctx context.Context) error {
	if t.Census.Shared() {
		if err := t.withMailbox(func(mb models.Mailbox) error { return t.completeAccount(ctx, mb, 0) }); err != nil {
			return err
		}
	}
	err := t.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		return t.completeAccount(ctx, mb, u)
	})
	if err == nil {
		t.share()
	}
	return err
}

func (t *Target) completeAccount(ctx context.Context, mb models.Mailbox, u int) error {
	account, names := &t.Live.Accounts[u], t.folderNames(u)
	if len(account.Folders) == len(names) {
		return nil // it is complete
	}
	a, joins := account.Ref, t.Census.Shared() && u > 0
	if a == nil && t.Caps.Discards && !joins {
		_, err := t.createAccount(ctx, mb, u, names)
		return err
	}
	if a == nil {
		var err error
		if a, err = find(ctx, mb, u, names, joins); err != nil {
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

// find makes an account, or logs the user in who has one: a login may read all accounts (james). If the
// store has neither an account nor room for one, a killed run had only claimed the address: the folders
// are made one by one.
func find(ctx context.Context, mb models.Mailbox, u int, names []string, joins bool) (*models.Account, error) {
	if joins {
		names = nil
	}
	address := plan.Address(u)
	a, err := mb.CreateUser(ctx, address, names)
	if errors.Is(err, models.ErrExists) {
		a, err = mb.Login(ctx, address)
	}
	if errors.Is(err, models.ErrNotFound) {
		a, err = &models.Account{Address: address}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find or create account %s: %w", address, err)
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
