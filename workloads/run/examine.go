package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// examineEach is how many operations of a kind the engine traces.
const examineEach = 5

// examined finds out how many rows the engine scans for an operation, if the engine reports that
// only of calls that it traces: after the last phase a few of each operation are executed by
// one client, on the same data. A number that cannot be found out stays unknown, without a failure.
func (c *combination) examined(ctx context.Context) {
	if _, ok := c.target.Store.(drivers.Tracer); !ok || c.runner.config.FindMax != nil {
		return
	}
	for i := range c.at.workload.Phases {
		p := &c.at.workload.Phases[i]
		own := func(cell *results.Cell) bool { return cell.Measured() && cell.Key == c.key(p.Name) }
		for _, cell := range c.runner.result.Select(own) {
			for name, op := range cell.Ops {
				if op.Count == 0 || op.Store.RowsScanned != nil || ctx.Err() != nil {
					continue
				}
				c.runner.progress(p.Name+": rows scanned", drive.Progress{Fraction: -1})
				err := crash.Guard(func() error { return c.examine(ctx, p, name, &op) })
				if err != nil && ctx.Err() == nil {
					c.runner.note(fmt.Sprintf("rows scanned by %s are unknown: %v", name, err))
				}
				cell.Ops[name] = op
			}
		}
	}
	c.runner.save()
}

// examine executes a few of an operation, in the way that p does, with sessions that the engine traces, and notes the
// rows that it examined. An engine that says it examined fewer rows than it returned counts other
// things than the schema's rows, and reports nothing.
func (c *combination) examine(ctx context.Context, p *workloads.Phase, name string, op *results.Op) error {
	q := c.fresh(workloads.Phase{
		Kind: workloads.Measure, Name: p.Name, Arrivals: workloads.Closed, Clients: 1, Operations: examineEach,
		How: p.How, Keys: p.Keys, Timeout: p.Timeout, Patterns: p.Patterns,
	})
	kind, _ := q.Patterns.Op(name)
	q.Mix[kind] = 1
	for i := range p.Streams {
		if s := &p.Streams[i]; s.Mix.Has(kind) {
			q.How[kind] = s.How[kind]
		}
	}
	if p.Session != nil {
		for _, s := range p.Session.Steps {
			if s.Op == kind {
				q.How[kind] = s.How
			}
		}
	}
	spec := c.spec(&q)
	rows := &rowCounts{Stream: spec.Stream, Store: c.target.Store}
	spec.Stream, spec.Log, spec.Observe, spec.Progress = rows, nil, nil, nil
	c.target.Store = rows
	defer func() { c.target.Store = rows.Store }()
	err := drive.Drive(ctx, c.target, spec)
	traced := spec.Cell.Ops[name]
	n := traced.Count
	if err != nil || n == 0 || int(n) != len(rows.all) || traced.Others()+traced.NoTarget > 0 {
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

// rowCounts counts the rows that the engine scanned for each operation of a stream, which one
// worker executes on the store: each is a piece of work of its session.
type rowCounts struct {
	plan.Stream
	drivers.Store
	session drivers.TracedSession
	all     []float64 // by operation; none if the engine does not report them
}

// Next implements plan.Stream. After the last operation it reads the rows of all: engines report them late.
func (r *rowCounts) Next(now time.Duration, o *plan.Operation) (time.Duration, bool) {
	due, ok := r.Stream.Next(now, o)
	if ok {
		r.session.Begin()
		return due, true
	}
	err := drivers.Within(context.Background(), time.Minute, func(ctx context.Context) error {
		work, err := r.session.Work(ctx)
		for i := range work {
			r.all = append(r.all, float64(work[i].Rows))
		}
		return err
	})
	if err != nil || slices.ContainsFunc(r.all, func(n float64) bool { return n < 0 }) {
		r.all = nil
	}
	return due, false
}

// Session implements drivers.Store.
func (r *rowCounts) Session() (_ drivers.Session, err error) {
	r.session, err = r.Store.(drivers.Tracer).Traced()
	return r.session, err
}
