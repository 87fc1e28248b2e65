package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// worker carries out operations of one phase, one at a time. It owns a session
// of the store, a mailbox on it, and all buffers.
type worker struct {
	*phase
	session  drivers.Session
	meter    *drivers.Meter
	mb       models.Mailbox
	mail     messages.Reader
	rec      *latency.Worker
	timer    *timer
	digester *digester

	// The operation under way.
	op      workloads.Operation
	task    task
	message mail.Message
	opened  models.Opened
	entry   func(*models.Entry) error // w.listed and w.informed, bound once
	info    func(models.FolderInfo) error
	records []byte // for the ledger
	ahead   uint32 // records that were in the ledger when the call began
	err     error  // of making an operation: the phase cannot go on

	// Of carrying out the operation before, and how many have failed in a row.
	failure  error
	failures int

	// What it saw, added up when the phase has ended.
	last time.Duration // end of the operation before; before the first, ahead of all due times
	seen sightings
}

// sightings are what one worker, or all, saw of a phase besides times.
type sightings struct {
	started, late, queued      int64
	own, service               time.Duration
	serviceFree, serviceQueued coarse
	untargeted                 int64 // operations that found nothing to work on
	ops                        [workloads.NumOps]opSightings
}

// opSightings are of one operation. Cost is of those that were ok.
type opSightings struct {
	cost      drivers.Cost
	missing   models.Known
	fallbacks []string
	errors    errorCounts
	nowhere   bool // ErrNotOffered
}

// keepBody is how large a body buffer a worker keeps: what one message of 25 MB
// needed must not be needed 32 times over for good.
const keepBody = 1 << 20

func newWorker(p *phase, i int) (*worker, error) {
	s, err := p.store.Session()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	w := &worker{phase: p, session: s, meter: drivers.NewMeter(s), mail: p.source.Reader(), rec: p.recorder.Worker(i), last: -1, digester: newDigester(p.dataset.Promise)}
	w.mb = p.bound.Mailbox(w.meter)
	w.entry, w.info = w.listed, w.informed
	w.meter.Trace = w.traced
	if p.schedule != nil {
		if w.timer, err = newTimer(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return w, nil
}

func (w *worker) close() error {
	if w.timer != nil {
		w.timer.close()
	}
	if err := w.session.Close(); err != nil {
		return fmt.Errorf("close session: %w", err)
	}
	return nil
}

// work carries out operations until the phase has no more or ctx ends. Calls
// get opCtx, which lives a little longer, so that those under way can end.
func (w *worker) work(ctx, opCtx context.Context) error {
	for ctx.Err() == nil {
		n, due, ok := w.claim(w.last)
		if !ok {
			return nil
		}
		if err := w.step(ctx, opCtx, n, due); err != nil {
			return err
		}
		if w.schedule == nil {
			w.rest(ctx)
		}
	}
	return nil
}

// step makes operation n, waits until it is due, and carries it out.
func (w *worker) step(ctx, opCtx context.Context, n uint64, due time.Duration) error {
	w.plan.Next(n, &w.op)
	if !w.offers[w.op.Op] {
		return nil
	}
	if w.schedule != nil && w.last-due > w.config.maxLag() {
		w.rec.Drop(int(w.op.Op))
		return nil
	}
	o := &operations[w.op.Op]
	if !o.target(w) {
		w.rec.Drop(int(w.op.Op))
		w.seen.untargeted++
		return w.err
	}
	if w.schedule != nil && due > w.last {
		if !w.wait(ctx, due) {
			return w.finish(o, latency.Dropped)
		}
	}
	return w.carryOut(opCtx, o, due)
}

// carryOut is the operation itself, between the only two readings of the clock.
func (w *worker) carryOut(opCtx context.Context, o *operation, due time.Duration) error {
	w.meter.Take()
	w.ahead = w.ledger.records()
	start := w.clock.now()
	err := o.run(opCtx, w)
	end := w.clock.now()

	if w.schedule == nil {
		due = start
	}
	if errors.Is(err, models.ErrNotOffered) {
		w.seen.ops[w.op.Op].nowhere = true
		w.last = end
		return w.finish(o, latency.Failed)
	}
	w.failure = err
	out := outcome(err)
	w.rec.Record(int(w.op.Op), out, due, start, end)
	w.witness(due, start, end)
	w.fared(out)
	if s := &w.seen.ops[w.op.Op]; out == latency.OK {
		s.cost.Add(w.meter.Cost)
	} else {
		s.errors.add(err.Error(), 1)
	}
	if cap(w.opened.Body) > keepBody {
		w.opened.Body = nil
	}
	w.last = end
	return w.finish(o, out)
}

func (w *worker) finish(o *operation, out latency.Outcome) error {
	if o.done == nil {
		return nil
	}
	return o.done(w, out)
}

// witness notes what the operation tells about the generator.
func (w *worker) witness(due, start, end time.Duration) {
	s := &w.seen
	s.started++
	if w.schedule != nil && due > w.last { // a worker was free
		if start-due > w.lateness {
			s.late++
		}
		s.serviceFree.add(end - start)
		return
	}
	s.own += start - w.last
	s.service += end - start
	if w.schedule != nil {
		if start-due > w.lateness {
			s.queued++
		}
		s.serviceQueued.add(end - start)
	}
}

// wait returns when the operation is due; false if ctx ended before.
func (w *worker) wait(ctx context.Context, due time.Duration) bool {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	for at := w.last; ; {
		at = min(due, at+look)
		if w.err = w.timer.until(&w.clock, at); w.err != nil || ctx.Err() != nil {
			return false
		}
		if at == due {
			return true
		}
	}
}

// listed sees one line of a listing.
func (w *worker) listed(e *models.Entry) error {
	w.lacks(e.Known, models.KnowFrom|models.KnowSubject|models.KnowDate|models.KnowSize|models.KnowSeen)
	return nil
}

func (w *worker) informed(f models.FolderInfo) error {
	w.lacks(f.Known, models.KnowMessages|models.KnowUnread)
	return nil
}

// lacks notes the fields that an answer should have had and did not.
func (w *worker) lacks(known, wanted models.Known) {
	w.seen.ops[w.op.Op].missing |= wanted &^ known
}

// traced notes the patterns in whose place a fallback runs.
func (w *worker) traced(st drivers.Statement, _ int64) {
	if p := drivers.Emulated(st); p != nil {
		s := &w.seen.ops[w.op.Op]
		s.fallbacks = appendNew(s.fallbacks, p.Name)
	}
}

func appendNew(names []string, name string) []string {
	for _, n := range names {
		if n == name {
			return names
		}
	}
	return append(names, name)
}

// add adds what another worker saw.
func (s *sightings) add(b *sightings) {
	s.started += b.started
	s.late += b.late
	s.queued += b.queued
	s.own += b.own
	s.service += b.service
	s.serviceFree.merge(&b.serviceFree)
	s.serviceQueued.merge(&b.serviceQueued)
	s.untargeted += b.untargeted
	for i := range s.ops {
		o, p := &s.ops[i], &b.ops[i]
		o.cost.Add(p.cost)
		o.missing |= p.missing
		o.nowhere = o.nowhere || p.nowhere
		for _, name := range p.fallbacks {
			o.fallbacks = appendNew(o.fallbacks, name)
		}
		for _, e := range p.errors {
			o.errors.add(e.Text, e.Count)
		}
	}
}
