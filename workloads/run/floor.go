package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// The floor is what figures contain of mailbench itself: the harness's own CPU
// an operation, over a mailbox that does nothing, and each model's with the
// null engine below it, which yields sample rows for the model to decode.

const (
	floorHarness = 100 * time.Millisecond
	floorOp      = 20 * time.Millisecond // of each operation of each model
)

// floor measures both, for about 0.2 s a model.
func (r *runner) floor(ctx context.Context) {
	if r.config.Null == nil || r.config.NoFloor || r.config.Audit == AuditOnly || ctx.Err() != nil {
		return
	}
	add := func(model string, floors []reports.Floor, err error) {
		if err != nil && ctx.Err() == nil {
			floors = append(floors, reports.Floor{Model: model, Error: err.Error()})
		}
		r.result.Floor = append(r.result.Floor, floors...)
	}
	bare, err := harnessFloor(ctx)
	add("", []reports.Floor{bare}, err)
	for _, m := range r.config.Models {
		floors, err := r.modelFloor(ctx, m)
		add(m.Name, floors, err)
	}
}

// spend calls do until the time is up and returns the CPU time and allocations
// of one call.
func spend(atLeast time.Duration, do func() error) (ns, allocs float64, err error) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	mallocs, cpu, start, n := m.Mallocs, processUsage().cpu, time.Now(), 0
	for batch := 16; time.Since(start) < atLeast; batch = min(4096, 2*batch) {
		for range batch {
			if err := do(); err != nil {
				return 0, 0, err
			}
		}
		n += batch
	}
	cpu = processUsage().cpu - cpu
	runtime.ReadMemStats(&m)
	return float64(cpu) / float64(n), float64((m.Mallocs - mallocs) / uint64(n)), nil
}

// harnessFloor is the cost of an operation over a mailbox that does nothing:
// due time, choice of operation and key, two readings of the clock, recording.
func harnessFloor(ctx context.Context) (reports.Floor, error) {
	w, err := newFloorWorker(ctx)
	if err != nil {
		return reports.Floor{}, err
	}
	ns, allocs, err := spend(floorHarness, func() error {
		n, due, _ := w.claim(w.last)
		return w.step(ctx, ctx, n, due)
	})
	return reports.Floor{NS: ns, Allocs: allocs}, err
}

// newFloorWorker makes a worker of a phase without a store: its schedule is
// always behind, so that nothing waits, its mix needs no message, and its users
// are as popular as Zipf's law says.
func newFloorWorker(ctx context.Context) (*worker, error) {
	wl := &workloads.Workload{
		Name: "floor", Seed: 1,
		Mail:       workloads.Mail{Recipients: random.Constant{Value: 1}},
		Population: workloads.Population{Users: 1000, Folders: random.Constant{Value: 1}, Messages: random.Constant{Value: 1}},
		Keys:       workloads.Keys{Users: random.Keys{Theta: random.DefaultTheta}},
		Phases: []workloads.Phase{{
			Kind: workloads.Measure, Name: "floor", Arrivals: workloads.Constant,
			Rate: workloads.Rate{Count: 1e8, Per: time.Second}, Operations: 1 << 60,
			Mix: workloads.Mix{workloads.List: 50, workloads.Counters: 50},
		}},
	}
	census, err := wl.Census(ctx)
	if err != nil {
		return nil, err
	}
	c := &cell{config: &Config{Workload: wl, Workers: 1, MaxLag: 1000 * time.Hour}, census: census, dataset: &dataset{}}
	c.makeDirectory()
	for u := range c.dir.accounts {
		c.dir.accounts[u].folders = []folder{{&models.Folder{}, &shelf{}}}
	}
	for op := range c.offers {
		c.offers[op] = true
	}
	p := newPhase(c, 0)
	if p.clock, err = startClock(); err != nil {
		return nil, err
	}
	w := &worker{phase: p, mb: nothing{}, meter: drivers.NewMeter(nil), rec: p.recorder.Worker(0)}
	w.entry, w.info = w.listed, w.informed
	return w, nil
}

// nothing is a mailbox that does nothing.
type nothing struct{ models.Mailbox }

func (nothing) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	return nil
}

func (nothing) Stats(context.Context, *models.Folder) (models.Stats, error) {
	return models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes}, nil
}

// modelFloor is the cost of each operation of the workload over the null
// engine, for a few messages of the workload's own mail.
func (r *runner) modelFloor(ctx context.Context, m models.Model) (floors []reports.Floor, err error) {
	dir, err := os.MkdirTemp(r.data.path, "floor-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	wl := *r.config.Workload
	wl.Population = workloads.Population{Users: 1, Folders: random.Constant{Value: 2}, Messages: random.Constant{Value: 8}}
	wl.Phases = []workloads.Phase{{Kind: workloads.Load, Name: "load", Clients: 1}}
	for op := range workloads.NumOps {
		if r.measures(workloads.Op(op)) {
			p := workloads.Phase{Kind: workloads.Measure, Name: workloads.Op(op).String(), Arrivals: workloads.Closed, Clients: 1}
			p.Mix[op] = 1
			wl.Phases = append(wl.Phases, p)
		}
	}
	census, err := wl.Census(ctx)
	if err != nil {
		return nil, err
	}
	c := &cell{
		config: &Config{Workload: &wl, Workers: 1, Model: r.config.Model}, model: m, engine: *r.config.Null, path: dir,
		source: r.source, census: census, progress: func(Progress) {}, large: semaphore.NewWeighted(largeAtOnce),
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	if err := c.load(ctx, 0); err != nil {
		return nil, err
	}
	c.offersOfPromise()
	for i := 1; i < len(wl.Phases) && ctx.Err() == nil; i++ {
		f, ok, err := c.opFloor(ctx, i)
		if err != nil {
			return nil, err
		}
		if ok {
			floors = append(floors, f)
		}
	}
	return floors, nil
}

// measures reports whether the workload measures the operation.
func (r *runner) measures(op workloads.Op) bool {
	for i := range r.config.Workload.Phases {
		if p := &r.config.Workload.Phases[i]; p.Kind == workloads.Measure && p.Mix.Has(op) {
			return true
		}
	}
	return false
}

// opFloor is the cost of the call of phase i's only operation; false if the
// model has none or there is nothing to call it on.
func (c *cell) opFloor(ctx context.Context, i int) (f reports.Floor, ok bool, err error) {
	p := newPhase(c, i)
	w, err := newWorker(p, 0)
	if err != nil {
		return f, false, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.plan.Next(0, &w.op)
	o := &operations[w.op.Op]
	if !w.offers[w.op.Op] || !o.target(w) {
		return f, false, w.err
	}
	f = reports.Floor{Model: c.model.Name, Op: w.op.Op.String()}
	f.NS, f.Allocs, err = spend(floorOp, func() error {
		if err := o.run(ctx, w); errors.Is(err, context.Canceled) {
			return err
		}
		return nil // what the null engine makes a model say is not wrong
	})
	return f, true, errors.Join(err, w.finish(o, latency.Dropped))
}
