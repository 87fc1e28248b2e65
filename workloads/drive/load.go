package drive

import (
	"context"
	"errors"
	"fmt"
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
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() != nil: // the phase ended while a message was made
			w.tally().Due--
			return nil
		case err == nil && ctx.Err() == nil:
			err = w.phase.miss(cause)
		}
		if err != nil {
			return fmt.Errorf("load message %d into %s of %s: %w",
				w.op.N, plan.FolderName(w.op.Folder), plan.Address(w.op.User), err)
		}
	}
	return nil
}

// miss counts a message that was not delivered, for the given cause. The error, if any,
// ends the load. Over a network 10 messages may be missing, or 1% of them if that is more.
func (p *phase) miss(cause error) error {
	if cause == nil || errors.Is(cause, drivers.ErrTooLarge) {
		return nil // the recorder has counted it
	}
	if !p.target.Engine.Remote {
		return cause
	}
	if n := p.undelivered.Add(1); float64(n) > max(10, 0.01*float64(p.Total)) {
		return fmt.Errorf("no more than %d messages may be missing: %w", n-1, cause)
	}
	return nil
}

// loadOne tries to deliver one message; cause is why it was not delivered. One that is known to have failed is tried
// up to 9 times, with pauses of 25 s in all: by then another node has taken over from one that died. One of unknown
// outcome is not tried again, since it might then be there twice. A load without answers ends sooner: see SilenceMost.
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
	for try := range 9 {
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
		last := cause
		w.phase.lastCause.Store(&last)
		if outcome(cause) != latency.Failed || !w.target.Engine.Remote || ctx.Err() != nil {
			break
		}
	}
	return cause, nil
}

// FirstWorkers is how many workers an open loop begins with, if it may have as many.
const FirstWorkers = 32

// pool are the workers of a phase. An open loop begins with a few. When all are busy, it
// doubles them, up to Spec.Workers.
type pool struct {
	idle    atomic.Int32       // workers that wait until their operation is scheduled
	whole   atomic.Bool        // there are as many workers as there may be
	drained context.CancelFunc // ends the growth: the stream has no more operations

	alive atomic.Int32 // workers that have not ended
	// One goroutine at a time adds workers.
	all  []*worker // also those that have ended
	most int       // the highest value of alive

	// usual is how long a usual call takes at most, by slot, in nanoseconds; 0 while it is not
	// known. It is 1.5 times the lower quartile of 8 or more calls that found a free worker.
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
		p.pool.all = append(p.pool.all, w)
		alive := int(p.pool.alive.Add(1))
		p.pool.most = max(p.pool.most, alive)
		p.pool.whole.Store(alive >= p.Workers)
	}
	return added, nil
}

// grow adds workers when all are busy, up to Spec.Workers. It looks every 5 ms. A worker that cannot be made, say
// for lack of file descriptors, ends the growth and not the phase.
func (p *phase) grow(ctx context.Context, start func(*worker)) {
	ticks := time.NewTicker(5 * time.Millisecond)
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
		busy := int(p.pool.alive.Load())
		added, err := p.add(max(0, min(busy, p.Workers-busy)))
		for _, w := range added {
			w.extra, w.last = true, p.clock.now()
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
		if h := &p.recorder.Total[i].Times[latency.Free]; h.Count() >= 8 {
			p.pool.usual[i].Store(int64(1.5 * float64(h.At(25, 0))))
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
