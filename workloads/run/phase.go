package run

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// phase is one phase of a cell while it runs, shared by its workers.
type phase struct {
	*cell
	spec     *workloads.Phase
	plan     *workloads.Plan
	recorder *latency.Recorder
	clock    clock
	began    time.Time
	lateness time.Duration // how late a start may be that is still on time

	mu       sync.Mutex
	schedule workloads.Schedule // nil: closed loop
	next     uint64             // number of the next operation
	load     *workloads.LoadOrder
	bulk     bool // the load is not durable before the store has settled
	missed   int  // messages of the load that could not be delivered

	// What it came to.
	seconds    float64
	line       timeline
	windows    []float64       // service times, by window
	lags       []time.Duration // means, by window
	seen       sightings
	gc         time.Duration // stopped by the garbage collector
	used       usage
	operations int64 // recorded so far
}

// grace is how long operations under way may take to end when a run is
// interrupted.
const grace = 5 * time.Second

// newPhase prepares phase i of the workload.
func newPhase(c *cell, i int) *phase {
	spec := &c.config.Workload.Phases[i]
	p := &phase{cell: c, spec: spec, lateness: max(lateness, c.service)}
	if spec.Runs() {
		p.plan = c.config.Workload.Plan(i, c.census)
		p.schedule = spec.Schedule(c.config.Workload.Seed)
	}
	p.recorder = latency.NewRecorder(workloads.NumOps, p.workers(), p.schedule != nil)
	return p
}

// workers is how many operations may be under way.
func (p *phase) workers() int {
	if p.spec.Clients > 0 {
		return p.spec.Clients
	}
	return p.config.workers()
}

// claim takes the next operation. A closed loop's ends with its time, which is
// that of the worker's last look at the clock.
func (p *phase) claim(last time.Duration) (n uint64, due time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schedule != nil {
		due, ok = p.schedule.Next()
	} else {
		ok = (p.spec.Operations == 0 || p.next < p.spec.Operations) && (p.spec.Duration == 0 || last < p.spec.Duration)
	}
	n = p.next
	p.next++
	return n, due, ok
}

// run lets the workers carry out the phase. When ctx ends, they begin no more.
func (p *phase) run(ctx context.Context) error {
	runtime.GC() // what the phase before left is not this one's to collect
	p.began = time.Now()
	var err error
	if p.clock, err = startClock(); err != nil {
		return err
	}
	workers := make([]*worker, p.workers())
	defer func() { p.closeWorkers(workers, &err) }()
	for i := range workers {
		if workers[i], err = newWorker(p, i); err != nil {
			return err
		}
	}
	if p.clock, err = startClock(); err != nil {
		return err
	}
	p.began = p.clock.base
	before, paused := processUsage(), gcPaused()

	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	opCtx, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, kill) })()
	g, gctx := errgroup.WithContext(workCtx)
	for _, w := range workers {
		g.Go(func() error {
			if p.load != nil {
				return w.loadAll(gctx, opCtx)
			}
			return w.work(gctx, opCtx)
		})
	}
	done := make(chan struct{})
	go func() { err = g.Wait(); close(done) }()
	logErr := p.collect(done, stop)
	<-done

	p.seconds = p.clock.now().Seconds()
	after := processUsage()
	p.used = usage{cpu: after.cpu - before.cpu, machine: after.machine - before.machine, rss: after.rss}
	p.gc = gcPaused() - paused
	for _, w := range workers {
		p.seen.add(&w.seen)
	}
	err = errors.Join(err, logErr)
	return err
}

func (p *phase) closeWorkers(workers []*worker, err *error) {
	for _, w := range workers {
		if w != nil {
			*err = errors.Join(*err, w.close())
		}
	}
}

// tickEvery is how long a window is: a second, or a tenth of a short phase.
func (p *phase) tickEvery() time.Duration {
	if p.spec.Duration > 0 {
		return min(time.Second, max(100*time.Millisecond, p.spec.Duration/10))
	}
	return time.Second / 2
}

// collect takes what the workers recorded, window by window, until they have
// ended, and once more then.
func (p *phase) collect(done <-chan struct{}, stop context.CancelFunc) error {
	p.line.tick = p.tickEvery()
	ticks := time.NewTicker(p.line.tick)
	defer ticks.Stop()
	from := p.began
	for {
		last := false
		select {
		case <-done:
			last = true
		case <-ticks.C:
		}
		to := time.Now()
		ops := p.recorder.Tick()
		if err := p.logInterval(ops, from, to); err != nil {
			stop()
			<-done
			return err
		}
		p.line.add(ops, p.reported(), from.Sub(p.began), to.Sub(p.began), last)
		p.window(ops, to.Sub(from), last)
		if last {
			p.line.silent(to.Sub(p.began))
			return nil
		}
		if p.spec.Kind == workloads.Warmup && warm(p.windows) {
			stop()
		}
		from = to
	}
}

// reported is the time that the phase reports of its operations.
func (p *phase) reported() latency.Kind {
	if p.schedule != nil {
		return latency.Response
	}
	return latency.Service
}

// window adds a window to those seen, and tells the caller how far the phase
// is. The last one is partial and too short to compare.
func (p *phase) window(ops []latency.Op, length time.Duration, last bool) {
	var weights [workloads.NumOps]float64
	var done int64
	var lag, lags float64
	for i := range ops {
		for _, n := range ops[i].Counts {
			done += n
		}
		if h := ops[i].Times[latency.Lag]; h != nil && h.TotalCount() > 0 {
			lag += h.Mean() * float64(h.TotalCount())
			lags += float64(h.TotalCount())
		}
		weights[i] = float64(p.recorder.Total(i).Counts[latency.OK])
	}
	p.operations += done
	if score, ok := windowScore(ops, weights[:]); ok && !last {
		p.windows = append(p.windows, score)
		p.lags = append(p.lags, time.Duration(lag/max(1, lags)))
	}
	if last { // a window that ends with its phase says little: tell of all
		done, length = p.operations, p.clock.now()
	}
	p.report(float64(done)/max(length.Seconds(), 1e-3), last)
}

// report tells the caller how far the phase is.
func (p *phase) report(rate float64, last bool) {
	pr := Progress{Phase: p.spec.Name, Done: p.operations, Total: int64(p.spec.Operations), Rate: rate, Fraction: -1, Finished: last}
	elapsed := p.clock.now()
	if p.load != nil {
		pr.Total = int64(p.census.Messages())
	}
	switch {
	case last:
		pr.Fraction = 1
	case pr.Total > 0:
		pr.Fraction = float64(pr.Done) / float64(pr.Total)
	case p.spec.Duration > 0:
		pr.Fraction = min(1, float64(elapsed)/float64(p.spec.Duration))
	}
	if pr.Fraction > 0 && !last {
		pr.ETA = time.Duration(float64(elapsed)/pr.Fraction) - elapsed
	}
	p.progress(pr)
}

// logInterval writes a window of a measured phase to the interval log.
func (p *phase) logInterval(ops []latency.Op, from, to time.Time) error {
	if p.log == nil || p.spec.Kind != workloads.Measure {
		return nil
	}
	return p.log.Write(p.tag(), opNames(), ops, from, to)
}

// tag begins the tags of the phase in the interval log: model and engine, and
// the phase where the workload measures in several.
func (p *phase) tag() string {
	measured := 0
	for i := range p.config.Workload.Phases {
		if p.config.Workload.Phases[i].Kind == workloads.Measure {
			measured++
		}
	}
	tag := p.model.Name + "." + p.engine.Name
	if measured > 1 {
		tag += "." + p.spec.Name
	}
	return tag
}

func opNames() []string {
	names := make([]string, workloads.NumOps)
	for i := range names {
		names[i] = workloads.Op(i).String()
	}
	return names
}

// gcPaused is for how long the collector has stopped the process in all.
func gcPaused() time.Duration {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Duration(m.PauseTotalNs)
}
