package run

import (
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
)

// key names the cell of a phase.
func (c *combination) key(phase string) results.Key {
	return results.Key{
		Model: c.model.Name, Engine: c.engine.Name, Phase: phase, Point: c.at.value, Trial: c.trial,
		Shard: max(1, c.runner.config.Shard.Index),
	}
}

// blank is the cell of a phase before anything is known.
func (c *phases) blank(p *workloads.Phase) results.Cell {
	cell := results.Cell{
		Key: c.key(p.Name), Kind: p.Kind.String(), Arrivals: "none", Ops: map[string]results.Op{},
		Evidence: &results.Evidence{Settled: c.settled, Warm: c.warm}, Durability: c.durability(),
	}
	now := time.Now()
	times(&cell, now, now)
	if p.Runs() {
		cell.Arrivals, cell.Clients = p.Arrivals.String(), p.Clients
		if p.Arrivals != workloads.Closed {
			cell.Rate = p.Rate.PerSecond()
		}
	}
	return cell
}

// durability is what the store promises, or what was asked for if there is none.
func (c *combination) durability() string {
	if c.target == nil {
		return c.runner.config.EngineOptions.Durability.String()
	}
	return c.target.Caps.Durability.String()
}

// times sets when the phase began and ended.
func times(cell *results.Cell, began, ended time.Time) {
	cell.Started, cell.Ended = began.UTC().Format(time.RFC3339Nano), ended.UTC().Format(time.RFC3339Nano)
	cell.Seconds = ended.Sub(began).Seconds()
}

// notOffered is the cell of a phase whose population the model cannot hold.
func (c *phases) notOffered(p *workloads.Phase) results.Cell {
	cell := c.blank(p)
	cell.Evidence.NotOffered = c.target.NotOffered
	for op := range workloads.NumOps {
		if p.Mix.Has(workloads.Op(op)) {
			cell.Ops[workloads.Op(op).String()] = results.Op{Support: results.NotOffered}
		}
	}
	return cell
}

// measured is the cell of a phase that ran operations.
func (c *phases) measured(p *workloads.Phase, m *drive.Measurement, before *results.EngineInfo) results.Cell {
	cell := c.blank(p)
	times(&cell, m.Began, m.Ended)
	if m.Bulk {
		cell.Durability = drivers.Memory.String()
	}
	m.Evidence.Settled, m.Evidence.Warm = c.settled, c.warm
	cell.Offered, cell.Evidence, cell.Client = &m.Offered, &m.Evidence, &m.Client
	cell.Ops, cell.Streams, cell.AllOps, cell.Timeline, cell.Gap = m.Ops, m.Streams, m.AllOps, m.Timeline, &m.Gap
	cell.Before, cell.Engines = before, c.target.Observe()
	for name, o := range m.Ops {
		if op, _ := workloads.ParseOp(name); o.Unknown > 0 && op.Changes() {
			c.target.Broken()
		}
	}
	return cell
}

// held is how many messages the point should have and how many are live. It is nil if the
// population is not swept.
func (c *phases) held() *results.Held {
	if s := c.runner.config.Workload.Sweep; s == nil || !s.Grows() {
		return nil
	}
	return &results.Held{Said: int64(c.at.census.Messages()), Before: int64(c.target.Live.Messages())}
}

// add judges a cell and adds it to the result.
func add(r *results.Run, cell results.Cell) {
	judged(r, &cell)
	r.Cells = append(r.Cells, cell)
}

// judged sets what the judge says of a cell.
func judged(r *results.Run, cell *results.Cell) {
	judge.Apply(cell)
	cell.Objectives = judge.Objectives(cell, r.Objectives)
}
