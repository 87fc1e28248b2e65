package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/plan"
)

// examine has the engine trace examineEach operations of each kind. Where these ask more than
// examineRequests together, it has fewer traced, and two at least: a node writes a trace for each
// request, and examine reads it.
const (
	examineEach     = 5
	examineRequests = 100
)

// examined finds out how many rows the engine examines for an operation, if the engine tells that
// only of calls that it traces: after the last phase a few of each operation are carried out by
// one client, on the same data. What cannot be found out stays unknown, and is no failure.
func (c *phases) examined(ctx context.Context) bool {
	tracer, ok := c.target.Store.(drivers.Tracer)
	if !ok || c.runner.config.FindMax != nil {
		return true
	}
	for i := range c.workload().Phases {
		p := &c.workload().Phases[i]
		cell := c.cellOf(p)
		if cell == nil {
			continue
		}
		for name, op := range cell.Ops {
			if op.Count == 0 || op.Store.RowsExamined != nil || ctx.Err() != nil {
				continue
			}
			c.runner.progress(p.Name+": rows examined", drive.Progress{Fraction: -1})
			err := crash.Guard(func() error { return c.examine(ctx, tracer, p, name, &op) })
			if err != nil && ctx.Err() == nil {
				c.runner.note(fmt.Sprintf("rows examined by %s are not known: %v", name, err))
			}
			cell.Ops[name] = op
		}
	}
	c.runner.save()
	return true
}

// cellOf is the cell of a measured phase of the combination, or nil.
func (c *combination) cellOf(p *workloads.Phase) *results.Cell {
	if p.Kind != workloads.Measure {
		return nil
	}
	for i := range c.runner.result.Cells {
		if cell := &c.runner.result.Cells[i]; cell.Key == c.key(p.Name) && cell.Measured() {
			return cell
		}
	}
	return nil
}

// examine carries out a few operations with sessions that the engine traces, and notes the rows
// that it examined. An engine that says it examined fewer rows than it returned counts other
// things than the schema's rows, and tells nothing.
func (c *phases) examine(
	ctx context.Context, tracer drivers.Tracer, p *workloads.Phase, name string, op *results.Op,
) error {
	each := math.Ceil(examineRequests / max(1, op.Store.Calls))
	q := c.fresh(tracedPhase(p, name, uint64(min(examineEach, max(2, each)))))
	rows := &rowCounts{Stream: plan.StreamOf(c.workload(), &q, c.at.census)}
	spec := c.spec(&q, rows, 0)
	spec.Log, spec.Progress = nil, nil
	plain := c.target.Store
	c.target.Store = &tracedStore{plain, tracer, rows}
	m, err := drive.Drive(ctx, c.target, spec)
	c.target.Store = plain
	traced := m.Ops[name]
	n := traced.Count
	if err != nil || rows.untold || n == 0 || int(n) != len(rows.all) || traced.Others()+traced.NoTarget > 0 {
		return err
	}
	sum, squares := 0.0, 0.0
	for _, r := range rows.all {
		sum += float64(r)
		squares += float64(r) * float64(r)
	}
	mean := sum / float64(n)
	if mean < traced.Store.RowsRead {
		return nil
	}
	op.Store.RowsExamined, op.Store.Traced = &mean, n
	if n > 1 {
		op.Store.ExaminedDeviation = math.Sqrt(max(0, squares-sum*mean) / float64(n-1))
	}
	return nil
}

// tracedPhase is a phase of one client that carries out a few of one operation, in the way that
// p does.
func tracedPhase(p *workloads.Phase, name string, operations uint64) workloads.Phase {
	q := workloads.Phase{
		Kind: workloads.Measure, Name: p.Name, Arrivals: workloads.Closed, Clients: 1, Operations: operations,
		How: p.How, Keys: p.Keys, Timeout: p.Timeout,
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
	for op := range q.Mix {
		if workloads.Op(op).String() == name {
			q.Mix[op] = 1
		}
	}
	return q
}

// rowCounts counts the rows that the engine examined for each operation of a stream, which one
// worker carries out.
type rowCounts struct {
	plan.Stream
	all    []int64 // by operation
	calls  []int   // the operation of each call
	untold bool
}

// Next implements plan.Stream.
func (r *rowCounts) Next(now time.Duration, o *plan.Operation) (time.Duration, bool) {
	due, ok := r.Stream.Next(now, o)
	if ok {
		r.all = append(r.all, 0)
	}
	return due, ok
}

// tracedStore is a store whose sessions are traced.
type tracedStore struct {
	drivers.Store
	tracer drivers.Tracer
	to     *rowCounts
}

// Session implements drivers.Store.
func (s *tracedStore) Session() (drivers.Session, error) {
	traced, err := s.tracer.Traced()
	return &countedSession{traced, s.to}, err
}

// countedSession counts the rows of its calls when it is closed: engines tell them late.
type countedSession struct {
	drivers.TracedSession
	to *rowCounts
}

func (s *countedSession) begin() {
	s.Begin()
	s.to.calls = append(s.to.calls, len(s.to.all)-1)
}

// Read implements drivers.Session.
func (s *countedSession) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	s.begin()
	return s.TracedSession.Read(ctx, st, args, yield)
}

// Write implements drivers.Session.
func (s *countedSession) Write(
	ctx context.Context, st drivers.Statement, args []drivers.Value,
) (drivers.Result, error) {
	s.begin()
	return s.TracedSession.Write(ctx, st, args)
}

// Batch implements drivers.Session.
func (s *countedSession) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	s.begin()
	return s.TracedSession.Batch(ctx, st, parts)
}

// workAtMost is how long an engine may take to tell what it did.
const workAtMost = time.Minute

// Close implements drivers.Session.
func (s *countedSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), workAtMost)
	defer cancel()
	work, err := s.Work(ctx)
	s.to.untold = s.to.untold || err != nil || len(work) != len(s.to.calls)
	for i := range work {
		if s.to.untold = s.to.untold || work[i].Rows < 0; !s.to.untold {
			s.to.all[s.to.calls[i]] += work[i].Rows
		}
	}
	return s.TracedSession.Close()
}
