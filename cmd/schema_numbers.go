package cmd

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/population"
)

// lintMail is the mail of a workload. Lint gets sizes and hot partitions from it.
type lintMail struct {
	workload     string
	from         *workloads.Workload
	people       *forecast.Population
	user, folder float64 // shares of operations that the hottest user and the hottest folder get
}

// newLintMail draws the mail of the workload that --workload names. It is nil without that flag.
func newLintMail(ctx context.Context, known registry, f *workloadFlags, from string) (*lintMail, error) {
	if from == "" {
		if len(f.set) > 0 {
			return nil, usagef("--set changes a workload; name it with --workload")
		}
		return nil, nil
	}
	w, err := f.workload(known.engines, from)
	if err != nil {
		return nil, err
	}
	m := &lintMail{workload: w.Name, from: w}
	if m.people, err = population.Of(ctx, w, messages.NewGenerator(w), population.SampleSize); err != nil {
		return nil, err
	}
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	m.user, m.folder, err = plan.Hottest(ctx, w, c)
	return m, err
}

// numbers sizes the tables of a schema on every engine that there is a forecast for.
func (m *lintMail) numbers(known registry, s *schemas.Schema) (*lint.Numbers, error) {
	n := &lint.Numbers{
		Workload: m.workload, Partitions: make(map[string][]lint.Partitions), Cells: make(map[string]float64),
	}
	n.Hottest.User, n.Hottest.Folder = m.user, m.folder
	for _, e := range known.engines {
		if e.Forecast == nil {
			continue
		}
		engine, err := e.Forecast(s)
		if err != nil && e.Name != s.Native {
			continue // the engine cannot hold the schema, which is not made for it
		}
		if err != nil {
			return nil, usage(fmt.Errorf("schema %s on %s: %w", s.Name, e.Name, err))
		}
		made, err := forecast.Make(s, m.people, engine)
		if err != nil {
			return nil, usage(err)
		}
		for _, t := range made.Tables {
			n.Cells[t.Name] = t.LargestCell()
			for _, g := range t.Groups {
				n.Partitions[e.Name] = append(n.Partitions[e.Name], lint.Partitions{
					Table: t.Name, Each: g.Each, Median: sizeOf(g, 0.5), Largest: sizeOf(g, 1),
				})
			}
		}
	}
	return n, nil
}

// sizeOf is the size of the partition of a quantile, with the mail of the load.
func sizeOf(g *forecast.Group, quantile float64) lint.Size {
	p := g.Quantile(quantile, 0)
	return lint.Size{Bytes: p.Bytes, Rows: p.Rows, Cells: p.Cells}
}
