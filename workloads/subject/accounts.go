package subject

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Load holds the messages that a data set lacks. The caller delivers them with drive.Drive and then calls Loaded.
type Load struct {
	Stream   plan.Stream
	Messages int64 // messages that the stream delivers
	// Note says in a few words what the load does with an older data set; "" if it is new.
	Note string
}

// Populate makes the accounts of the population, or finds those of a data set that is there already, with its messages,
// and finds out which reads and flags the model offers. It returns the load that the data set lacks, or nil.
func (t *Target) Populate(ctx context.Context) (_ *Load, err error) {
	t.Live = &Live{Accounts: make([]Account, t.Census.Users())}
	for i := range t.Workload.Phases {
		mix := &t.Workload.Phases[i].Mix
		t.Live.keepDeleted = t.Live.keepDeleted || mix.Has(workloads.Restore)
		t.Live.keepAttached = t.Live.keepAttached || mix.Has(workloads.Attachment)
	}
	d := t.Dataset
	d.Closed, d.Complete, d.Durability = false, d.Complete && t.reused, t.Caps.Durability.String()
	d.Messages = int64(t.Census.Messages())
	var h *ledger.History
	if t.reused {
		if h, err = d.history(t.Dir); err != nil {
			return nil, err
		}
	}
	if err := t.note(); err != nil {
		return nil, err
	}
	t.kept = t.kept || t.Keep
	if err := t.completeAccounts(ctx); err != nil {
		return nil, err
	}
	if h != nil {
		if err := t.reload(ctx, h); err != nil {
			return nil, err
		}
	}
	if err := t.findOffers(ctx); err != nil || d.Complete {
		return nil, err
	}
	// An audit must know the promise, also if this process is killed meanwhile.
	if err := t.note(); err != nil {
		return nil, err
	}
	l := &Load{Messages: d.Messages}
	var has []uint64
	if h != nil {
		has = h.Loaded()
		l.Messages = max(0, d.Messages-int64(len(has)))
		l.Note = fmt.Sprintf("continues a load that was interrupted, with %d of %d messages", len(has), d.Messages)
		if l.Messages == 0 {
			return nil, t.Loaded()
		}
	}
	l.Stream, err = t.Census.LoadStream(ctx, has)
	return l, err
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

// completeAccounts makes the accounts of the population with their folders, and enters them into the live set. It finds
// the accounts and folders that the store of an older data set has, and makes those that are missing: a run that was
// killed may have left an account without all of its folders. If all users share one folder, it is the inbox of user 0,
// and the others join.
func (t *Target) completeAccounts(ctx context.Context) error {
	first := t.Census.FirstUser()
	if err := t.withMailbox(func(mb models.Mailbox) error { return t.completeAccount(ctx, mb, first) }); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	n := min(max(1, t.Workers), t.Census.Users())
	for i := range n {
		some := func(mb models.Mailbox) error {
			for u := i; u < t.Census.Users() && ctx.Err() == nil; u += n {
				if !t.Census.Has(u) || t.Live.Accounts[u].Ref != nil {
					continue
				}
				if err := t.completeAccount(ctx, mb, u); err != nil {
					return err
				}
			}
			return ctx.Err()
		}
		g.Go(func() error { return crash.Guard(func() error { return t.withMailbox(some) }) })
	}
	return g.Wait()
}

// completeAccount makes an account. In an older data set it logs the user in who has one, and if no account is
// missing, all of them: a login may read all accounts (james). If the store has neither an account nor room for one, a
// killed run had only claimed the address: the folders are made one by one. The null engine finds any account once it
// has one.
func (t *Target) completeAccount(ctx context.Context, mb models.Mailbox, u int) error {
	account, address, joins := &t.Live.Accounts[u], plan.Address(u), t.Census.Shared && u > 0
	var names, own []string
	for i := range t.Census.FolderCount(u) {
		names = append(names, plan.FolderName(i))
	}
	if !joins {
		own = names
	}
	a, err := (*models.Account)(nil), models.ErrExists
	if !t.Dataset.Complete {
		a, err = mb.CreateUser(ctx, address, own)
	}
	if errors.Is(err, models.ErrExists) {
		if !t.reused && !t.Caps.Discards {
			return fmt.Errorf("the store contains another dataset already: account %s: %w", address, err)
		}
		a, err = mb.Login(ctx, address)
	}
	if errors.Is(err, models.ErrNotFound) && !t.Dataset.Complete {
		a, err = &models.Account{Address: address}, nil
	}
	if err != nil {
		return fmt.Errorf("account %s: %w", address, err)
	}
	account.Ref = a
	for i, name := range names {
		f, set := a.Folder(name), &FolderSet{Place: ledger.Place{Account: uint32(u), Folder: uint16(i)}}
		if f == nil {
			switch {
			case t.Dataset.Complete:
				err = models.ErrNotFound
			case joins:
				f, err = mb.(models.Poster).Join(ctx, a, t.Live.Accounts[0].Folders[0].Ref)
			default:
				f, err = mb.CreateFolder(ctx, a, name)
			}
			if err != nil {
				return fmt.Errorf("account %s, folder %s: %w", a.Address, name, err)
			}
			a.Folders = append(a.Folders, f)
		}
		if joins {
			set = t.Live.Accounts[0].Folders[0].FolderSet
		}
		account.Folders = append(account.Folders, Folder{f, set})
	}
	return nil
}

// onThisMachine reports whether a node of the engine runs on this machine: it then competes with the generator for
// processors. No address means loopback.
func onThisMachine(ctx context.Context, e *workloads.Engine) bool {
	if e == nil || len(e.Contact) == 0 {
		return true
	}
	const lookupAtMost = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, lookupAtMost)
	defer cancel()
	all, _ := net.InterfaceAddrs()
	for _, contact := range e.Contact {
		// The driver has a better error for a name that cannot be resolved.
		addresses, _ := net.DefaultResolver.LookupIPAddr(ctx, drivers.HostOf(contact))
		for _, a := range addresses {
			own := func(on net.Addr) bool { n, ok := on.(*net.IPNet); return ok && n.IP.Equal(a.IP) }
			if a.IP.IsLoopback() || slices.ContainsFunc(all, own) {
				return true
			}
		}
	}
	return false
}
