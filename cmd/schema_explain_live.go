package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/trace"
)

// liveFlags are the flags of schema explain --live as they were given.
type liveFlags struct {
	workloadFlags
	json, quiet bool
}

// run runs the operations of a model and prints what its patterns cost.
func (f *liveFlags) run(
	cmd *cobra.Command, known registry, name string, e drivers.Engine, patterns []*schemas.Pattern,
) error {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return fmt.Errorf("--live runs mail operations, so it needs a model: %w", err)
	}
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return err
	}
	w, err := trace.Workload(slices.Concat(f.set, more)...)
	if err != nil {
		return usage(err)
	}
	if err := w.CheckEngines(engineWords(known.engines)); err != nil {
		return usage(err)
	}
	if err := known.checkModels(w); err != nil {
		return err
	}
	bar := newLineBar(cmd.ErrOrStderr(), f.quiet)
	report, err := trace.Run(cmd.Context(), trace.Config{
		Model: picked[0], Engine: e, Workload: w,
		Progress: func(p run.Progress) { bar.show(p.Model + " on " + p.Engine + ": " + p.Phase) },
	})
	bar.close()
	if err != nil {
		return err
	}
	report.Patterns = slices.DeleteFunc(report.Patterns, func(p trace.Pattern) bool {
		return !slices.ContainsFunc(patterns, func(s *schemas.Pattern) bool { return s.Name == p.Name })
	})
	out := cmd.OutOrStdout()
	if f.json {
		err = printJSON(out, report)
	} else {
		room, _ := wanted(out)
		err = report.WriteText(out, e.TraceDoc, room)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
