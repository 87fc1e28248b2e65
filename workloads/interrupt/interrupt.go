// Package interrupt breaks a move and a delete of several messages off after each of their writes, and
// looks with another process what each leaves.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/subject"
)

// Operations are what a Breaker breaks off.
var Operations = []string{move, remove}

const (
	move   = "move"
	remove = "delete"
)

// Breaker breaks operations off on a target whose store holds nothing else.
type Breaker struct {
	target   *subject.Target
	session  drivers.Session
	bound    models.Bound // process that delivers and is killed; then that which looks
	mail     messages.Reader
	digester *ledger.Digester
	messages int
	accounts int          // accounts so far
	found    models.Audit // what the last audit found, of all accounts so far
}

// New returns a breaker of operations that are about so many messages.
func New(t *subject.Target, messages int) (*Breaker, error) {
	s, err := t.Store.Session()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &Breaker{
		target: t, session: s, bound: t.Bound, mail: t.Mail.Reader(), messages: messages,
		digester: ledger.NewDigester(ledger.Promise{}),
	}, nil
}

// Close releases what the breaker has opened.
func (b *Breaker) Close() error { return errors.Join(b.another(nil), b.session.Close()) }

// another makes another process the one that works on the store.
func (b *Breaker) another(bound models.Bound) (err error) {
	if c, ok := b.bound.(io.Closer); ok && b.bound != b.target.Bound {
		err = c.Close()
	}
	b.bound = bound
	return err
}

// Break breaks an operation off after one write, two, and so on, until it comes to its end. Each time
// it is about messages of an account of its own.
func (b *Breaker) Break(ctx context.Context, op string) (results.Interrupted, error) {
	r := results.Interrupted{Op: op, Messages: b.messages}
	var places []place
	for after := 1; ; after++ {
		v, err := b.deliver(ctx)
		if err != nil {
			return r, err
		}
		s := &cut.Session{Session: b.session, After: after}
		if err = v.run(ctx, b.bound.Mailbox(s), op); err != nil && !s.Broke {
			return r, fmt.Errorf("%s of %d messages: %w", op, b.messages, err)
		}
		at, err := b.look(ctx, v, op)
		if err != nil {
			return r, fmt.Errorf("look what a %s leaves that was broken off after write %d: %w", op, after, err)
		}
		if s.Broke {
			places = append(places, at)
			continue
		}
		if at.left != results.LeavesAll {
			return r, fmt.Errorf("a %s of %d messages that was not broken off leaves %s done", op, b.messages, at.left)
		}
		r.Writes = len(s.Made)
		for _, p := range places {
			r.Add(p.left, p.beyond(&at))
		}
		return r, nil
	}
}

// place is what an operation left that was broken off, and which faults are new since the last audit.
type place struct {
	left                                    results.Leaves
	unreferenced, dangling, broken, counter int64
}

// beyond are the faults that the whole operation does not leave: datastax keeps what was deleted.
func (p *place) beyond(whole *place) results.Faults {
	count := func(more int64) int { return int(min(max(more, 0), 1)) }
	return results.Faults{
		Unreferenced: count(p.unreferenced - whole.unreferenced), Dangling: count(p.dangling - whole.dangling),
		Broken: count(p.broken - whole.broken), Drift: count(p.counter - whole.counter),
	}
}

// victim is an account with messages in its inbox.
type victim struct {
	address  string
	from, to *models.Folder
	handles  []models.Handle
	digests  []uint64
}

func (v *victim) run(ctx context.Context, mb models.Mailbox, op string) error {
	if op == remove {
		return mb.Delete(ctx, v.from, v.handles)
	}
	return mb.Move(ctx, v.from, v.to, v.handles, make([]models.Handle, len(v.handles)))
}

// deliver makes an account with messages, no two of which have one body. They are the same each time,
// so that an operation makes the same writes.
func (b *Breaker) deliver(ctx context.Context) (*victim, error) {
	b.accounts++
	v := &victim{address: fmt.Sprintf("victim%d@example.org", b.accounts)}
	if s, ok := b.session.(drivers.Bulk); ok { // only the operation need be as durable as the engine promises
		s.Bulk(true)
		defer s.Bulk(false)
	}
	mb := b.bound.Mailbox(b.session)
	a, err := mb.CreateUser(ctx, v.address, []string{"INBOX", "Archive"})
	if err != nil {
		return nil, fmt.Errorf("create account %s: %w", v.address, err)
	}
	v.from, v.to = a.Folders[0], a.Folders[1]
	var m mail.Message
	for n := 0; len(v.handles) < b.messages; n++ {
		if n > 10*b.messages {
			return nil, fmt.Errorf("the mail has not %d messages with different bodies", b.messages)
		}
		if err := b.mail.Message(uint64(n), time.Now(), &m); err != nil {
			return nil, err
		}
		sum, err := b.digester.Message(&m)
		if err != nil {
			return nil, err
		}
		if slices.Contains(v.digests, sum) {
			continue
		}
		h := make([]models.Handle, 1)
		if err := mb.Deliver(ctx, &m, []*models.Folder{v.from}, h); err != nil {
			return nil, fmt.Errorf("deliver to %s: %w", v.address, err)
		}
		v.handles, v.digests = append(v.handles, h[0]), append(v.digests, sum)
	}
	return v, nil
}

// look says what another process finds of the messages, and which faults are new.
func (b *Breaker) look(ctx context.Context, v *victim, op string) (at place, err error) {
	p, err := drivers.PrepareAll(ctx, b.target.Store, b.target.Schema)
	if err != nil {
		return at, err
	}
	o := b.target.Options
	o.Blobs = subject.BlobsDir(b.target.Dir)
	if o.Node > 0 {
		o.Node += uint64(b.accounts)
	}
	bound, err := b.target.Model.Bind(ctx, p, o)
	if err == nil {
		err = b.another(bound)
	}
	if err != nil {
		return at, err
	}
	mb := bound.Mailbox(b.session)
	a, err := mb.Login(ctx, v.address)
	if err != nil {
		return at, fmt.Errorf("login %s: %w", v.address, err)
	}
	shown := make([]map[uint64]int, 2)
	for i, f := range []*models.Folder{v.from, v.to} {
		if shown[i], err = b.shown(ctx, mb, a.Folder(f.Name)); err != nil {
			return at, err
		}
	}
	now, err := mb.Audit(ctx)
	if err != nil {
		return at, err
	}
	was := b.found
	b.found = now
	return place{
		leaves(v.digests, shown[0], shown[1], op == move),
		now.Unreferenced + now.BrokenOff - was.Unreferenced - was.BrokenOff, now.Dangling - was.Dangling,
		now.BrokenBodies - was.BrokenBodies, now.CounterDrift - was.CounterDrift,
	}, nil
}

// shown are the messages that a folder lists and that can be opened, by digest, and how often.
func (b *Breaker) shown(ctx context.Context, mb models.Mailbox, f *models.Folder) (map[uint64]int, error) {
	all := map[uint64]int{}
	if f == nil {
		return all, nil
	}
	var hs []models.Handle
	// A folder may show each message twice, and has no others.
	err := mb.List(ctx, f, models.Handle{}, 3*b.messages, func(e *models.Entry) error {
		hs = append(hs, e.Handle)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	for _, h := range hs {
		sum, err := b.digester.Stored(ctx, mb, f, h)
		if errors.Is(err, models.ErrNotFound) || errors.Is(err, models.ErrBroken) {
			continue // what the audit counts
		}
		if err != nil {
			return nil, err
		}
		all[sum]++
	}
	return all, nil
}

// leaves says what became of all messages: from and to are how often the folders show each. What was
// deleted is in neither.
func leaves(messages []uint64, from, to map[uint64]int, moves bool) results.Leaves {
	var done, undone, twice, lost int
	for _, m := range messages {
		switch here, there := from[m], to[m]; {
		case here+there > 1:
			twice++
		case here == 1:
			undone++
		case there == 1 || !moves:
			done++
		default:
			lost++
		}
	}
	switch {
	case lost > 0:
		return results.LeavesLost
	case twice > 0:
		return results.LeavesTwice
	case done == 0:
		return results.LeavesNone
	case undone == 0:
		return results.LeavesAll
	}
	return results.LeavesSome
}
