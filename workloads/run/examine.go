package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// examine has the engine trace examineEach operations of each kind. Where these need more than
// examineRequests together, it has fewer traced, and two at least: a node writes a trace for each
// request, and examine reads it.
const (
	examineEach     = 5
	examineRequests = 100
)

// examined finds out how many rows the engine scans for an operation, if the engine reports that
// only of calls that it traces: after the last phase a few of each operation are executed by
// one client, on the same data. A number that cannot be found out stays unknown, without a failure.
func (c *combination) examined(ctx context.Context) {
	tracer, ok := c.target.Store.(drivers.Tracer)
	if !ok || c.runner.config.FindMax != nil {
		return
	}
	for i := range c.workload().Phases {
		p := &c.workload().Phases[i]
		own := func(cell *results.Cell) bool { return cell.Measured() && cell.Key == c.key(p.Name) }
		for _, cell := range c.runner.result.Select(own) {
			for name, op := range cell.Ops {
				if op.Count == 0 || op.Store.RowsScanned != nil || ctx.Err() != nil {
					continue
				}
				c.runner.progress(p.Name+": rows scanned", drive.Progress{Fraction: -1})
				err := crash.Guard(func() error { return c.examine(ctx, tracer, p, name, &op) })
				if err != nil && ctx.Err() == nil {
					c.runner.note(fmt.Sprintf("rows scanned by %s are unknown: %v", name, err))
				}
				cell.Ops[name] = op
			}
		}
	}
	c.runner.save()
}

// examine executes a few operations with sessions that the engine traces, and notes the rows
// that it examined. An engine that says it examined fewer rows than it returned counts other
// things than the schema's rows, and reports nothing.
func (c *combination) examine(
	ctx context.Context, tracer drivers.Tracer, p *workloads.Phase, name string, op *results.Op,
) error {
	each := math.Ceil(examineRequests / max(1, op.Store.Requests))
	q := c.fresh(tracedPhase(p, name, uint64(min(examineEach, max(2, each)))))
	rows := &rowCounts{
		Stream: plan.StreamOf(c.workload(), &q, c.at.census), Store: c.target.Store, tracer: tracer,
	}
	spec := c.spec(&q, c.blank(&q), rows, 0)
	spec.Log, spec.Observe, spec.Progress = nil, nil, nil
	c.target.Store = rows
	err := drive.Drive(ctx, c.target, spec)
	c.target.Store = rows.Store
	traced := spec.Cell.Ops[name]
	n := traced.Count
	if err != nil || rows.unreported || n == 0 || int(n) != len(rows.all) || traced.Others()+traced.NoTarget > 0 {
		return err
	}
	mean, deviation := stat.MeanStdDev(rows.all, nil)
	if mean < traced.Store.RowsRead {
		return nil
	}
	op.Store.RowsScanned, op.Store.Traced = &mean, n
	if n > 1 {
		op.Store.ScannedDeviation = deviation
	}
	return nil
}

// tracedPhase is a phase of one client that executes a few of one operation, in the way that
// p does.
func tracedPhase(p *workloads.Phase, name string, operations uint64) workloads.Phase {
	q := workloads.Phase{
		Kind: workloads.Measure, Name: p.Name, Arrivals: workloads.Closed, Clients: 1, Operations: operations,
		How: p.How, Keys: p.Keys, Timeout: p.Timeout, Patterns: p.Patterns,
	}
	for i := range p.Streams {
		for op := range q.Mix {
			if s := &p.Streams[i]; s.Mix.Has(workloads.Op(op)) {
				q.How[op] = s.How[op]
			}
		}
	}
	if p.Session != nil {
		for _, s := range p.Session.Steps {
			q.How[s.Op] = s.How
		}
	}
	op, _ := q.Patterns.Op(name)
	q.Mix[op] = 1
	return q
}

// rowCounts counts the rows that the engine scanned for each operation of a stream, which one
// worker executes on the store: each is a piece of work of its session.
type rowCounts struct {
	plan.Stream
	drivers.Store
	tracer     drivers.Tracer
	session    drivers.TracedSession
	all        []float64 // by operation
	unreported bool
}

// Next implements plan.Stream. After the last operation it reads the rows of all: engines report them late.
func (r *rowCounts) Next(now time.Duration, o *plan.Operation) (time.Duration, bool) {
	due, ok := r.Stream.Next(now, o)
	if ok {
		r.session.Begin()
		return due, true
	}
	err := drivers.Within(context.Background(), workAtMost, func(ctx context.Context) error {
		work, err := r.session.Work(ctx)
		for i := range work {
			r.unreported = r.unreported || work[i].Rows < 0
			r.all = append(r.all, float64(work[i].Rows))
		}
		return err
	})
	r.unreported = r.unreported || err != nil
	return due, false
}

// Session implements drivers.Store.
func (r *rowCounts) Session() (_ drivers.Session, err error) {
	r.session, err = r.tracer.Traced()
	return r.session, err
}

// workAtMost is how long an engine may take to report its work.
const workAtMost = time.Minute

// The floor is mailbench's own share of the figures. A target whose mailbox does nothing shows the harness' own CPU
// time for an operation. A run of the models over the null engine shows what a model's calls cost without an engine:
// the null engine yields sample rows for the model to decode.

const (
	floorShots    = 2                    // of which the least counts: others met a pause of the machine
	floorTime     = 2 * time.Millisecond // length of a shot with one operation of a model
	floorCalls    = 2000                 // operations of a shot, at most
	floorMessages = 16                   // messages in each of the two folders of a model's mailbox
)

// floor measures both. A model takes about half a second.
func (r *runner) floor(ctx context.Context) {
	if r.config.Null == nil || r.config.NoFloor || r.config.Audit == AuditOnly || ctx.Err() != nil {
		return
	}
	harness, err := harnessFloor(ctx)
	if err != nil {
		harness = results.Floor{Error: err.Error()}
	}
	models, err := r.config.modelFloors(ctx, r.data.path)
	for _, model := range r.result.Config.Models {
		if err != nil {
			models = append(models, results.Floor{Model: model, Error: err.Error()})
		}
	}
	if ctx.Err() == nil {
		r.result.Floor = append([]results.Floor{harness}, models...)
	}
}

// floorWorkload has operations that are all late, so that nothing waits. Tests change it.
var floorWorkload = `
version: 1
name: floor
population: {users: 1000, messages: 1}
access: {users: zipf, folders: uniform, messages: uniform}
phases: [load: {}, measure: {rate: 100000000/s, operations: 80000, mix: {list: 50, counters: 50}}]
`

// harnessFloor is the cost of an operation over a mailbox that does nothing: due
// time, choice of operation and key, two readings of the clock, recording.
func harnessFloor(ctx context.Context) (least results.Floor, err error) {
	var before, after runtime.MemStats
	w, err := workloads.Parse("floor", []byte(floorWorkload))
	if err != nil {
		return least, err
	}
	census, err := plan.NewCensus(ctx, w)
	if err != nil {
		return least, err
	}
	phase := &w.Phases[1]
	for range floorShots {
		runtime.ReadMemStats(&before)
		var cell results.Cell
		err := drive.Drive(ctx, nothingTarget(census), drive.Spec{
			Phase: *phase, Cell: &cell, Stream: plan.StreamOf(w, phase, census), Workers: 1, MaxWait: 1000 * time.Hour,
		})
		if err != nil {
			return least, err
		}
		runtime.ReadMemStats(&after)
		n := float64(max(1, cell.Evidence.Started))
		if ns := 1e9 * cell.Client.CPUSeconds / n; least.NS == 0 || ns < least.NS {
			least = results.Floor{NS: ns, Allocs: float64((after.Mallocs - before.Mallocs) / uint64(n))}
		}
	}
	return least, nil
}

// nothingTarget is a target whose mailbox does nothing.
func nothingTarget(census *plan.Census) *subject.Target {
	t := &subject.Target{
		Config: subject.Config{Mail: noMail{}}, Store: nothingStore{}, Bound: nothingBound{},
		Dataset: &subject.Dataset{}, Live: &subject.Live{Accounts: make([]subject.Account, census.Users())},
	}
	for i := range t.Live.Accounts {
		t.Live.Accounts[i].Folders = []subject.Folder{{Ref: &models.Folder{}, FolderSet: &subject.FolderSet{}}}
	}
	return t
}

// nothingBound gives mailboxes that do nothing.
type nothingBound struct{}

// Mailbox implements models.Bound.
func (nothingBound) Mailbox(drivers.Session) models.Mailbox { return nothing{} }

type nothing struct{ models.Mailbox }

func (nothing) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	return nil
}

func (nothing) Stats(context.Context, *models.Folder) (models.Stats, error) {
	return models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes}, nil
}

// nothingStore has sessions that run and count nothing.
type nothingStore struct{ drivers.Store }

func (nothingStore) Session() (drivers.Session, error) { return nothingSession{}, nil }

type nothingSession struct{ drivers.Session }

func (nothingSession) Watch(func() time.Duration, func(drivers.Statement, time.Duration, int64)) {}

func (nothingSession) Take() drivers.Cost { return drivers.Cost{} }

func (nothingSession) Close() error { return nil }

// noMail has no messages.
type noMail struct{ messages.Source }

func (noMail) Reader() messages.Reader { return nil }

// modelFloors are the costs of the calls of each operation of the workload over the null engine, for a few messages of
// the workload's own mail. Each shot is a phase of a run, whose data folder is in another.
func (c *Config) modelFloors(ctx context.Context, in string) (floors []results.Floor, err error) {
	dir, err := os.MkdirTemp(in, "floor-")
	if err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := *c.Workload
	w.Population = workloads.Population{
		Users: 1, Folders: random.Constant{Value: 2}, Messages: random.Constant{Value: floorMessages},
	}
	w.Phases = []workloads.Phase{{Kind: workloads.Load, Name: "load", Clients: 1, Patterns: w.Patterns}}
	w.Expect, w.Sweep, w.Trials = nil, nil, workloads.Trials{}
	for _, op := range floorOrder(w.Patterns) {
		measures := func(p workloads.Phase) bool { return p.Kind == workloads.Measure && p.Mix.Has(op) }
		for range floorShots {
			p := workloads.Phase{
				Kind: workloads.Measure, Name: w.Patterns.Name(op), Number: len(w.Phases), Patterns: w.Patterns,
				Arrivals: workloads.Closed, Clients: 1, Duration: floorTime, Operations: floorCalls,
			}
			if p.Mix[op] = 1; slices.ContainsFunc(c.Workload.Phases, measures) {
				w.Phases = append(w.Phases, p)
			}
		}
	}
	found, err := Run(ctx, Config{
		Workload: &w, Models: c.Models, Engines: []drivers.Engine{*c.Null}, Keyspace: c.Keyspace, Model: c.Model,
		Mail: c.Mail, Workers: 1, DataDir: dir,
	})
	if err != nil {
		return nil, err
	}
	shown := found.Select(func(c *results.Cell) bool { return c.Measured() || c.Error != "" })
	for _, shots := range results.Grouped(shown, func(c *results.Cell) [2]string { return [2]string{c.Model, c.Phase} }) {
		least := results.Floor{Model: shots[0].Model, Op: shots[0].Phase}
		for _, c := range shots {
			least.Error = cmp.Or(least.Error, c.Error)
			// The null engine's rows are samples, so an operation that fails counts too.
			if e := c.Evidence; e != nil && e.Started > 0 {
				if ns := float64(e.Service) / float64(e.Started); least.NS == 0 || ns < least.NS {
					least.NS = ns
				}
			}
		}
		if least.NS > 0 || least.Error != "" { // else the model does not support it
			floors = append(floors, least)
		}
	}
	return floors, nil
}

// floorOrder is all operations, the ones that use up messages last.
func floorOrder(patterns workloads.Patterns) (order []workloads.Op) {
	for i := range patterns.Ops() {
		order = append(order, workloads.Op(i))
	}
	last := []workloads.Op{workloads.Move, workloads.Delete, workloads.Restore, workloads.Purge}
	place := func(op workloads.Op) int { return slices.Index(last, op) } // -1 for all others
	slices.SortStableFunc(order, func(a, b workloads.Op) int { return place(a) - place(b) })
	return order
}
