package drive

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/summary"
)

const (
	// FirstWorkers is how many workers an open loop begins with, if it may have as many.
	FirstWorkers = 32
	// growEvery is how often a pool looks whether all workers are busy.
	growEvery = 5 * time.Millisecond
	// idleMost is how long an extra worker may wait for an operation. After a longer wait it
	// ends: a worker reserves its message before it waits, and so keeps it from others.
	idleMost  = time.Second
	usualMost = 1.5 // see pool.usual
	// usualLeast is how many calls it takes to tell what is usual.
	usualLeast = 8
)

// pool are the workers of a phase. An open loop begins with a few. When all are busy, it
// doubles them, up to Spec.Workers.
type pool struct {
	idle    atomic.Int32  // workers that wait until their operation is due
	spins   atomic.Bool   // a worker spins: see pace
	whole   atomic.Bool   // there are as many workers as there may be
	drained chan struct{} // closed when the stream has no more operations
	once    sync.Once

	mu    sync.Mutex
	all   []*worker // also those that have ended
	alive int       // workers that have not ended
	most  int       // the highest value of alive
	full  bool      // no further worker could be made

	// usual is how long a usual call takes at most, by slot, in nanoseconds; 0 while it is not
	// known. It is usualMost times the lower quartile of calls that found a free worker.
	usual []atomic.Int64
}

// first is how many workers the phase begins with.
func (p *phase) first() int {
	if !p.Stream.Open() {
		return p.Workers
	}
	return min(p.Workers, max(p.First, FirstWorkers))
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

// cap is how many workers the phase could have had.
func (p *phase) cap() int {
	if p.pool.full {
		return p.pool.most
	}
	return p.Workers
}

// leave notes that a worker has ended.
func (p *pool) leave() {
	p.mu.Lock()
	p.alive--
	p.mu.Unlock()
}

// drain notes that the stream has no more operations.
func (p *pool) drain() { p.once.Do(func() { close(p.drained) }) }

// grow adds workers when all are busy, up to Spec.Workers. A worker that cannot be made, say
// for lack of file descriptors, ends the growth and not the phase.
func (p *phase) grow(ctx, opCtx context.Context, g *errgroup.Group) error {
	ticks := time.NewTicker(growEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.pool.drained:
			return nil
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
			g.Go(func() error { return crash.Guard(func() error { return w.work(ctx, opCtx) }) })
		}
		if err != nil {
			p.pool.full = true
			p.pool.whole.Store(true)
			return nil
		}
	}
}

// addUsualTime adds the service time of a usual call to usualTime. A longer call resets it,
// because the store is the cause of the wait for that call.
func (w *worker) addUsualTime(slot int, took time.Duration) {
	if int64(took) > w.phase.pool.usual[slot].Load() {
		w.usualTime = 0
		return
	}
	w.usualTime += took
}

// learn sets usual from all operations so far.
func (p *phase) learn() {
	for i := range p.pool.usual {
		if h := summary.Free(p.recorder.Total(i)); h != nil && h.TotalCount() >= usualLeast {
			p.pool.usual[i].Store(int64(usualMost * float64(latency.At(h, 25))))
		}
	}
}
