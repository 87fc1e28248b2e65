package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/interrupt"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// combination is one model on one engine with one data set, at one point and in one trial, or in all trials that reuse
// its store. It executes all phases of the workload, one after another.
type combination struct {
	task     // under way
	runner   *runner
	segments *meet.Segments // segments that load the engine together; nil: there are none

	target *subject.Target // nil until it is open
	cell   *results.Cell   // of the phase under way; nil: it did not begin, or has none
	extra  int             // phases that searches and traces have added to those of the workload

	// The phases of the task have found these out for those that follow.
	median  time.Duration // service time of the warm-up
	settled bool          // the engine came to rest in the time allowed
	warm    bool          // the service times of the warm-up became steady
	cold    bool          // the phases that follow begin with cold caches
}

// run executes the task: it opens the store, or wakes the one that the trial before has left, executes the phases
// unless the run only audits, and audits. The result has everything that was measured, whatever happens. It returns
// true if it leaves the store asleep to the next trial.
func (c *combination) run(ctx context.Context) (open bool) {
	only := c.runner.config.Audit == AuditOnly
	if only && !c.adopt() {
		return false
	}
	defer func() {
		if !open {
			c.close(ctx)
		}
	}()
	c.median, c.settled, c.warm, c.cold = 0, true, true, false
	if c.segments != nil {
		c.segments.Part = c.trialName()
	}
	reused := c.target != nil
	err := crash.Guard(func() (err error) {
		if !reused {
			c.target, err = subject.Open(ctx, c.targetConfig())
		} else if s, ok := c.target.Store.(drivers.Sleeper); ok {
			err = s.Wake()
		}
		return err
	})
	switch {
	case err != nil && only:
		if !c.corrupt(err) {
			c.notDone(ctx, "audit", err)
		}
	case err != nil:
		c.add(ctx, &c.at.workload.Phases[0], err)
	case !only:
		err = c.phases(ctx, reused)
	}
	if err != nil {
		c.giveUp(ctx, err)
		return false
	}
	if c.more && ctx.Err() == nil {
		err := c.target.Sleep()
		if c.notDone(ctx, "close between trials", err); err == nil {
			return true
		}
	}
	if c.runner.config.Audit != NoAudit && ctx.Err() == nil {
		c.audit(ctx)
	}
	return false
}

// adopt enters the workload of the data set that an earlier run left in the folder. It returns false if there is none.
func (c *combination) adopt() bool {
	d, err := subject.ReadDataset(c.dir)
	if d != nil { // it knows only the name and seed of the workload that loaded it
		c.runner.result.Workload, c.runner.result.Seed = results.Workload{Name: d.Workload}, d.Seed
	}
	return d != nil || err != nil // else that run was killed before it loaded anything
}

// phases executes the workload's phases in order, without loads if the store is reused. A phase that could not be
// executed says why in its cell, and ends them with that error.
func (c *combination) phases(ctx context.Context, reused bool) error {
	for i := range c.at.workload.Phases {
		p := new(c.at.workload.Phases[i])
		execute, offered := c.mixed, c.target.NotOffered == ""
		switch {
		case p.Kind == workloads.Load && reused, p.Kind != workloads.Measure && !offered:
			continue
		case !offered:
			execute = c.notOffered
		case p.Kind == workloads.Load:
			execute = c.load
		case !p.Runs():
			execute = c.rest
		case p.Kind == workloads.Measure && c.runner.config.FindMax != nil:
			execute = c.search
		}
		c.runner.progress(p.Name, drive.Progress{Fraction: -1})
		err := c.together(ctx, fmt.Sprintf("phase %d", i+1))
		if err == nil {
			err = crash.Guard(func() error { return execute(ctx, p) })
		}
		if c.add(ctx, p, err); err != nil {
			return err
		}
		if p.Kind != workloads.Settle && p.Kind != workloads.Cold && p.Kind != workloads.Warmup { // saving them takes longer
			c.runner.save()
		}
	}
	err := c.together(ctx, "end of phases") // else these phases are no part of a whole run
	if c.notDone(ctx, "wait for the other segments", err); err == nil {
		c.examined(ctx)
	}
	return err
}

func (c *combination) targetConfig() subject.Config {
	o := c.runner.config
	config := subject.Config{
		Workload: c.at.workload, Census: c.at.census, Mail: c.at.source,
		Model: c.at.model(c.model), Engine: c.engine,
		Dir: c.dir, EngineOptions: o.EngineOptions, Workers: o.loaders(),
		Keep: o.DataDir != "", Ledger: o.DataDir != "" || o.Audit != NoAudit, AuditOnly: o.Audit == AuditOnly,
		Segments: c.segments,
	}
	if o.Processes != nil && c.engine.Remote {
		config.Processes = o.Processes(c.engine.Name, o.contact(c.engine.Name))
	}
	if o.Segment.Divides() {
		config.Namespace = o.namespace(c.trialName())
	}
	return config
}

// close releases the target and removes temporary data. The result says what could not be removed.
func (c *combination) close(ctx context.Context) {
	if c.target != nil { // it was opened
		err := crash.Guard(func() error { return c.target.Close(ctx) })
		if left := c.target.Left; left != "" {
			c.runner.result.Left = append(c.runner.result.Left, left)
		}
		c.runner.addSchema(c.target.Schema)
		c.notDone(ctx, "close", err)
	}
	if c.runner.data.temporary {
		if err := os.RemoveAll(c.dir); err != nil {
			c.runner.result.Left = append(c.runner.result.Left, fmt.Sprintf("temporary data could not be removed: %v", err))
		}
	}
}

// audit compares the store with the ledger.
func (c *combination) audit(ctx context.Context) {
	err := crash.Guard(func() error {
		if err := c.together(ctx, "audit"); err != nil {
			return err
		}
		c.runner.progress("audit", drive.Progress{Fraction: -1})
		found, err := c.target.Audit(ctx)
		if found != nil {
			c.addAudit(*found)
		}
		return err
	})
	c.notDone(ctx, "audit", err)
}

// corrupt reports whether a store or its ledger is damaged. Then data may be lost, and an audit says so.
func (c *combination) corrupt(err error) bool {
	if !errors.Is(err, drivers.ErrCorrupt) {
		return false
	}
	c.addAudit(results.Audit{Fault: err.Error()})
	return true
}

func (c *combination) addAudit(a results.Audit) {
	k := c.key("audit")
	a.Model, a.Engine, a.Point, a.Trial, a.Segment = k.Model, k.Engine, k.Point, k.Trial, k.Segment
	if c.runner.config.reuses() { // it is of all trials
		a.Trial = 0
	}
	c.runner.result.Audits = append(c.runner.result.Audits, a)
}

// isFailure reports whether err is a panic, or an error of a run that was not interrupted.
func isFailure(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() == nil || stack(err) != "")
}

// stack returns the stack of the panic that caused err; "" if none did.
func stack(err error) string {
	if c, ok := errors.AsType[*crash.Error](err); ok {
		return c.Stack
	}
	return ""
}

// notDone records why a step that is no phase could not be executed.
func (c *combination) notDone(ctx context.Context, name string, err error) {
	if !isFailure(ctx, err) {
		return
	}
	c.cell = c.blank(&workloads.Phase{Name: name})
	c.cell.Kind, c.cell.Evidence = results.KindStep, nil
	c.cell.Error, c.cell.Stack = err.Error(), stack(err)
	c.add(ctx, nil, nil)
}

// load makes the data set, or uses the one that is there. An interrupted load is completed.
func (c *combination) load(ctx context.Context, p *workloads.Phase) error {
	load, err := c.target.Populate(ctx)
	if err != nil || load == nil {
		return err
	}
	if load.Note != "" {
		c.runner.note(load.Note)
	}
	spec := c.spec(p)
	spec.Stream, spec.Total, spec.Workers = load.Stream, load.Messages, c.runner.config.loaders()
	c.cell = spec.Cell
	err = drive.Drive(ctx, c.target, spec)
	c.cell.Evidence.Load = load.Note
	if err == nil && ctx.Err() == nil {
		err = crash.Guard(c.target.Loaded)
	}
	return err
}

// rest executes a phase without operations of a mix: settle, cold or interrupt. Of several segments the first
// interrupts operations. On an engine that keeps nothing there is nothing to look at after that.
func (c *combination) rest(ctx context.Context, p *workloads.Phase) (err error) {
	cell := c.blank(p)
	began := time.Now()
	switch p.Kind {
	case workloads.Interrupt:
		if !c.target.Caps.Discards && c.runner.config.Segment.Index <= 1 {
			cell.Interrupted, err = c.broken(ctx, p.Messages)
		}
	case workloads.Cold:
		c.cold = true
		cell.Evidence.NotCold, err = c.target.Cool(ctx)
	default:
		c.cold = false
		c.settled, err = c.target.Settle(ctx)
		cell.Evidence.Settled = c.settled
	}
	if err != nil {
		return err
	}
	c.cell = cell
	if cell.SetTime(began, time.Now()); p.Kind != workloads.Interrupt {
		cell.Engines = c.target.Observe()
	}
	return nil
}

// firstWarmup is how many times as long the first warm-up of a model on an engine lasts in a sweep.
// A process that becomes warm along the points would look like a figure that falls.
const firstWarmup = 10

// mixed executes a warm-up or a measured phase.
func (c *combination) mixed(ctx context.Context, p *workloads.Phase) error {
	drawn := c.at.workload.OfTrial(*p, c.trial)
	if of := c.model.Name + " on " + c.engine.Name; p.Kind == workloads.Warmup && c.at.number > 0 && !c.runner.warm[of] {
		c.runner.warm[of] = true
		drawn.Duration, drawn.Operations = firstWarmup*drawn.Duration, firstWarmup*drawn.Operations
	}
	spec := c.spec(&drawn)
	c.cell = spec.Cell
	var held *results.Held
	if s := c.runner.config.Workload.Sweep; s != nil && s.Grows() {
		held = &results.Held{Said: int64(c.at.census.Messages()), Before: int64(c.target.Live.Messages())}
	}
	err := drive.Drive(ctx, c.target, spec)
	e := c.cell.Evidence
	if e.Held = held; held != nil {
		held.After = int64(c.target.Live.Messages())
	}
	if p.Kind == workloads.Warmup {
		c.warm = drive.Steady(e.Windows) || p.Operations > 0
		if c.median = 0; len(e.Windows) > 0 {
			c.median = time.Duration(results.Median(e.Windows))
		}
	}
	return err
}

// spec says how to execute the operations of a phase, and that a new cell is to be completed. The caller gives a load
// its stream and its workers.
func (c *combination) spec(p *workloads.Phase) drive.Spec {
	r, usual := c.runner, DefaultWorkers
	if c.engine.Remote {
		usual = RemoteWorkers
	}
	spec := drive.Spec{
		Phase: *p, Cell: c.blank(p), Workers: cmp.Or(r.config.Workers, p.Workers, usual),
		MaxWait: r.config.maxWait(), Lateness: c.median,
		Progress: func(d drive.Progress) { r.progress(p.Name, d) }, Observe: r.config.Observe,
	}
	if p.Kind != workloads.Load {
		spec.Stream = plan.StreamOf(c.at.workload, p, c.at.census)
	}
	// A merge of segments adds the histograms of loads and warm-ups too.
	if p.Kind == workloads.Measure || r.config.Segment.Divides() {
		spec.Log = r.log
	}
	return spec
}

// broken works on a store of its own, so that the data set stays as it is. The folder of that store
// notes its namespace, and is gone when that is dropped.
func (c *combination) broken(ctx context.Context, messages int) (all []results.Interrupted, err error) {
	config := c.targetConfig()
	config.Keep, config.Ledger, config.Segments, config.Namespace = false, false, nil, ""
	if config.Dir, err = os.MkdirTemp(c.runner.data.path, filepath.Base(c.dir)+"-interrupt-*"); err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	t, err := subject.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, t.Close(ctx))
		if left := t.Left; left != "" {
			c.runner.result.Left = append(c.runner.result.Left, left)
			return
		}
		err = errors.Join(err, os.RemoveAll(config.Dir))
	}()
	return interrupt.All(ctx, t, messages)
}

// key names the cell of a phase.
func (c *combination) key(phase string) results.Key {
	return results.Key{
		Model: c.model.Name, Engine: c.engine.Name, Phase: phase, Point: c.at.value, Trial: c.trial,
		Segment: max(1, c.runner.config.Segment.Index),
	}
}

// blank is the cell of a phase before anything is known.
func (c *combination) blank(p *workloads.Phase) *results.Cell {
	cell := &results.Cell{
		Key: c.key(p.Name), Kind: p.Kind.String(), Arrivals: "none", Ops: map[string]results.Op{},
		Evidence:   &results.Evidence{Settled: c.settled, Warm: c.warm},
		Durability: c.runner.config.EngineOptions.Durability.String(),
	}
	if c.target != nil { // else what was requested
		cell.Durability = c.target.Caps.Durability.String()
	}
	now := time.Now()
	cell.SetTime(now, now)
	if p.Runs() {
		cell.Arrivals, cell.Clients, cell.Rate = p.Arrivals.String(), p.Clients, p.Rate.PerSecond()
	}
	return cell
}

// add judges the cell of the phase under way and adds it to the result, with why the phase could not be executed to
// its end. An error after the run was interrupted is no failure.
func (c *combination) add(ctx context.Context, p *workloads.Phase, err error) {
	if isFailure(ctx, err) {
		c.corrupt(err)
		if stack(err) != "" && c.target != nil {
			c.target.Broken()
		}
		if c.cell == nil {
			c.cell = c.blank(p)
		}
		c.cell.Error, c.cell.Stack = err.Error(), stack(err)
	}
	if r := c.runner.result; c.cell != nil {
		judge.Apply(c.cell, r.Objectives)
		r.Cells = append(r.Cells, *c.cell)
		c.cell = nil
	}
}

// notOffered executes nothing of a phase whose population the model cannot hold, and says so in its cell.
func (c *combination) notOffered(_ context.Context, p *workloads.Phase) error {
	c.cell = c.blank(p)
	c.cell.Evidence.NotOffered = c.target.NotOffered
	for op := range p.Mix {
		if p.Mix.Has(workloads.Op(op)) {
			c.cell.Ops[p.Patterns.Name(workloads.Op(op))] = results.Op{Support: results.NotOffered}
		}
	}
	return nil
}

// trialName is the same in all segments.
func (c *combination) trialName() string { return fmt.Sprintf("%s %d", c.model.Name, c.trial) }

// together waits until all segments have come to this point of the combination. One that was interrupted does not come.
func (c *combination) together(ctx context.Context, point string) error {
	if c.segments == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return c.segments.Barrier(ctx, point)
}

// giveUp notifies the other segments that this one cannot go on. That ends the run of all: what they have measured
// until then is no whole run.
func (c *combination) giveUp(ctx context.Context, why error) {
	if c.segments != nil {
		c.runner.gaveUp = true
		_ = c.segments.Fail(ctx, why) // the reason is in the results of this segment
	}
}
