package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
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
func (m *lintMail) numbers(known registry, s *schemas.Schema, facts lint.Facts) (*lint.Numbers, error) {
	if native := slices.IndexFunc(known.engines, func(e drivers.Engine) bool {
		return e.Name == s.Native && e.Forecast != nil
	}); native >= 0 {
		if _, err := known.engines[native].Forecast(s); err != nil { // other engines may be unable to hold the schema
			return nil, usage(fmt.Errorf("schema %s on %s: %w", s.Name, s.Native, err))
		}
	}
	n, err := lint.NumbersOf(s, m.people, facts)
	if err != nil {
		return nil, usage(err)
	}
	n.Workload, n.Hottest.User, n.Hottest.Folder = m.workload, m.user, m.folder
	return n, nil
}
