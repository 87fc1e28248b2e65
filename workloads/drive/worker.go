package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// worker executes operations of one phase, one at a time, and records them. It owns a
// session of the store, a mailbox on it, and all buffers.
type worker struct {
	task         // the operation under way
	slot     int // where that is counted and recorded
	phase    *phase
	session  drivers.Session
	recorder *latency.Worker
	stats    stats

	took      []latency.PartTime // of each call of a pattern, in the order of the calls
	service   time.Duration      // of the last call
	usualTime time.Duration      // time spent in usual calls while operations queued: see noteTiming
	extra     bool               // grow added it after the phase began

	timer    *timer        // nil: a closed loop
	last     time.Duration // end of the operation before; at first -1, before all scheduled times
	idealEnd time.Duration // last, if the client had lost no time: see delay
	failures int           // operations that failed in a row
}

func newWorker(p *phase, i int) (*worker, error) {
	t := p.target
	s, err := t.Store.Session()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	w := &worker{
		phase: p, session: s, recorder: p.recorder.Worker(i),
		task: task{
			target: t, live: t.Live, mail: t.Mail.Reader(), digester: models.NewDigester(t.Dataset.Promise),
			mb: t.Bound.Mailbox(s),
		},
		stats: newStats(&p.slots), took: make([]latency.PartTime, 0, 16), last: -1, idealEnd: -1,
	}
	w.pick = w.op.Choose
	// The fields that lines of listings lack are noted.
	w.entry = func(e *models.Entry) error {
		w.missing |= (models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen) &^ e.Known
		return nil
	}
	w.info = func(f models.FolderInfo) error {
		w.missing |= (models.KnowMessages | models.KnowUnread) &^ f.Known
		return nil
	}
	s.Watch(w.phase.clock.now, w.traced)
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

// work executes operations until the phase has no more or ctx ends. Calls
// get opCtx, which lives a little longer, so that those under way can end. The
// error says why the phase cannot go on. Failed operations are counted and no error.
func (w *worker) work(ctx, opCtx context.Context) error {
	defer w.phase.pool.alive.Add(-1)
	if w.phase.Phase.Kind == workloads.Load {
		return w.load(ctx, opCtx)
	}
	offered := func(s slot) bool { return w.phase.Phase.Mix.Has(s.op) && !w.phase.target.Lacks[s.op] }
	if w.timer == nil && !slices.ContainsFunc(w.phase.slots.all, offered) {
		return nil // the loop would only skip operations until the phase ends
	}
	for ctx.Err() == nil {
		due, ok := w.draw()
		if !ok {
			w.phase.pool.drained()
			return nil
		}
		if w.op.Think > 0 && !w.pause(ctx, w.op.Think) {
			w.tally().Due--
			return nil
		}
		// After a long wait an extra worker ends: it reserves its message before, and so keeps it from others.
		last := w.extra && due-w.last > time.Second
		if err := w.step(ctx, opCtx, due); err != nil {
			return err
		}
		if w.failures > 1 { // an engine that refuses immediately would be called as fast as the processors can
			w.pause(ctx, min(100*time.Millisecond, restLeast<<min(w.failures-2, 10)))
		}
		if last {
			return nil
		}
	}
	return nil
}

// draw takes the next operation of the phase, which counts as scheduled. It returns false if there are no more.
func (w *worker) draw() (due time.Duration, ok bool) {
	if due, ok = w.phase.Stream.Next(w.last, &w.op); ok {
		w.slot = w.phase.slots.at[w.op.Stream][w.op.Op]
		w.tally().Due++
	}
	return due, ok
}

// step waits until the operation is scheduled and executes it.
func (w *worker) step(ctx, opCtx context.Context, due time.Duration) error {
	tally := w.tally()
	if w.phase.unsupported(&w.op) {
		tally.Skipped++
		w.pause(ctx, 0)
		return nil
	}
	if w.timer != nil && w.last-due > w.phase.MaxWait {
		w.recorder.Record(w.slot, latency.Dropped, false, 0, 0, 0, 0)
		if w.idealEnd-due <= w.phase.MaxWait {
			w.stats.dropped++
			w.idealEnd = max(due, w.idealEnd) + w.service
		}
		return nil
	}
	switch ok, err := w.choose(); {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil: // the phase ended while a message was made
		tally.Due--
		return nil
	case err != nil:
		return err
	case !ok:
		tally.NoTarget++
		w.stats.ops[w.slot].noTarget++
		w.pause(ctx, restLeast)
		return nil
	}
	if w.timer != nil && due > w.last {
		w.phase.pool.idle.Add(1)
		reached, err := w.wait(ctx, due)
		w.phase.pool.idle.Add(-1)
		if err != nil || !reached {
			tally.Due--
			return errors.Join(err, w.done(latency.Dropped))
		}
	}
	held, err := w.reserve(ctx, w.bytes())
	if err != nil { // the phase ends
		tally.Due--
		return w.done(latency.Dropped)
	}
	if held == 0 && w.op.Timeout == 0 && (!w.op.Op.Changes() || w.target.Lacks[workloads.Recount]) {
		_, err = w.timed(opCtx, due) // nothing to undo at the end, so without defers
		return err
	}
	_, err = w.execute(opCtx, due, held)
	return err
}

// execute executes the operation, and at its end releases its accounts and held bytes of large
// messages. cause is why it did not succeed, and err, which ends the phase, the ledger's or a panic of the driver.
func (w *worker) execute(opCtx context.Context, due time.Duration, held int64) (cause, err error) {
	if held > 0 {
		defer w.target.Large.Release(held)
	}
	if w.op.Op.Changes() && !w.target.Lacks[workloads.Recount] {
		w.changes((*sync.RWMutex).Lock, (*sync.RWMutex).RLock)
		defer w.changes((*sync.RWMutex).Unlock, (*sync.RWMutex).RUnlock)
	}
	if w.op.Timeout > 0 {
		var cancel context.CancelFunc
		opCtx, cancel = context.WithTimeout(opCtx, w.op.Timeout)
		defer cancel()
	}
	return w.timed(opCtx, due)
}

// timed makes the call, between the only two readings of the clock, and records it.
func (w *worker) timed(opCtx context.Context, due time.Duration) (cause, err error) {
	w.session.Take() // what choosing cost
	w.took, w.missing = w.took[:0], 0
	w.ahead = w.target.Acknowledged.Records()
	start := w.phase.clock.now()
	cause = w.run(opCtx)
	end := w.phase.clock.now()
	cost := w.session.Take()

	if w.op.Timeout > 0 && end-start > w.op.Timeout && cause == nil {
		// A client would have given up, whatever the engine did.
		cause = fmt.Errorf("answered after the timeout of the workload: %w", drivers.ErrUnknown)
	}
	if w.timer == nil {
		due = start
	}
	out, s := outcome(cause), &w.stats.ops[w.slot]
	s.missing |= w.missing
	delay := w.delay(due, start, end)
	queued := w.timer != nil && due <= w.last
	switch {
	case cause == nil:
		w.recorder.Record(w.slot, latency.OK, queued, due, start, end, delay, w.took...)
		w.noteTiming(queued, due, start, end)
		w.failures = 0
		s.addCost(&cost)
	case errors.Is(cause, models.ErrNotOffered):
		s.notOffered = true
	default:
		w.recorder.Record(w.slot, out, queued, due, start, end, delay)
		w.noteTiming(queued, due, start, end)
		// Only failed operations make a client rest: one of unknown outcome has waited already.
		if w.failures++; out != latency.Failed {
			w.failures = 0
		}
		s.errors = results.AddErrors(s.errors, results.ErrorCount{Text: cause.Error(), Count: 1})
		// A panic of a goroutine of the driver ends the phase, as one of the worker does.
		if c := new(crash.Error); errors.As(cause, &c) {
			err = c
		}
	}
	// A message of 25 MB must not leave a buffer of 25 MB with each of 32 workers for good, or hundreds of extra ones.
	if n := cap(w.opened.Body); n > 256<<10 || w.extra && n > 16<<10 {
		w.opened.Body = nil
	}
	w.last = end
	if done := w.done(out); done != nil {
		return cause, done
	}
	return cause, err
}

// noteTiming counts an operation that has ended. It counts as queued if it started too late, because its worker was
// still busy when it was scheduled.
func (w *worker) noteTiming(queued bool, due, start, end time.Duration) {
	t, service := w.tally(), end-start
	t.Started++
	t.LastStart = start.Seconds()
	if queued || w.timer == nil {
		t.Own += int64(start - w.last)
		t.Service += int64(service)
	}
	switch {
	case !queued: // as always in a closed loop
		w.usualTime = 0
	case start-due > w.phase.Lateness:
		t.Queued++
		// There were too few workers: none may be added, and this one has spent longer in usual
		// calls than a start may be late.
		if w.usualTime > w.phase.Lateness && w.phase.pool.whole.Load() {
			t.Crowded++
		}
	}
	// A longer call than usual starts again from 0: the store is the cause of the wait for that call.
	if w.usualTime += service; int64(service) > w.phase.pool.usual[w.slot].Load() {
		w.usualTime = 0
	}
}

// wait returns true when the operation is scheduled, and false if ctx ended before.
func (w *worker) wait(ctx context.Context, due time.Duration) (bool, error) {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	for {
		left := due - w.phase.clock.now()
		if left <= 0 {
			return true, nil
		}
		if err := w.timer.sleep(min(left, look)); err != nil || ctx.Err() != nil {
			return false, err
		}
	}
}

// restLeast is the shortest pause of a client whose operations fail one after the other, or find nothing to work on.
const restLeast = time.Millisecond

// pause lets a client of a closed loop wait, until the phase ends at most. Its time moves on also if d is 0:
// otherwise a phase in which no operation can be executed would not end. In an open loop the schedule limits
// the calls. It returns false if the phase has ended.
func (w *worker) pause(ctx context.Context, d time.Duration) bool {
	if w.timer != nil {
		return true
	}
	length := w.phase.Phase.Duration
	if length > 0 {
		d = min(d, length-w.last)
	}
	if d > 0 {
		_ = drivers.Pause(ctx, d)
	}
	w.last = w.phase.clock.now()
	return ctx.Err() == nil && (length == 0 || w.last < length)
}

// delay is the time that this client lost: the latency is the response time without it. In a closed loop
// it is the hiccup at the end of the call. Each worker keeps a second course of
// events, in which an operation starts when it is scheduled and the worker's operation before has ended,
// and takes the same service time, less the hiccup at its end. Waiting for a slow store is in both
// courses. Late timers, a stopped process and the time that workers take to make operations are
// only in the real one. An operation dropped only in the real one is taken to last as long as the
// worker's last call: beyond a store's capacity both courses drop nearly the same.
func (w *worker) delay(due, start, end time.Duration) time.Duration {
	w.service = max(1, end-start-w.phase.hiccups.before(start, end)) // 0 would be no time that can be compared
	if w.timer == nil {
		return end - start - w.service
	}
	w.idealEnd = max(due, w.idealEnd) + w.service
	return max(0, end-w.idealEnd) // a latency is never longer than it really took
}

// warmWindows is how many of a warm-up's last windows are looked at, at least, before it
// ends.
const warmWindows = 10

// lately is the later half of the windows, but no fewer than warmWindows if there are as
// many: what came before is what a warm-up is for.
func lately(windows []float64) []float64 {
	return windows[min(len(windows)/2, max(0, len(windows)-warmWindows)):]
}

// warm reports whether a warm-up may end before its time: the trend's bounds over the
// last windows are small.
func warm(windows []float64) bool {
	t, ok := judge.Trend(lately(windows))
	return ok && len(windows) >= warmWindows && judge.Steady(t)
}

// Steady reports whether a warm-up with these windows ended with service times that no longer change: its last
// windows show no trend. Too few windows show nothing.
func Steady(windows []float64) bool {
	t, ok := judge.Trend(lately(windows))
	return ok && !judge.Drifts(t)
}
