package cmd

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

// topics are the texts of "mailbench help" that are of no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "workload", Short: "The language of workload files", Long: workloads.Reference()},
		{
			Use: "operations", Short: "The mail operations that workloads name",
			Long: "The mail operations of a workload. \"mailbench models NAME\" prints the access\n" +
				"patterns of each operation in a model.\n\n" +
				terms(glossary.Operations()),
		},
		{Use: "output", Short: "The files and columns of results", Long: outputHelp()},
		{Use: "ranking", Short: "How a run ranks models, and significance", Long: ranking.Rule},
	}
}

func outputHelp() string {
	return `A run leaves a folder:

  run.json      the whole run as data: settings, metrics, verdicts
  latency.hlog  the latencies as HDR histograms, one line an interval
  bench.txt     Go benchmark lines, for benchstat
  report.html   one page that needs nothing else

"mailbench report DIR --format FORMAT" writes it as text, json, csv, markdown,
junit or bench. docs/results.md describes the files.

Verdicts of a phase of a model, from best to worst:

` + terms([]glossary.Term{
		{Word: "ok", Meaning: "the engine was measured at the offered load"},
		{Word: "overloaded", Meaning: "less was executed than was offered (saturated)"},
		{Word: "invalid", Meaning: "the load generator was measured, not the engine (client-bound)"},
		{Word: "empty", Meaning: "nothing was measured"},
		{Word: "failed", Meaning: "the phase was not executed to its end"},
	}) + "\nColumns and marks of the tables:\n\n" + terms(glossary.Columns())
}

// completeTopics adds topics to what the command help completes.
func completeTopics(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // InitDefaultHelpCmd makes the command
	}
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, directive := commands(c, args, typed)
		for _, topic := range root.Commands() {
			if len(args) == 0 && topic.IsAdditionalHelpTopicCommand() && strings.HasPrefix(topic.Name(), typed) {
				found = append(found, topic.Name()+"\t"+topic.Short)
			}
		}
		return found, directive
	}
}

// terms writes words and what they mean, in lines of at most 80 columns.
func terms(all []glossary.Term) string {
	var rows [][]string
	for _, t := range all {
		rows = append(rows, []string{t.Word, t.Meaning})
	}
	var b strings.Builder
	for line := range strings.Lines(words.Table(rows, len(rows[0]), 78)) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit and Go version; --json: and the machine",
		Example: `  mailbench version
  mailbench version --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), run.Environment("."))
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
	bindJSON(c, &asJSON)
	return c
}

// versionLine says which mailbench this is.
func versionLine() string {
	e := run.Environment(".")
	built := e.Go + " " + runtime.GOOS + "/" + runtime.GOARCH
	if e.Commit != "" {
		built = "commit " + e.Commit + ", " + built
	}
	if e.Dirty {
		built += ", with uncommitted changes"
	}
	return fmt.Sprintf("mailbench %s (%s)", e.Version, built)
}
