package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// phases are the phases of one point, and what they have found out for those that follow.
type phases struct {
	*combination
	median  time.Duration // service time of the warm-up
	workers int           // how many workers the warm-up needed
	settled bool          // the engine came to rest in the time allowed
	warm    bool          // the service times of the warm-up became steady
	cold    bool          // the phases that follow begin with cold caches
}

// phases are the phases of the point under way.
func (c *combination) phases() *phases { return &phases{combination: c, settled: true, warm: true} }

// run carries out the workload's phases in order and says whether it came to
// the end.
func (c *phases) run(ctx context.Context) bool {
	for i := range c.workload().Phases {
		own := c.runner.config.Shard.Own(c.workload().Phases[i])
		p := &own
		if ctx.Err() != nil {
			c.giveUp(ctx, ctx.Err())
			return false
		}
		if p.Kind == workloads.Load && c.loaded {
			continue
		}
		if c.target.NotOffered != "" {
			if p.Kind == workloads.Measure {
				add(c.runner.result, c.notOffered(p))
			}
			continue
		}
		c.runner.progress(p.Name, drive.Progress{Fraction: -1})
		err := c.together(ctx, fmt.Sprintf("phase %d", i+1))
		if err == nil {
			err = crash.Guard(func() error { return c.one(ctx, p) })
		}
		if err != nil {
			c.giveUp(ctx, err)
			c.failed(ctx, p, err)
			return false
		}
		c.runner.save()
	}
	return c.endTogether(ctx)
}

// endTogether waits until all shards have carried out their last phase. If one has not, because it
// died, the phases of this one are no part of a whole run.
func (c *phases) endTogether(ctx context.Context) bool {
	err := ctx.Err() // one that was interrupted in its last phase must not come to the barrier
	if err == nil {
		err = c.together(ctx, "end of phases")
	}
	if err != nil {
		c.giveUp(ctx, err)
		c.notDone(ctx, "wait for the other shards", err)
	}
	return err == nil
}

// one carries out one phase and adds its cell.
func (c *phases) one(ctx context.Context, p *workloads.Phase) (err error) {
	switch p.Kind {
	case workloads.Load:
		return c.load(ctx, p)
	case workloads.Settle, workloads.Cold:
		return c.rest(ctx, p)
	case workloads.Interrupt:
		return c.interrupt(ctx, p)
	case workloads.Measure:
		if c.runner.config.FindMax != nil {
			if !searched(c.workload(), p) {
				return nil
			}
			return c.search(ctx, p)
		}
	}
	return c.mixed(ctx, p)
}

// load makes the data set, or uses the one that is there. A smaller data set grows, and
// an interrupted load is completed.
func (c *phases) load(ctx context.Context, p *workloads.Phase) error {
	populate := c.target.Populate
	if c.grows {
		populate = func(ctx context.Context) (*subject.Load, error) {
			return c.target.Grow(ctx, c.workload(), c.at.census, c.at.source)
		}
	}
	load, err := populate(ctx)
	if c.unlisted == "" { // else its audits would no longer say so
		err = errors.Join(err, c.runner.data.hold(c.dir))
	}
	if err != nil || load == nil {
		return err
	}
	if load.Note != "" {
		c.runner.note(load.Note)
	}
	before := c.target.Observe()
	m, err := drive.Drive(ctx, c.target, c.spec(p, load.Stream, load.Messages))
	cell := c.measured(p, &m, before)
	cell.Evidence.Load = load.Note
	add(c.runner.result, cell)
	if err != nil || ctx.Err() != nil {
		return err
	}
	return c.target.Loaded()
}

// rest carries out a phase without operations: settle or cold.
func (c *phases) rest(ctx context.Context, p *workloads.Phase) (err error) {
	cell := c.blank(p)
	began := time.Now()
	if c.cold = p.Kind == workloads.Cold; c.cold {
		cell.Evidence.NotCold, err = c.target.Cool(ctx)
	} else {
		c.settled, err = c.target.Settle(ctx)
	}
	if err != nil {
		return err
	}
	cell.Evidence.Settled = c.settled
	times(&cell, began, time.Now())
	cell.Engines = c.target.Observe()
	add(c.runner.result, cell)
	return nil
}

// firstWarmup is how many times as long the first warm-up of a model on an engine lasts in a sweep.
// A process that becomes warm along the points would look like a figure that falls.
const firstWarmup = 10

// warmLong lengthens a warm-up if it is the first of its kind.
func (r *runner) warmLong(of string, p *workloads.Phase) {
	if r.warm[of] {
		return
	}
	if r.warm == nil {
		r.warm = map[string]bool{}
	}
	r.warm[of] = true
	p.Duration, p.Operations = firstWarmup*p.Duration, firstWarmup*p.Operations
}

// mixed carries out a warm-up or a measured phase.
func (c *phases) mixed(ctx context.Context, p *workloads.Phase) error {
	before := c.target.Observe()
	drawn := c.workload().OfTrial(p.Without(c.target.Lacks()), c.trial)
	if p.Kind == workloads.Warmup && c.at.number > 0 {
		c.runner.warmLong(c.model.Name+" on "+c.engine.Name, &drawn)
	}
	held := c.held()
	m, err := drive.Drive(ctx, c.target, c.spec(&drawn, plan.StreamOf(c.workload(), &drawn, c.at.census), 0))
	cell := c.measured(p, &m, before)
	if held != nil {
		held.After = int64(c.target.Live.Messages())
		cell.Evidence.Held = held
	}
	add(c.runner.result, cell)
	if p.Kind == workloads.Warmup {
		c.warm = m.Steady || p.Operations > 0
		c.median, c.workers = m.Median, m.Client.Workers
	}
	return err
}

// spec says what to carry out in a phase.
func (c *phases) spec(p *workloads.Phase, s plan.Stream, total int64) drive.Spec {
	r := c.runner
	spec := drive.Spec{
		Phase: *p, Stream: s, Total: total, Workers: r.config.workers(c.engine, p), First: c.workers,
		MaxLag: r.config.maxLag(), Lateness: c.median, MemoryLimit: r.memoryLimit, Silence: r.config.LoadSilence,
		Progress: func(d drive.Progress) { r.progress(p.Name, d) },
	}
	if p.Kind == workloads.Load {
		spec.Workers = r.config.loaders()
	}
	// A merge of shards adds the histograms of loads and warm-ups too. An error of the log
	// does not stop the phase, whose figures do not need it: Run returns it at the end.
	if key := c.key(p.Name); r.log != nil && (p.Kind == workloads.Measure || r.config.Shard.Divides()) {
		names := drive.LogNames(p)
		tag := func(op int, k latency.Kind) string { return key.Tag(names[op], k.String()) }
		spec.Log = func(ops []latency.Op, hiccups *hdr.Histogram, from, to time.Time) {
			if r.logErr == nil {
				r.logErr = r.log.Write(tag, ops, from, to)
			}
			if r.logErr == nil {
				r.logErr = r.log.WriteOne(key.Tag("client", "hiccup"), hiccups, from, to)
			}
		}
	}
	if observe := r.config.Observe; observe != nil {
		key, log := c.key(p.Name), spec.Log
		name := func(op int) string { return workloads.Op(op).String() }
		spec.Log = func(ops []latency.Op, hiccups *hdr.Histogram, from, to time.Time) {
			observe(key, name, ops[:workloads.NumOps])
			if log != nil {
				log(ops, hiccups, from, to)
			}
		}
	}
	return spec
}

// failed records why a phase could not be carried out, or not to its end. An error
// after the run was interrupted is no failure.
func (c *phases) failed(ctx context.Context, p *workloads.Phase, err error) {
	if !isFailure(ctx, err) {
		return
	}
	c.corrupt(err)
	if stack(err) != "" && c.target != nil {
		c.target.Broken()
	}
	cells := c.runner.result.Cells
	if last := len(cells) - 1; last >= 0 && cells[last].Key == c.key(p.Name) {
		cells[last].Error, cells[last].Stack = err.Error(), stack(err)
		judged(c.runner.result, &cells[last])
		return
	}
	cell := c.blank(p)
	cell.Error, cell.Stack = err.Error(), stack(err)
	add(c.runner.result, cell)
}
