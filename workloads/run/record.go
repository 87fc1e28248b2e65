package run

import (
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
)

// key names the cell of a phase.
func (c *combination) key(phase string) reports.Key {
	return reports.Key{
		Model: c.model.Name, Engine: c.engine.Name, Phase: phase, Point: c.at.value, Trial: c.trial,
		Shard: max(1, c.runner.config.Shard.Index),
	}
}

// blank is the cell of a phase before anything is known.
func (c *combination) blank(p *workloads.Phase) reports.Cell {
	cell := reports.Cell{
		Key: c.key(p.Name), Kind: p.Kind.String(), Arrivals: "none", Ops: map[string]reports.Op{},
		Evidence: &reports.Evidence{Settled: c.settled, Warm: c.warm}, Durability: c.durability(),
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
		return c.runner.config.Durability.String()
	}
	return c.target.Caps.Durability.String()
}

// times sets when the phase began and ended.
func times(cell *reports.Cell, began, ended time.Time) {
	cell.Started, cell.Ended = began.UTC().Format(time.RFC3339Nano), ended.UTC().Format(time.RFC3339Nano)
	cell.Seconds = ended.Sub(began).Seconds()
}

// notOffered is the cell of a phase whose population the model cannot hold.
func (c *combination) notOffered(p *workloads.Phase) reports.Cell {
	cell := c.blank(p)
	cell.Evidence.NotOffered = c.target.NotOffered
	for op := range workloads.NumOps {
		if p.Mix.Has(workloads.Op(op)) {
			cell.Ops[workloads.Op(op).String()] = reports.Op{Support: reports.NotOffered}
		}
	}
	return cell
}

// measured is the cell of a phase that ran operations.
func (c *combination) measured(p *workloads.Phase, m *drive.Measurement, before *reports.EngineInfo) reports.Cell {
	cell := c.blank(p)
	times(&cell, m.Began, m.Ended)
	if m.Bulk {
		cell.Durability = drivers.Memory.String()
	}
	m.Evidence.Settled, m.Evidence.Warm = c.settled, c.warm
	cell.Offered, cell.Evidence, cell.Client = &m.Offered, &m.Evidence, &m.Client
	cell.Ops, cell.Streams, cell.AllOps, cell.Timeline, cell.Gap = m.Ops, m.Streams, m.AllOps, m.Timeline, &m.Gap
	cell.Before, cell.Engines = before, c.target.Observe()
	return cell
}

// held is how many messages the point should have and how many are live. It is nil if the
// population is not swept.
func (c *combination) held() *reports.Held {
	if s := c.runner.config.Workload.Sweep; s == nil || !s.Grows() {
		return nil
	}
	return &reports.Held{Said: int64(c.at.census.Messages()), Before: int64(c.target.Live.Messages())}
}
