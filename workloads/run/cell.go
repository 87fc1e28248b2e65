package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/target"
)

// combination is one model on one engine in one trial, with one data set. It carries out all
// phases of the workload, one after another. In a sweep it does that at one point, or at
// several points for which the data set grows.
type combination struct {
	runner *runner
	model  models.Model
	engine drivers.Engine
	trial  int
	at     *point   // the point under way
	next   []*point // later points, to which the data set grows
	dir    string   // folder of the data set

	target *target.Target
	grows  bool // the data set is that of the point before
	found
}

// found is what the phases of a point have found out for those that follow.
type found struct {
	median  time.Duration // service time of the warm-up
	workers int           // how many workers the warm-up needed
	settled bool          // the engine came to rest in the time allowed
	warm    bool          // the service times of the warm-up became steady
	cold    bool          // the phases that follow begin with cold caches
	more    int           // phases that a search has added to those of the workload
}

// run carries out all phases. The result has everything that was measured, whatever
// happens. A phase that could not be carried out says why in its cell.
func (c *combination) run(ctx context.Context) {
	c.found = found{settled: true, warm: true}
	c.beginTogether()
	if err := c.open(ctx); err != nil {
		c.giveUp(ctx, err)
		c.failed(ctx, &c.workload().Phases[0], err)
		return
	}
	for c.phases(ctx) && c.audited(ctx) && c.onward(ctx) {
	}
	c.close(ctx)
}

// audited audits the data set if the configuration asks for it. It returns false if the audit
// could not be carried out.
func (c *combination) audited(ctx context.Context) bool {
	if c.runner.config.Audit != AuditAfter || ctx.Err() != nil {
		return true
	}
	err := crash.Guard(func() error { return c.audit(ctx) })
	c.step(ctx, "audit", err)
	return err == nil
}

// onward goes on to the next point to which the data set grows. It returns false if there is
// none.
func (c *combination) onward(ctx context.Context) bool {
	if len(c.next) == 0 || ctx.Err() != nil {
		return false
	}
	c.at, c.next, c.grows = c.next[0], c.next[1:], true
	c.found = found{settled: true, warm: true}
	c.runner.begin(c)
	return true
}

// open opens the target.
func (c *combination) open(ctx context.Context) error {
	return crash.Guard(func() (err error) {
		c.target, err = target.Open(ctx, c.targetConfig())
		return err
	})
}

// auditOnly audits the data set that an earlier run left in the folder.
func (c *combination) auditOnly(ctx context.Context) {
	if err := c.open(ctx); err != nil {
		c.step(ctx, "audit", err)
		return
	}
	c.step(ctx, "audit", crash.Guard(func() error { return c.audit(ctx) }))
	c.close(ctx)
}

func (c *combination) workload() *workloads.Workload { return c.at.workload }

func (c *combination) targetConfig() target.Config {
	o := c.runner.config
	var processes []int
	if o.EngineProcesses != nil && c.engine.Remote {
		processes = o.EngineProcesses(c.engine.Name, o.contact(c.engine))
	}
	return target.Config{
		Workload: c.workload(), Census: c.at.census, Mail: c.at.source,
		Model: c.model, Engine: c.engine, Options: c.options(),
		Dir: c.dir, Durability: o.Durability, CacheBytes: o.CacheBytes, Workers: o.loaders(),
		Keep: o.DataDir != "", Ledger: o.DataDir != "" || o.Audit != NoAudit, AuditOnly: o.Audit == AuditOnly,
		Shards: c.shards(), Namespace: c.namespace(), Processes: processes,
		Step: func(name string) { c.runner.progress(name, drive.Progress{Fraction: -1}) },
	}
}

// close releases the target. The result says what could not be removed.
func (c *combination) close(ctx context.Context) {
	err := crash.Guard(func() error { return c.target.Close(ctx) })
	if left := c.target.Left(); left != "" {
		c.runner.result.Left = append(c.runner.result.Left, left)
	}
	c.runner.addSchema(c.target.Schema)
	c.step(ctx, "close", err)
}

// audit compares the store with the ledger.
func (c *combination) audit(ctx context.Context) error {
	if err := c.together(ctx, "audit"); err != nil {
		return err
	}
	c.runner.progress("audit", drive.Progress{Fraction: -1})
	found, err := c.target.Audit(ctx, c.runner.config.Audit == AuditOnly)
	if found != nil {
		k := c.key("audit")
		found.Point, found.Trial, found.Shard = k.Point, k.Trial, k.Shard
		c.runner.result.Audits = append(c.runner.result.Audits, *found)
	}
	return err
}

// phases carries out the workload's phases in order and says whether it came to
// the end.
func (c *combination) phases(ctx context.Context) bool {
	for i := range c.workload().Phases {
		own := c.runner.config.Shard.Own(c.workload().Phases[i])
		p := &own
		if ctx.Err() != nil {
			c.giveUp(ctx, ctx.Err())
			return false
		}
		if c.target.NotOffered != "" {
			if p.Kind == workloads.Measure {
				c.add(c.notOffered(p))
			}
			continue
		}
		c.runner.progress(p.Name, drive.Progress{Fraction: -1})
		err := c.together(ctx, fmt.Sprintf("phase %d", i+1))
		if err == nil {
			err = crash.Guard(func() error { return c.phase(ctx, p) })
		}
		if err != nil {
			c.giveUp(ctx, err)
			c.failed(ctx, p, err)
			return false
		}
		c.runner.save()
	}
	return true
}

// phase carries out one phase and adds its cell.
func (c *combination) phase(ctx context.Context, p *workloads.Phase) (err error) {
	switch p.Kind {
	case workloads.Load:
		return c.load(ctx, p)
	case workloads.Settle, workloads.Cold:
		return c.rest(ctx, p)
	case workloads.Measure:
		if c.runner.config.FindMax != nil {
			return c.search(ctx, p)
		}
	}
	return c.mixed(ctx, p)
}

// load makes the data set, or uses the one that is there. A smaller data set grows, and
// an interrupted load is completed.
func (c *combination) load(ctx context.Context, p *workloads.Phase) error {
	populate := c.target.Populate
	if c.grows {
		populate = c.grow
	}
	load, err := populate(ctx)
	if err != nil || load == nil {
		return err
	}
	return c.deliver(ctx, p, load)
}

// grow returns what the data set of the point before lacks at this point.
func (c *combination) grow(ctx context.Context) (*target.Load, error) {
	return c.target.Grow(ctx, c.workload(), c.at.census, c.at.source)
}

// deliver delivers what the data set lacks.
func (c *combination) deliver(ctx context.Context, p *workloads.Phase, load *target.Load) error {
	if load.Note != "" {
		c.runner.note(load.Note)
	}
	before := c.target.Observe()
	m, err := c.drive(ctx, p, load.Stream, load.Messages)
	cell := c.measured(p, &m, before)
	cell.Evidence.Load = load.Note
	c.add(cell)
	if err != nil || ctx.Err() != nil {
		return err
	}
	return c.target.Loaded()
}

// rest carries out a phase without operations: settle or cold.
func (c *combination) rest(ctx context.Context, p *workloads.Phase) (err error) {
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
	c.add(cell)
	return nil
}

// mixed carries out a warm-up or a measured phase.
func (c *combination) mixed(ctx context.Context, p *workloads.Phase) error {
	before := c.target.Observe()
	drawn := p.Without(c.target.Lacks())
	drawn.Trial = c.trial - 1
	held := c.held()
	m, err := c.drive(ctx, &drawn, c.workload().Stream(&drawn, c.at.census), 0)
	cell := c.measured(p, &m, before)
	if held != nil {
		held.After = int64(c.target.Live.Messages())
		cell.Evidence.Held = held
	}
	c.add(cell)
	if p.Kind == workloads.Warmup {
		c.warm = m.Steady || p.Operations > 0
		c.median, c.workers = m.Median, m.Client.Workers
	}
	return err
}

// drive carries out the operations of a phase.
func (c *combination) drive(
	ctx context.Context, p *workloads.Phase, s workloads.Stream, total int64,
) (drive.Measurement, error) {
	return drive.Drive(ctx, c.target, c.spec(p, s, total))
}

// spec says what to carry out in a phase.
func (c *combination) spec(p *workloads.Phase, s workloads.Stream, total int64) drive.Spec {
	r := c.runner
	spec := drive.Spec{
		Phase: *p, Stream: s, Total: total, Workers: r.config.workers(c.engine,
			p), First: c.workers, MaxLag: r.config.maxLag(), Lateness: c.median,
		MemoryLimit: r.memoryLimit,
		Progress:    func(d drive.Progress) { r.progress(p.Name, d) },
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
func (c *combination) failed(ctx context.Context, p *workloads.Phase, err error) {
	if !isFailure(ctx, err) {
		return
	}
	if stack(err) != "" && c.target != nil {
		c.target.Broken()
	}
	cells := c.runner.result.Cells
	if last := len(cells) - 1; last >= 0 && cells[last].Key == c.key(p.Name) {
		cells[last].Error, cells[last].Stack = err.Error(), stack(err)
		judge.Apply(&cells[last])
		cells[last].Objectives = judge.Objectives(&cells[last], c.runner.result.Objectives)
		return
	}
	cell := c.blank(p)
	cell.Error, cell.Stack = err.Error(), stack(err)
	c.add(cell)
}

// isFailure reports whether err is a panic, or an error of a run that was not interrupted.
func isFailure(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() == nil || stack(err) != "")
}

// stack returns the stack of the panic that caused err; "" if none did.
func stack(err error) string {
	var c *crash.Error
	if errors.As(err, &c) {
		return c.Stack
	}
	return ""
}

// step records why a step of the run itself could not be carried out.
func (c *combination) step(ctx context.Context, name string, err error) {
	if !isFailure(ctx, err) {
		return
	}
	now := time.Now()
	cell := reports.Cell{
		Key: c.key(name), Kind: reports.KindStep, Arrivals: "none", Ops: map[string]reports.Op{}, Durability: c.durability(),
		Error: fmt.Sprintf("%s: %v", name, err), Stack: stack(err),
	}
	times(&cell, now, now)
	c.add(cell)
}

// add judges a cell and adds it to the result.
func (c *combination) add(cell reports.Cell) {
	judge.Apply(&cell)
	cell.Objectives = judge.Objectives(&cell, c.runner.result.Objectives)
	c.addJudged(cell)
}

func (c *combination) addJudged(cell reports.Cell) {
	c.runner.result.Cells = append(c.runner.result.Cells, cell)
}
