package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// cell is one model on one engine: a store with a data set in it, and the
// phases that are run on that.
type cell struct {
	config   *Config
	model    models.Model
	engine   drivers.Engine
	trial    int
	path     string // its folder
	source   messages.Source
	census   *workloads.Census
	log      *latency.Log
	progress func(Progress)
	large    *semaphore.Weighted // bytes of large messages under way in a load

	schema *schemas.Schema
	store  drivers.Store
	bound  models.Bound
	caps   drivers.Capabilities

	dataset *dataset
	reused  bool
	kept    bool   // the data outlives the cell
	left    string // what could not be removed, and how to remove it
	dir     *directory
	ledger  *ledger
	// What the model has, found out once.
	offers  [workloads.NumOps]bool
	lacking string // why the workload's population cannot be loaded at all, or ""

	service time.Duration // median service time of the warm-up
	settled bool          // the engine came to rest in the time allowed
	warm    bool          // and so did the warm-up
	beside  bool          // the engine runs on this machine, in processes of its own

	cells []reports.Cell
	audit *reports.Audit
}

// run carries out all phases. The cells of phases that were run are kept
// whatever happens; the error of one that could not be is in its cell.
func (c *cell) run(ctx context.Context) {
	c.settled, c.warm = true, true
	if err := c.open(ctx); err != nil {
		c.fail(ctx, c.config.Workload.Phases[0].Name, err)
		return
	}
	if c.phases(ctx) && c.config.Audit == AuditAfter && ctx.Err() == nil {
		c.fail(ctx, "audit", c.runAudit(ctx))
	}
	c.fail(ctx, "close", c.close(ctx))
}

// fail records that a phase could not be carried out, or not to its end. What
// breaks because the run was interrupted is no failure.
func (c *cell) fail(ctx context.Context, phase string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	last := len(c.cells) - 1
	if last < 0 || c.cells[last].Phase != phase {
		c.cells = append(c.cells, c.blank(&workloads.Phase{Name: phase}))
		last++
	}
	c.cells[last].Verdict, c.cells[last].Reason = reports.Failed, err.Error()
}

// ledgered: what a null engine acknowledges it does not keep, and a data set
// that is removed at the end without an audit needs no ledger.
func (c *cell) ledgered() bool {
	return !c.caps.Discards && (c.config.DataDir != "" || c.config.Audit != NoAudit)
}

func (c *cell) ledgerName() string { return filepath.Join(c.path, ledgerFile) }

// probe asks the model for what it lacks, by interface and by calls without a
// target, and so before anything is measured.
func (c *cell) probe(ctx context.Context) error {
	s, err := c.store.Session()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer s.Close()
	mb := c.bound.Mailbox(s)
	for op := range c.offers {
		offered := operations[op].offered
		c.offers[op] = offered == nil || offered(mb)
	}
	if _, ok := mb.(models.Poster); c.census.Shared() && !ok {
		c.lacking = fmt.Sprintf("%s has no folder that several accounts share", c.model.Name)
	}
	return nil
}

// phases runs the workload's phases in order and says whether it came to the end.
func (c *cell) phases(ctx context.Context) bool {
	for at := range c.config.Workload.Phases {
		spec := &c.config.Workload.Phases[at]
		if ctx.Err() != nil {
			return false
		}
		if c.lacking != "" {
			if spec.Kind == workloads.Measure {
				c.cells = append(c.cells, c.notOffered(spec))
			}
			continue
		}
		c.progress(Progress{Phase: spec.Name, Fraction: -1})
		var err error
		switch spec.Kind {
		case workloads.Load:
			err = c.load(ctx, at)
			c.offersOfPromise()
		case workloads.Settle:
			err = c.settle(ctx, spec)
		case workloads.Cold:
			err = c.cool(ctx, spec)
		default:
			err = c.mixed(ctx, at)
		}
		if err != nil {
			c.fail(ctx, spec.Name, err)
			return false
		}
	}
	return true
}

// settleAtMost is how long a store may take to come to rest.
const settleAtMost = 5 * time.Minute

// settle waits until the store is quiet.
func (c *cell) settle(ctx context.Context, spec *workloads.Phase) error {
	start := time.Now()
	if s, ok := c.store.(drivers.Settler); ok {
		sctx, cancel := context.WithTimeout(ctx, settleAtMost)
		defer cancel()
		err := s.Settle(sctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			c.settled = false
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("settle %s: %w", c.engine.Name, err)
		}
	}
	return c.pause(spec, start)
}

// cool reopens the store without what its caches held.
func (c *cell) cool(ctx context.Context, spec *workloads.Phase) error {
	start := time.Now()
	err := fmt.Errorf("%s cannot drop its caches: %w", c.engine.Name, errors.ErrUnsupported)
	if s, ok := c.store.(drivers.Cooler); ok {
		err = s.Cool(ctx)
	}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		cell := c.blank(spec)
		cell.Doubts = append(cell.Doubts, fmt.Sprintf("not cold: %v; what follows ran warm", err))
		c.cells = append(c.cells, cell)
		return nil
	case err != nil:
		return fmt.Errorf("drop the caches of %s: %w", c.engine.Name, err)
	}
	return c.pause(spec, start)
}

// pause adds the cell of a phase without operations.
func (c *cell) pause(spec *workloads.Phase, start time.Time) error {
	cell := c.blank(spec)
	cell.Seconds = time.Since(start).Seconds()
	cell.Engines = c.observe()
	c.cells = append(c.cells, cell)
	return nil
}

// mixed runs a warm-up or a measured phase.
func (c *cell) mixed(ctx context.Context, at int) error {
	p := newPhase(c, at)
	before := c.observe()
	err := p.run(ctx)
	if p.spec.Kind == workloads.Warmup {
		c.warm = c.warm && steady(p.windows)
		c.service = p.medianService()
		return err
	}
	c.cells = append(c.cells, p.result(before, c.observe()))
	return err
}

// observe is the engine's state, or nil if it tells none.
func (c *cell) observe() *reports.EngineInfo {
	o, ok := c.store.(drivers.Observer)
	if !ok {
		return &reports.EngineInfo{Version: c.caps.Version, DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, Tombstones: -1}
	}
	s := o.Observe()
	return &reports.EngineInfo{
		Version: c.caps.Version, DiskBytes: s.DiskBytes, CacheBytes: s.CacheBytes, CompactionDebt: s.CompactionDebt,
		WrittenBytes: s.WrittenBytes, Tombstones: s.Tombstones, Settings: s.Settings,
	}
}

// auditOnly audits the data set that an earlier run left in the folder.
func (c *cell) auditOnly(ctx context.Context) {
	err := c.open(ctx)
	if err == nil {
		err = errors.Join(c.runAudit(ctx), c.close(ctx))
	}
	c.fail(ctx, "audit", err)
}

// runAudit compares the store with the ledger.
func (c *cell) runAudit(ctx context.Context) error {
	if c.ledger == nil || c.lacking != "" {
		return nil // nothing is kept, or nothing was loaded
	}
	c.progress(Progress{Phase: "audit", Fraction: -1})
	h, err := readHistory(c.ledgerName())
	if err != nil {
		return err
	}
	a := auditor{
		store: c.store, bound: c.bound, promise: c.dataset.Promise, history: h,
		remote: c.engine.Remote, later: c.config.Audit == AuditOnly,
		address: workloads.Address, folder: func(_, f int) string { return workloads.FolderName(f) },
	}
	found, err := a.audit(ctx)
	found.Model, found.Engine = c.model.Name, c.engine.Name
	c.audit = &found
	return err
}
