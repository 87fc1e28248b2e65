package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// The floor is mailbench's own share of the figures: what a model's calls cost over the null engine, which yields
// sample rows for the model to decode.

const (
	floorShots    = 2                    // of which the least counts: others met a pause of the machine
	floorTime     = 2 * time.Millisecond // length of a shot with one operation of a model
	floorCalls    = 2000                 // operations of a shot, at most
	floorMessages = 16                   // messages in each of the two folders of a model's mailbox
)

// floor measures all models, each in about half a second.
func (r *runner) floor(ctx context.Context) {
	if r.config.Null == nil || r.config.NoFloor || r.config.Audit == AuditOnly || ctx.Err() != nil {
		return
	}
	floors, err := r.config.floors(ctx, r.data.path)
	if ctx.Err() != nil {
		return
	}
	if r.result.Floor = floors; err != nil {
		for _, model := range r.result.Config.Models {
			r.result.Floor = append(r.result.Floor, results.Floor{Model: model, Error: err.Error()})
		}
	}
}

// floors are the costs of the calls of each operation of the workload over the null engine, for a few messages of
// the workload's own mail. Each shot is a phase of a run, whose data folder is in another.
func (c *Config) floors(ctx context.Context, in string) (floors []results.Floor, err error) {
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
