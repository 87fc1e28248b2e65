package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// load delivers messages of the load, in order of arrival, until there are no
// more. Unlike an operation of a mix, a delivery that fails ends the load, because
// later phases would measure another data set. Over a network a few may be missing.
func (w *worker) load(ctx, opCtx context.Context) error {
	// A message in a ledger was acknowledged, and must be as durable as the engine
	// promises. A data set that lives for one run need not be durable.
	if b, ok := w.session.(drivers.Bulk); ok && w.target.Acknowledged == nil {
		b.Bulk(true)
		defer b.Bulk(false)
		w.phase.bulk.Store(true)
	}
	for ctx.Err() == nil {
		if _, ok := w.draw(); !ok {
			return nil
		}
		cause, err := w.loadOne(ctx, opCtx)
		if interrupted(ctx, err) {
			w.tally().Due--
			return nil
		}
		if err == nil && ctx.Err() == nil {
			err = w.phase.miss(cause)
		}
		if err != nil {
			folder, account := plan.FolderName(w.op.Folder), plan.Address(w.op.User)
			return fmt.Errorf("load message %d into %s of %s: %w", w.op.N, folder, account, err)
		}
	}
	return nil
}

// A load over a network may miss missesMost messages, or the share missesShare of
// them, whichever is more. A delivery that is known to have failed is tried up to
// loadTries times, with pauses of 25 s in all: by then another node has taken over
// from one that died. A delivery of unknown outcome is not tried again, since the
// message might then be there twice. A load without answers ends much sooner: see SilenceMost.
const (
	missesMost  = 10
	missesShare = 0.01
	loadTries   = 9
)

// miss counts a message that was not delivered, for the given cause. The error, if any,
// ends the load.
func (p *phase) miss(cause error) error {
	if cause == nil || errors.Is(cause, drivers.ErrTooLarge) {
		return nil // the recorder has counted it
	}
	if !p.target.Engine.Remote {
		return cause
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.undelivered++; float64(p.undelivered) > max(missesMost, missesShare*float64(p.Total)) {
		return fmt.Errorf("no more than %d messages may be missing: %w", p.undelivered-1, cause)
	}
	return nil
}

// loadOne tries to deliver one message; cause is why it was not delivered.
func (w *worker) loadOne(ctx, opCtx context.Context) (cause, err error) {
	size := int64(0)
	if m, ok := w.mail.(interface{ Size(n uint64) int64 }); ok { // of a file; the bound covers parsing and decoding
		size = m.Size(w.op.Message)
	}
	held, err := w.reserve(opCtx, size)
	if err == nil {
		err = w.chooseRecipients()
		w.target.Large.Release(held)
	}
	if err == nil {
		held, err = w.reserve(opCtx, w.bytes())
	}
	if err != nil {
		return nil, err
	}
	defer w.target.Large.Release(held)
	for try := range loadTries {
		if try > 0 {
			_ = drivers.Pause(ctx, 50*time.Millisecond<<try)
		}
		if cause, err = w.execute(opCtx, 0, 0); err != nil {
			return nil, err
		}
		if cause == nil {
			t := w.tally()
			if len(w.phase.Phase.Patterns) > 0 { // the message only has the number of the rows, of which each table has some
				t.Unit, t.Copies = "row", w.stats.ops[w.slot].cost.RowsWritten
			} else {
				t.Copies += int64(len(w.sets))
				t.MailBytes += int64(len(w.sets)) * w.message.Raw.Size()
			}
			return nil, nil
		}
		w.phase.mu.Lock()
		w.phase.lastCause = cause
		w.phase.mu.Unlock()
		if outcome(cause) != latency.Failed || !w.target.Engine.Remote || ctx.Err() != nil {
			break
		}
	}
	return cause, nil
}

const (
	// FirstWorkers is how many workers an open loop begins with, if it may have as many.
	FirstWorkers = 32
	// growEvery is how often a pool looks whether all workers are busy.
	growEvery = 5 * time.Millisecond
	// idleMost is how long an extra worker may wait for an operation. After a longer wait it
	// ends: a worker reserves its message before it waits, and so keeps it from others.
	idleMost  = time.Second
	usualMost = 1.5 // see pool.usual
	// usualLeast is how many calls it takes to know the usual time.
	usualLeast = 8
)

// pool are the workers of a phase. An open loop begins with a few. When all are busy, it
// doubles them, up to Spec.Workers.
type pool struct {
	idle    atomic.Int32       // workers that wait until their operation is scheduled
	whole   atomic.Bool        // there are as many workers as there may be
	drained context.CancelFunc // ends the growth: the stream has no more operations

	mu    sync.Mutex
	all   []*worker // also those that have ended
	alive int       // workers that have not ended
	most  int       // the highest value of alive

	// usual is how long a usual call takes at most, by slot, in nanoseconds; 0 while it is not
	// known. It is usualMost times the lower quartile of calls that found a free worker.
	usual []atomic.Int64
}

// add makes n more workers.
func (p *phase) add(n int) (added []*worker, err error) {
	for range n {
		w, err := newWorker(p, len(p.pool.all))
		if err != nil {
			return added, err
		}
		added = append(added, w)
		p.pool.mu.Lock()
		p.pool.all = append(p.pool.all, w)
		p.pool.alive++
		p.pool.most = max(p.pool.most, p.pool.alive)
		p.pool.whole.Store(p.pool.alive >= p.Workers)
		p.pool.mu.Unlock()
	}
	return added, nil
}

// leave notes that a worker has ended.
func (p *pool) leave() {
	p.mu.Lock()
	p.alive--
	p.mu.Unlock()
}

// grow adds workers when all are busy, up to Spec.Workers. A worker that cannot be made, say
// for lack of file descriptors, ends the growth and not the phase.
func (p *phase) grow(ctx context.Context, start func(*worker)) {
	ticks := time.NewTicker(growEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if p.pool.idle.Load() > 0 {
			continue
		}
		p.pool.mu.Lock()
		busy := p.pool.alive
		p.pool.mu.Unlock()
		added, err := p.add(max(0, min(busy, p.Workers-busy)))
		for _, w := range added {
			w.extra = true
			w.last = p.clock.now()
			w.idealEnd = w.last
			start(w)
		}
		if err != nil {
			p.Workers = p.pool.most
			p.pool.whole.Store(true)
			return
		}
	}
}

// learn sets usual from all operations so far.
func (p *phase) learn() {
	for i := range p.pool.usual {
		if h := &p.recorder.Total[i].Times[latency.Free]; h.Count() >= usualLeast {
			p.pool.usual[i].Store(int64(usualMost * float64(h.At(25, 0))))
		}
	}
}

// overdueMost is how many overdue operations are looked at, which takes a second or two.
const overdueMost = 1 << 22

// countOverdue counts the operations that were scheduled before the phase was stopped, and that no
// worker had taken. They were offered, and not executed. It looks at overdueMost of them
// and assumes the same rate and the same streams for the rest.
func (p *phase) countOverdue(stopped time.Duration) {
	var o plan.Operation
	seen, taken := make([]results.Offered, len(p.stats.streams)), p.stats.sum().Due
	first, last, n := stopped, stopped, int64(0)
	for ; n < overdueMost; n++ {
		due, ok := p.Stream.Next(stopped, &o)
		if !ok || due > stopped {
			break
		}
		first, last = min(first, due), due
		seen[o.Stream].Due++
		if p.unsupported(&o) {
			seen[o.Stream].Skipped++
		}
	}
	times := 1.0
	if n == overdueMost && last > first {
		times = float64(stopped-first) / float64(last-first)
	}
	if most := int64(p.Phase.Operations); most > 0 && n > 0 {
		times = min(times, float64(most-taken)/float64(n))
	}
	for i, s := range seen {
		t := &p.stats.streams[i]
		t.Due += int64(times * float64(s.Due))
		t.Skipped += int64(times * float64(s.Skipped))
	}
}
