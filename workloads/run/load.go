package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// loadAll delivers messages of the load, in order of arrival, until there are
// no more. Unlike an operation of a mix, a delivery that fails ends the load:
// what would be measured then is another data set. Over a network a few may be
// missing.
func (w *worker) loadAll(ctx, opCtx context.Context) error {
	// What is in a ledger was acknowledged, and must be as durable as the engine
	// promises; what is loaded for one run only need not be.
	if b, ok := w.session.(drivers.Bulk); ok && w.ledger == nil {
		b.Bulk(true)
		defer b.Bulk(false)
		w.mu.Lock()
		w.bulk = true
		w.mu.Unlock()
	}
	for ctx.Err() == nil {
		w.mu.Lock()
		a, ok := w.load.Next()
		w.mu.Unlock()
		if !ok {
			return nil
		}
		err := w.loadOne(ctx, opCtx, a)
		if err == nil && ctx.Err() == nil {
			err = w.miss(w.failure)
		}
		if err != nil {
			return fmt.Errorf("load message %d into %s of %s: %w", a.N, workloads.FolderName(a.Folder), workloads.Address(a.User), err)
		}
	}
	return nil
}

// A load over a network may miss missesMost messages, or the part missesShare of
// them all, whichever is more. What is known not to be there is tried again
// loadTries times, which takes 25 s: longer than what a dead node served is
// out of reach. What may be there is not, lest it be there twice.
const (
	missesMost  = 10
	missesShare = 0.01
	loadTries   = 9
)

// miss counts a delivery that ended with err, and returns it if that ends the
// load.
func (p *phase) miss(err error) error {
	if err == nil || errors.Is(err, drivers.ErrTooLarge) {
		return nil // that is counted already
	}
	if !p.engine.Remote {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missed++; float64(p.missed) > max(missesMost, missesShare*float64(p.census.Messages())) {
		return fmt.Errorf("no more than %d messages may be missing: %w", p.missed-1, err)
	}
	return nil
}

// loadOne tries to deliver one message; w.failure is how that ended.
func (w *worker) loadOne(ctx, opCtx context.Context, a workloads.Arrival) error {
	w.op = workloads.Operation{Op: workloads.Deliver, N: a.N, Message: a.N}
	f := w.dir.accounts[a.User].folders[a.Folder]
	t := &w.task
	t.shelves, t.refs = append(t.shelves[:0], f.shelf), append(t.refs[:0], f.ref)
	if !w.write(a.N, a.Date) {
		return w.err
	}
	if n := w.message.Raw.Size(); n > largeMessage {
		if err := w.large.Acquire(opCtx, min(n, largeAtOnce)); err != nil {
			return err
		}
		defer w.large.Release(min(n, largeAtOnce))
	}
	for try := range loadTries {
		if try > 0 {
			sleep(ctx, 50*time.Millisecond<<try)
		}
		if err := w.carryOut(opCtx, &operations[workloads.Deliver], 0); err != nil {
			return err
		}
		if outcome(w.failure) != latency.Failed || !w.engine.Remote || ctx.Err() != nil {
			break
		}
	}
	return nil
}

// Large messages are loaded a few at a time: an engine may hold several copies
// of each while it writes.
const (
	largeMessage = 1 << 20
	largeAtOnce  = 32 << 20
)

// createAccounts makes all users with their folders and fills the directory.
func (c *cell) createAccounts(ctx context.Context) error {
	var shared *folder
	if c.census.Shared() {
		f, err := c.createShared(ctx)
		if err != nil {
			return err
		}
		shared = f
	}
	return c.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		if shared != nil && u == 0 {
			return nil
		}
		names := []string(nil)
		if shared == nil {
			names = c.folderNames(u)
		}
		a, err := mb.CreateUser(ctx, workloads.Address(u), names)
		if errors.Is(err, models.ErrExists) && c.caps.Discards {
			a, err = mb.Login(ctx, workloads.Address(u)) // the null engine finds any account once it has one
		}
		if errors.Is(err, models.ErrExists) {
			return fmt.Errorf("the store holds another data set already: account %s: %w", workloads.Address(u), err)
		}
		if err != nil {
			return fmt.Errorf("create account %s: %w", workloads.Address(u), err)
		}
		if shared != nil {
			f, err := mb.(models.Poster).Join(ctx, a, shared.ref)
			if err != nil {
				return fmt.Errorf("account %s joins the shared folder: %w", workloads.Address(u), err)
			}
			c.dir.accounts[u] = account{ref: a, folders: []folder{{f, shared.shelf}}}
			return nil
		}
		return c.enter(u, a)
	})
}

// createShared makes user 0 with the folder that all others join.
func (c *cell) createShared(ctx context.Context) (*folder, error) {
	s, err := c.store.Session()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	defer s.Close()
	a, err := c.bound.Mailbox(s).CreateUser(ctx, workloads.Address(0), c.folderNames(0))
	if err != nil {
		return nil, fmt.Errorf("create account %s: %w", workloads.Address(0), err)
	}
	if err := c.enter(0, a); err != nil {
		return nil, err
	}
	return &c.dir.accounts[0].folders[0], nil
}

// loginAccounts finds the users of a data set that is there already.
func (c *cell) loginAccounts(ctx context.Context) error {
	err := c.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		a, err := mb.Login(ctx, workloads.Address(u))
		if err != nil {
			return fmt.Errorf("login %s: %w", workloads.Address(u), err)
		}
		return c.enter(u, a)
	})
	if c.census.Shared() && err == nil {
		for u := range c.dir.accounts {
			c.dir.accounts[u].folders[0].shelf = c.dir.accounts[0].folders[0].shelf
		}
	}
	return err
}

// enter puts an account into the directory, its folders in the census' order.
func (c *cell) enter(u int, a *models.Account) error {
	c.dir.accounts[u].ref = a
	for i, name := range c.folderNames(u) {
		f := a.Folder(name)
		if f == nil {
			return fmt.Errorf("account %s: folder %s: %w", a.Address, name, models.ErrNotFound)
		}
		c.dir.accounts[u].folders = append(c.dir.accounts[u].folders,
			folder{f, &shelf{place: place{account: uint32(u), folder: uint16(i)}}})
	}
	return nil
}

func (c *cell) folderNames(u int) []string {
	names := make([]string, c.census.FolderCount(u))
	for i := range names {
		names[i] = workloads.FolderName(i)
	}
	return names
}

// eachAccount calls do for all users, by several workers.
func (c *cell) eachAccount(ctx context.Context, do func(ctx context.Context, mb models.Mailbox, u int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	n := min(c.config.workers(), c.census.Users())
	for i := range n {
		g.Go(func() error {
			s, err := c.store.Session()
			if err != nil {
				return fmt.Errorf("open session: %w", err)
			}
			defer s.Close()
			mb := c.bound.Mailbox(s)
			for u := i; u < c.census.Users() && ctx.Err() == nil; u += n {
				if err := do(ctx, mb, u); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}
