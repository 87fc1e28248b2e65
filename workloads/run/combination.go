package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/subject"
)

// combination is one model on one engine with one data set, in one trial or in all trials that reuse
// its store. It carries out all phases of the workload, one after another. In a sweep it does that at
// one point, or at several points for which the data set grows.
type combination struct {
	runner *runner
	model  models.Model
	engine drivers.Engine
	trial  int          // the trial under way
	at     *point       // the point under way
	next   []*point     // later points, to which the data set grows
	dir    string       // folder of the data set
	shards *meet.Shards // shards that load the engine together; nil: there are none

	target   *subject.Target // nil until it is open
	loaded   bool            // by an earlier trial
	more     int             // phases that searches and traces have added to those of the workload
	grows    bool            // the data set is that of the point before
	unlisted string          // what an audit says of a whole data set that the data folder's list does not have
}

// run carries out all phases. The result has everything that was measured, whatever
// happens. A phase that could not be carried out says why in its cell.
func (c *combination) run(ctx context.Context) {
	if c.shards != nil {
		c.shards.Begin(c.trialName())
	}
	if err := c.ready(ctx); err != nil {
		c.giveUp(ctx, err)
		c.phases().failed(ctx, &c.workload().Phases[0], err)
		if c.target != nil {
			c.close(ctx)
		}
		return
	}
	for p := c.phases(); p.run(ctx) && p.examined(ctx); p = c.phases() {
		if c.sleeps(ctx) {
			return
		}
		if !c.audited(ctx) || !c.onward(ctx) {
			break
		}
	}
	c.close(ctx)
}

// ready opens the target, or wakes the one of the trial before.
func (c *combination) ready(ctx context.Context) error {
	if c.target != nil {
		return c.target.Wake()
	}
	if err := c.renew(); err != nil {
		return err
	}
	return c.open(ctx)
}

// sleeps leaves the store to the next trial. It returns false if that has none to use, or if the store
// cannot sleep.
func (c *combination) sleeps(ctx context.Context) bool {
	if ctx.Err() != nil || !c.runner.config.reuses() || c.trial == c.runner.config.trials() {
		return false
	}
	if err := c.target.Sleep(); err != nil {
		c.notDone(ctx, "close between trials", err)
		return false
	}
	c.loaded = true
	c.runner.asleep = append(c.runner.asleep, c)
	return true
}

// audited audits the data set if the configuration asks for it. It returns false if the audit
// could not be carried out.
func (c *combination) audited(ctx context.Context) bool {
	if c.runner.config.Audit != AuditAfter || ctx.Err() != nil {
		return true
	}
	return c.audit(ctx)
}

// onward goes on to the next point to which the data set grows. It returns false if there is
// none.
func (c *combination) onward(ctx context.Context) bool {
	if len(c.next) == 0 || ctx.Err() != nil {
		return false
	}
	c.at, c.next, c.grows = c.next[0], c.next[1:], true
	c.runner.begin(c)
	return true
}

// open opens the target.
func (c *combination) open(ctx context.Context) error {
	return crash.Guard(func() (err error) {
		if c.target, err = subject.Open(ctx, c.targetConfig()); err != nil {
			return err
		}
		if c.target.Dataset.Complete && !c.runner.data.holds(c.dir) {
			c.unlisted = fmt.Sprintf("%s lacks this data set, and may have lacked others that are gone; if none is, write %s into it",
				filepath.Join(c.runner.data.path, listFile), filepath.Base(c.dir))
		}
		return nil
	})
}

// auditOnly audits the data set that an earlier run left in the folder.
func (c *combination) auditOnly(ctx context.Context) {
	if err := c.open(ctx); err != nil {
		if !c.corrupt(err) {
			c.notDone(ctx, "audit", err)
		}
		return
	}
	c.audit(ctx)
	c.close(ctx)
}

func (c *combination) workload() *workloads.Workload { return c.at.workload }

func (c *combination) targetConfig() subject.Config {
	o := c.runner.config
	var processes []int
	if o.EngineProcesses != nil && c.engine.Remote {
		processes = o.EngineProcesses(c.engine.Name, o.contact(c.engine))
	}
	return subject.Config{
		Workload: c.workload(), Census: c.at.census, Mail: c.at.source,
		Model: c.model.With(c.workload().ValuesOf(c.model.Name)), Engine: c.engine, Options: o.Model,
		Dir: c.dir, EngineOptions: o.EngineOptions, Workers: o.loaders(),
		Keep: o.DataDir != "", Ledger: o.DataDir != "" || o.Audit != NoAudit, AuditOnly: o.Audit == AuditOnly,
		Shards: c.shards, Namespace: c.namespace(), Processes: processes,
		Step: func(name string) { c.runner.progress(name, drive.Progress{Fraction: -1}) },
	}
}

// close releases the target. The result says what could not be removed.
func (c *combination) close(ctx context.Context) {
	err := crash.Guard(func() error { return c.target.Close(ctx) })
	if left := c.target.Left(); left != "" {
		c.runner.result.Left = append(c.runner.result.Left, left)
	}
	addSchema(c.runner.result, c.target.Schema)
	c.notDone(ctx, "close", err)
}

// audit compares the store with the ledger. It returns false if it could not.
func (c *combination) audit(ctx context.Context) bool {
	err := crash.Guard(func() error {
		if err := c.together(ctx, "audit"); err != nil {
			return err
		}
		c.runner.progress("audit", drive.Progress{Fraction: -1})
		found, err := c.target.Audit(ctx)
		if found != nil {
			found.Fault = cmp.Or(found.Fault, c.unlisted)
			c.addAudit(*found)
		}
		return err
	})
	c.notDone(ctx, "audit", err)
	return err == nil
}

// renew says that a data set is gone which the data folder lists: the run loads a new one. For a run
// with an audit it is an error, since that audit would know nothing of what was there.
func (c *combination) renew() error {
	if !c.runner.data.holds(c.dir) {
		return nil
	}
	if d, err := subject.ReadDataset(c.dir); d != nil || err != nil {
		return err
	}
	if c.runner.config.Audit == AuditAfter {
		c.gone()
		return fmt.Errorf("the data set in %s is gone, and an audit of a new one would not know of it", c.dir)
	}
	c.runner.note(fmt.Sprintf("the data set in %s is gone: a new one is loaded", c.dir))
	return nil
}

// gone is the audit of a data set whose file is gone. If the data folder does not list the data
// set, the earlier run was killed before it had one.
func (c *combination) gone() {
	if !c.runner.data.holds(c.dir) {
		return
	}
	c.addAudit(results.Audit{
		Model: c.model.Name, Engine: c.engine.Name,
		Fault: fmt.Sprintf("the data set in %s is gone; if you removed it on purpose, take its line out of %s beside it, or "+
			"name other models with -m", c.dir, listFile),
	})
}

// corrupt reports whether a store or its ledger is damaged. Then data may be lost, and an audit says so.
func (c *combination) corrupt(err error) bool {
	if !errors.Is(err, drivers.ErrCorrupt) && !errors.Is(err, ledger.ErrUnfit) {
		return false
	}
	c.addAudit(results.Audit{Model: c.model.Name, Engine: c.engine.Name, Fault: err.Error()})
	return true
}

func (c *combination) addAudit(a results.Audit) {
	k := c.key("audit")
	a.Point, a.Trial, a.Shard = k.Point, k.Trial, k.Shard
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
	var c *crash.Error
	if errors.As(err, &c) {
		return c.Stack
	}
	return ""
}

// notDone records why the audit or the close of the data set could not be carried out.
func (c *combination) notDone(ctx context.Context, name string, err error) {
	if !isFailure(ctx, err) {
		return
	}
	now := time.Now()
	cell := results.Cell{
		Key: c.key(name), Kind: results.KindStep, Arrivals: "none", Ops: map[string]results.Op{}, Durability: c.durability(),
		Error: fmt.Sprintf("%s: %v", name, err), Stack: stack(err),
	}
	times(&cell, now, now)
	add(c.runner.result, cell)
}
