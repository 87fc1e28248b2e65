// Package interrupt interrupts a move and a delete of several messages after each of their writes, and
// reads with another client the state after each.
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
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// breaker interrupts operations on a target whose store contains nothing else.
type breaker struct {
	target   *subject.Target
	session  drivers.Session
	looks    models.Bound // another process than that which is killed
	mail     messages.Reader
	digester *models.Digester
	messages int
	accounts int    // accounts so far
	found    faults // what the last audit found, of all accounts so far
}

// faults are what an audit finds: orphaned rows and blobs, broken references, broken bodies, counter drift.
type faults [4]int64

// The operations that are interrupted.
const (
	move   = "move"
	remove = "delete"
)

// All interrupts a move and a delete of so many messages. The target's store must be empty.
func All(ctx context.Context, t *subject.Target, messages int) (all []results.Interrupted, err error) {
	b := &breaker{target: t, mail: t.Mail.Reader(), messages: messages, digester: models.NewDigester(models.Promise{})}
	p, err := drivers.PrepareAll(ctx, t.Store, t.Schema)
	if err != nil {
		return nil, err
	}
	o := t.Options
	o.Blobs = subject.BlobsDir(t.Dir)
	if o.Node > 0 {
		o.Node++
	}
	if b.looks, err = t.Model.Bind(ctx, p, o); err != nil {
		return nil, err
	}
	if c, ok := b.looks.(io.Closer); ok {
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	if b.session, err = t.Store.Session(); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	defer func() { err = errors.Join(err, b.session.Close()) }()
	for _, op := range []string{move, remove} {
		one, err := b.breakOff(ctx, op)
		if err != nil {
			return nil, fmt.Errorf("%s of %d messages, interrupted: %w", op, messages, err)
		}
		all = append(all, *one)
	}
	return all, nil
}

// breakOff interrupts an operation after one write, two, and so on, until it comes to its end. Each time
// it is about messages of an account of its own.
func (b *breaker) breakOff(ctx context.Context, op string) (*results.Interrupted, error) {
	r := &results.Interrupted{Op: op, Messages: b.messages}
	var places []faults
	for {
		v, err := b.deliver(ctx)
		if err != nil {
			return nil, err
		}
		s := &cut.Session{Session: b.session, After: len(places) + 1}
		if mb := b.target.Bound.Mailbox(s); op == remove {
			err = mb.Delete(ctx, v.from, v.handles)
		} else {
			err = mb.Move(ctx, v.from, v.to, v.handles, make([]models.Handle, len(v.handles)))
		}
		if err != nil && !s.Broke {
			return nil, err
		}
		shown, more, err := b.look(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("look after %d writes: %w", len(s.Made), err)
		}
		left := leaves(r, v.digests, shown)
		if s.Broke {
			*left++
			places = append(places, more)
			continue
		}
		if left != &r.All {
			return nil, errors.New("the operation leaves a wrong state even without an interruption")
		}
		r.Writes, r.Places = len(s.Made), len(places)
		counts := [len(faults{})]*int{&r.Unreferenced, &r.Dangling, &r.Broken, &r.Drift}
		for _, f := range places { // those of the whole operation are none: datastax keeps what was deleted
			for i, n := range f {
				if n > more[i] {
					*counts[i]++
				}
			}
		}
		return r, nil
	}
}

// victim is an account with messages in its inbox.
type victim struct {
	address  string
	from, to *models.Folder
	handles  []models.Handle
	digests  []uint64
}

// deliver makes an account with messages, no two of which have one body. They are the same each time,
// so that an operation makes the same writes.
func (b *breaker) deliver(ctx context.Context) (*victim, error) {
	b.accounts++
	v := &victim{address: fmt.Sprintf("victim%d@example.org", b.accounts)}
	if s, ok := b.session.(drivers.Bulk); ok { // only the operation need be as durable as the engine promises
		s.Bulk(true)
		defer s.Bulk(false)
	}
	mb := b.target.Bound.Mailbox(b.session)
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

// look returns how often another process finds each message in the folders from and to, and which faults
// are new since the last audit.
func (b *breaker) look(ctx context.Context, v *victim) (shown [2]map[uint64]int, more faults, err error) {
	mb := b.looks.Mailbox(b.session)
	a, err := mb.Login(ctx, v.address)
	if err != nil {
		return shown, more, fmt.Errorf("login %s: %w", v.address, err)
	}
	for i, f := range []*models.Folder{v.from, v.to} {
		if shown[i], err = b.shown(ctx, mb, a.Folder(f.Name)); err != nil {
			return shown, more, err
		}
	}
	x, err := audit.Run(ctx, b.target.Store, b.target.Schema, mb, validate.Config{}) // a small store
	now := faults{x.Unreferenced + x.InterruptedBlobs, x.Dangling, x.BrokenBodies, x.CounterDrift}
	for i := range now {
		more[i] = now[i] - b.found[i]
	}
	b.found = now
	return shown, more, err
}

// shown are the messages that a folder lists and that can be opened, by digest, and how often.
func (b *breaker) shown(ctx context.Context, mb models.Mailbox, f *models.Folder) (map[uint64]int, error) {
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

// leaves is the count of r for what became of all messages: shown is how often the folders from and to show each.
// Deleted ones are in neither.
func leaves(r *results.Interrupted, messages []uint64, shown [2]map[uint64]int) *int {
	var done, undone, twice, lost int
	for _, m := range messages {
		switch here, there := shown[0][m], shown[1][m]; {
		case here+there > 1:
			twice++
		case here == 1:
			undone++
		case there == 1 || r.Op == remove:
			done++
		default:
			lost++
		}
	}
	switch {
	case lost > 0:
		return &r.Lost
	case twice > 0:
		return &r.Twice
	case done == 0:
		return &r.None
	case undone == 0:
		return &r.All
	}
	return &r.Some
}
