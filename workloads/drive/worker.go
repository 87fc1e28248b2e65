package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
)

// worker carries out operations of one phase, one at a time, and records them. It owns a
// session of the store, a mailbox on it, and all buffers.
type worker struct {
	task // the operation under way
	pace
	phase    *phase
	session  drivers.Session
	meter    *drivers.Meter
	recorder *latency.Worker
	stats    stats

	ran       patternCounts
	took      []latency.PartTime // of each call of a pattern, in the order of the calls
	usualTime time.Duration      // time spent in usual calls while operations queued: see addUsualTime
	extra     bool               // grow added it after the phase began
}

// ending is how an operation ended.
type ending struct {
	outcome latency.Outcome
	cause   error // nil if the outcome is OK
}

// keepBody is how many bytes of body buffer a worker keeps. A message of 25 MB must not
// leave 25 MB with each of 32 workers for good. An extra worker keeps a 16th of keepBody.
const keepBody = 256 << 10

// keepTook is for how many times of patterns a worker keeps room.
const keepTook = 256

func newWorker(p *phase, i int) (*worker, error) {
	t := p.target
	s, err := t.Store.Session()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	w := &worker{
		phase: p, session: s, meter: drivers.NewMeter(s), recorder: p.recorder.Worker(i),
		task: task{
			target: t, live: t.Live, mail: t.Mail.Reader(), digester: ledger.NewDigester(t.Dataset.Promise),
			arrivals: t.Dataset.Arrivals(),
		},
		pace: pace{clock: &p.clock, length: p.Phase.Duration, last: -1, idealEnd: -1, spin: p.spin, spinning: &p.pool.spins},
	}
	w.stats.streams, w.stats.ops = make([]tally, len(p.slots.at)), make([]opStats, len(p.slots.all))
	w.mb = t.Bound.Mailbox(w.meter)
	w.word = func(string) error { return nil }
	w.entry, w.info, w.ran = w.listed, w.folderListed, make(patternCounts, 0, patternsMost)
	w.meter.Trace, w.meter.Clock = w.traced, w.phase.clock.now
	w.took = make([]latency.PartTime, 0, patternsMost)
	if p.Stream.Open() {
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
// get opCtx, which lives a little longer, so that those under way can end. The
// error says why the phase cannot go on. Failed operations are counted and no error.
func (w *worker) work(ctx, opCtx context.Context) error {
	defer w.phase.pool.leave()
	if w.phase.loads() {
		return w.load(ctx, opCtx)
	}
	if w.timer == nil && !w.phase.offersAny() {
		return nil // the loop would only skip operations until the phase ends
	}
	for ctx.Err() == nil {
		due, ok := w.phase.Stream.Next(w.last, &w.op)
		if !ok {
			w.phase.pool.drain()
			return nil
		}
		if w.op.Think > 0 && !w.think(ctx, w.op.Think) {
			return nil
		}
		last := w.extra && due-w.last > idleMost
		if err := w.step(ctx, opCtx, due); err != nil {
			return err
		}
		if w.timer == nil {
			w.rest(ctx)
		}
		if last {
			return nil
		}
	}
	return nil
}

// step waits until the operation is due and carries it out.
func (w *worker) step(ctx, opCtx context.Context, due time.Duration) error {
	tally := w.tally()
	tally.due++
	if w.op.Replaces {
		tally.replaced++
	}
	if w.phase.lacks(&w.op) {
		tally.skipped++
		w.idle(ctx, 0)
		return nil
	}
	if w.timer != nil && w.last-due > w.phase.MaxLag {
		w.recorder.Drop(w.slot())
		if w.idealEnd-due <= w.phase.MaxLag {
			w.stats.droppedByClient++
			w.idealEnd = max(due, w.idealEnd) + w.stats.meanService()
		}
		return nil
	}
	o := &operations[w.op.Op]
	ok, err := o.choose(&w.task)
	if err != nil {
		if interrupted(ctx, err) {
			tally.due--
			return nil
		}
		return err
	}
	if !ok {
		w.stats.ops[w.slot()].noTarget++
		w.idle(ctx, restLeast)
		return nil
	}
	if w.timer != nil && due > w.last {
		w.phase.pool.idle.Add(1)
		reached, err := w.wait(ctx, due)
		w.phase.pool.idle.Add(-1)
		if err != nil || !reached {
			tally.due--
			return errors.Join(err, o.finish(&w.task, latency.Dropped))
		}
	}
	held, err := w.reserve(ctx, w.bytes())
	if err != nil { // the phase ends
		tally.due--
		return o.finish(&w.task, latency.Dropped)
	}
	if held == 0 && w.op.Timeout == 0 && !w.excludes() { // nothing to undo at the end
		_, err = w.timed(opCtx, o, due)
	} else {
		_, err = w.carryOut(opCtx, o, due, held)
	}
	return err
}

// interrupted reports whether err came because the phase ended while a message was made.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// carryOut carries out the operation, and at its end releases its accounts and held bytes of large
// messages. The error is the ledger's or a panic of the driver.
func (w *worker) carryOut(opCtx context.Context, o *operation, due time.Duration, held int64) (ending, error) {
	defer w.target.Large.Release(held)
	w.hold()
	defer w.letGo()
	if w.op.Timeout > 0 {
		var cancel context.CancelFunc
		opCtx, cancel = context.WithTimeout(opCtx, w.op.Timeout)
		defer cancel()
	}
	return w.timed(opCtx, o, due)
}

// timed makes the call, between the only two readings of the clock, and records it.
func (w *worker) timed(opCtx context.Context, o *operation, due time.Duration) (ending, error) {
	w.meter.Take() // what choosing cost
	w.ran, w.took, w.missing = w.ran[:0], w.took[:0], 0
	w.ahead = w.target.Acknowledged.Records()
	start := w.phase.clock.now()
	err := o.run(opCtx, &w.task)
	end := w.phase.clock.now()
	cost := w.meter.Take()

	if w.op.Timeout > 0 && end-start > w.op.Timeout && err == nil {
		err = errTimeout // a client would have given up, whatever the engine did
	}
	if w.timer == nil {
		due = start
	}
	slot := w.slot()
	e, s := ending{outcome(err), err}, &w.stats.ops[slot]
	s.missing |= w.missing
	ideal := w.undelayed(w.phase.hiccups, due, start, end)
	queued := w.timer != nil && due <= w.last
	var defect error
	switch {
	case err == nil:
		w.recorder.RecordLatency(slot, latency.OK, queued, due, start, end, ideal)
		w.noteTiming(slot, queued, due, start, end)
		w.failures = 0
		s.cost.Add(&cost)
		s.patterns.addAll(w.ran)
		w.recorder.RecordParts(slot, w.took)
		s.squares.add(&cost)
		if end-due-ideal >= leastDelay {
			w.stats.delayed++
		}
	case errors.Is(err, models.ErrNotOffered):
		s.notOffered = true
	default:
		w.recorder.RecordLatency(slot, e.outcome, queued, due, start, end, ideal)
		w.noteTiming(slot, queued, due, start, end)
		// Only failed operations make a client rest: one of unknown outcome has waited already.
		if w.failures++; e.outcome != latency.Failed {
			w.failures = 0
		}
		s.errors.add(err.Error(), 1)
		defect = panicked(err)
	}
	if keep := keepBody; cap(w.opened.Body) > keep || w.extra && cap(w.opened.Body) > keep/16 {
		w.opened.Body = nil
	}
	if cap(w.took) > keepTook { // an attachment of many chunks, or a purge
		w.took = make([]latency.PartTime, 0, patternsMost)
	}
	w.last = end
	if err := o.finish(&w.task, e.outcome); err != nil {
		return e, err
	}
	return e, defect
}

// errTimeout is why an operation that ended too late has an unknown outcome.
var errTimeout = fmt.Errorf("answered after the timeout of the workload: %w", drivers.ErrUnknown)

// panicked returns the panic of a goroutine of the driver, or nil. It ends the phase, as a panic
// of the worker does.
func panicked(err error) error {
	if c := new(crash.Error); errors.As(err, &c) {
		return c
	}
	return nil
}
