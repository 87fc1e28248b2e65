package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Populate makes the accounts of the population, or finds those of a data set that
// is there already. It returns the load that the data set lacks, or nil.
func (t *Target) Populate(ctx context.Context) (load *Load, err error) {
	t.Live = &Live{Accounts: make([]Account, t.Census.Users())}
	t.remember()
	t.Dataset.Closed, t.Dataset.Durability = false, t.Caps.Durability.String()
	if t.reused {
		load, err = t.complete(ctx)
	} else {
		load = &Load{fresh: true}
		t.Dataset.begin(&load.growth, t.Census)
		load, err = t.deliver(ctx, load, nil)
	}
	t.Lacks[workloads.Raw], t.Lacks[workloads.Attachment] = !t.Dataset.Promise.Raw, !t.Dataset.Promise.Attachments
	return load, err
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
	if len(t.Workload.Patterns) > 0 {
		return nil // there are no messages
	}
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
		var f *models.Folder
		var err error
		if joins {
			f, err = mb.(models.Poster).Join(ctx, a, t.Live.Accounts[0].Folders[0].Ref)
		} else {
			f, err = mb.CreateFolder(ctx, a, name)
		}
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

// Load holds the messages that a data set lacks: those of a Step that it has yet to deliver. The caller delivers them
// with drive.Drive and then calls Loaded.
type Load struct {
	Stream   plan.Stream
	Messages int64 // messages that the stream delivers
	// Note says in a few words what the load does with an older data set; "" if it is new.
	Note string

	growth    plan.Growth
	fresh     bool  // the store is empty
	delivered int64 // messages of the step that are there already
}

// complete makes a data set that is there into the one that the workload wants, and returns
// the load that it lacks, or nil. It goes on with an interrupted load or growth, and a
// smaller population grows.
func (t *Target) complete(ctx context.Context) (*Load, error) {
	h, err := t.Dataset.history(t.Dir)
	if err != nil {
		return nil, err
	}
	if !t.Dataset.Complete || t.Dataset.Mail != t.wanted.Mail {
		load, err := t.growth(h)
		if err != nil {
			return nil, err
		}
		return t.deliver(ctx, load, h)
	}
	if err := t.note(); err != nil {
		return nil, err
	}
	err = t.eachAccount(ctx, func(ctx context.Context, mb models.Mailbox, u int) error {
		a, err := mb.Login(ctx, plan.Address(u))
		if err != nil {
			return fmt.Errorf("login %s: %w", plan.Address(u), err)
		}
		return t.enter(u, a, t.folderNames(u))
	})
	if err != nil {
		return nil, err
	}
	t.share()
	if err := t.reload(ctx, h); err != nil {
		return nil, err
	}
	return nil, t.findFlags(ctx)
}

// deliver makes the accounts and folders that the data set lacks, enters the messages of h, if it is not nil, into the
// live set, and finds out which reads and flags the model offers. It completes the load. If that has nothing to
// deliver, it marks the data set as complete and returns nil.
func (t *Target) deliver(ctx context.Context, load *Load, h *ledger.History) (_ *Load, err error) {
	if err := t.note(); err != nil {
		return nil, err
	}
	t.kept = t.kept || t.Keep
	if err := t.completeAccounts(ctx, load.fresh); err != nil {
		return nil, err
	}
	if h != nil {
		if err := t.reload(ctx, h); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(t.findPromise(ctx), t.findFlags(ctx)); err != nil {
		return nil, err
	}
	// An audit must know the promise, also if this process is killed meanwhile.
	if err := t.note(); err != nil {
		return nil, err
	}
	load.Messages = t.Census.Lacks(&load.growth) - load.delivered
	if load.Messages == 0 && !load.fresh {
		return nil, t.Loaded()
	}
	load.Stream, err = t.Census.LoadStream(ctx, &load.growth)
	return load, err
}

// growth begins the next step of the data set, or goes on with the one under way.
func (t *Target) growth(h *ledger.History) (*Load, error) {
	d := t.Dataset
	if d.Mail != t.wanted.Mail { // another population: a new step
		return t.next(t.wanted, t.Census, loaded(h, d.last().end()))
	}
	// The step that was interrupted goes on with the messages that it has not delivered.
	first := d.last().First
	l := &Load{growth: plan.Growth{Step: len(d.Steps) - 1, First: first}}
	g := &l.growth
	if g.Step > 0 {
		g.Has = loaded(h, first).of
	}
	var done []bool // by message, from the first on
	for m := range h.Deliveries {
		if !plan.OfLoad(m.N) || m.N < first {
			continue
		}
		at := int(m.N - first)
		if done = append(done, make([]bool, max(0, at+1-len(done)))...); !done[at] {
			done[at] = true
			l.delivered++
		}
	}
	g.Done = func(n uint64) bool { return n >= first && n-first < uint64(len(done)) && done[n-first] }
	if lacks := t.Census.Lacks(g); lacks != d.last().Messages {
		return nil, fmt.Errorf("the ledger in %s belongs to another dataset: the interrupted load has %d messages in it, "+
			"and %s has %d; %s", t.Dir, lacks, datasetFile, d.last().Messages, d.removal())
	}
	l.Note = fmt.Sprintf("continues a load that was interrupted, with %d of %d messages", l.delivered, d.last().Messages)
	return l, nil
}

// Grow makes the accounts and folders of a larger population that the data set lacks, and
// returns the load of its missing messages, or nil. The data set must be loaded, and no
// phase under way. From then on the target works on that workload, census and source of mail.
//
// The new workload must have the same mail and seed, and no folder may have fewer messages
// than before. plan.Growth says which messages are delivered. If the growth of a kept
// data set is interrupted, Populate goes on with it.
//
//	load, err := t.Grow(ctx, larger, census, source)
//	if err == nil && load != nil {
//		err = drive.Drive(ctx, t, drive.Spec{Cell: &m, Phase: load phase, Stream: load.Stream, Total: load.Messages})
//		err = t.Loaded()
//	}
func (t *Target) Grow(
	ctx context.Context, to *workloads.Workload, census *plan.Census, source messages.Source,
) (*Load, error) {
	if !t.Dataset.Complete {
		return nil, fmt.Errorf("the data set of %s on %s cannot grow: it is not loaded to the end",
			t.Model.Name, t.Engine.Name)
	}
	want, open := t.dataset(to, source), *t.Dataset
	open.Closed = true // this run was not killed
	if err := open.fits(want, t.Dir); err != nil {
		return nil, err
	}
	has := counts{} // of all messages of the census
	for u := range t.Census.Users() {
		if t.Census.Shared() && u > 0 {
			break
		}
		for f := range t.Census.FolderCount(u) {
			if n := t.Census.FolderMessages(u, f); n > 0 {
				has[ledger.Place{Account: uint32(u), Folder: uint16(f)}] = int32(n)
			}
		}
	}
	if t.Acknowledged != nil {
		h, err := t.Dataset.history(t.Dir)
		if err != nil {
			return nil, err
		}
		has = loaded(h, t.Dataset.last().end())
	}
	load, err := t.next(want, census, has)
	if err != nil {
		return nil, err
	}
	t.Workload, t.Census, t.Mail, t.wanted = to, census, source, want
	accounts := make([]Account, max(census.Users(), len(t.Live.Accounts)))
	for i := range t.Live.Accounts {
		a := &t.Live.Accounts[i]
		accounts[i].Ref, accounts[i].Folders, accounts[i].deleted = a.Ref, a.Folders, a.deleted
	}
	t.Live.Accounts = accounts
	t.remember()
	return t.deliver(ctx, load, nil)
}

// onThisMachine reports whether a node of the engine runs on this machine: it then
// competes with the generator for processors. No address means loopback.
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
			if a.IP.IsLoopback() || slices.ContainsFunc(all, func(own net.Addr) bool {
				n, ok := own.(*net.IPNet)
				return ok && n.IP.Equal(a.IP)
			}) {
				return true
			}
		}
	}
	return false
}
