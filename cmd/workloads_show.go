package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

func newWorkloadsShow() *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             "Print a workload as YAML, to be changed",
		Example:           `  mailbench workloads show quick > mine.yaml && mailbench run mine.yaml`,
		ValidArgsFunction: completeOne(workloads.BundledNames()),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected one workload; see %q", cmd.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := workloads.Bundled(args[0])
			if err != nil {
				return usage(err)
			}
			return writeWorkload(cmd.OutOrStdout(), w)
		},
	}
}

func writeWorkload(out io.Writer, w *workloads.Workload) error {
	_, err := fmt.Fprintf(out, "%s\n%s", schemaLine, w.Source)
	return err
}

// describeWorkload prints what a workload does, phase by phase.
func describeWorkload(out io.Writer, w *workloads.Workload) error {
	fmt.Fprintf(out, "%s: %s\n\n", w.Name, w.Doc)
	var rows [][]string
	for i := range w.Phases {
		p := &w.Phases[i]
		streams := p.Streams
		if !p.HasStreams() {
			streams = []workloads.Phase{*p}
		}
		for _, s := range streams {
			name := p.Name
			if p.HasStreams() {
				name += ": " + s.Name
			}
			rows = append(rows, []string{name, pace(&s), length(p), asks(&s)})
		}
	}
	if err := table(out, []string{"PHASE", "LOAD", "LENGTH", "OPERATIONS, % OF ALL"}, rows); err != nil {
		return err
	}
	if a := w.Answer; len(a.Models) > 0 {
		fmt.Fprintf(out, "\nIt asks of %s, unless -m names others, and answers:\n", strings.Join(a.Models, ", "))
		for _, s := range a.Says {
			for _, line := range words.Wrap("  ", s, 2, 80) {
				fmt.Fprintln(out, line)
			}
		}
	}
	_, err := fmt.Fprint(out, "\n"+words.Table([][]string{
		{"mailbench workloads show " + w.Name + " > mine.yaml", "prints it, to be changed"},
		{"mailbench run " + w.Name + " --dry-run", "says what it takes"},
	}, 2, 0))
	return err
}

// pace says how much is asked at once.
func pace(p *workloads.Phase) string {
	switch {
	case !p.Runs():
		return "-"
	case p.Replay != nil:
		return "as recorded"
	case p.Rate.Count > 0 && p.Session != nil:
		return p.Rate.String() + " sessions"
	case p.Rate.Count > 0:
		return p.Rate.String()
	}
	return words.Plural(p.Clients, "client")
}

func length(p *workloads.Phase) string {
	switch {
	case p.Duration > 0:
		return p.Duration.String()
	case p.Operations > 0:
		return words.Plural(int64(p.Operations), "operation")
	}
	return "-"
}

// asks lists the operations of a phase, the most frequent first.
func asks(p *workloads.Phase) string {
	if p.Kind == workloads.Interrupt {
		return fmt.Sprintf("move, delete of %s, broken off", words.Plural(p.Messages, "message"))
	}
	if !p.Runs() || p.Replay != nil {
		return "-"
	}
	mix := p.Asks()
	var ops []workloads.Op
	for op := range workloads.Op(workloads.NumOps) {
		if mix.Has(op) {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b workloads.Op) int { return cmp.Compare(mix[b], mix[a]) })
	var all []string
	for _, op := range ops {
		all = append(all, fmt.Sprintf("%s %.3g", op, 100*mix.Share(op)))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}
