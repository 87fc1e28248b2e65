package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads"
)

func newWorkloads() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "workloads [NAME]",
		Short: "List the bundled workloads, or describe one",
		Long: `List the bundled workloads, or describe one. "mailbench workloads show NAME"
prints it as YAML, to be changed, and so does this command, for older scripts,
if its output goes to no terminal. "mailbench help workload" is the reference of
the language.

An editor with a YAML language server checks and completes workloads with the
JSON Schema of the language. A printed workload names it in its first line.`,
		Example: `  mailbench workloads
  mailbench workloads show quick > mine.yaml && mailbench run mine.yaml
  mailbench workloads schema > workload.schema.json    for an editor`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeOne(workloads.BundledNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				if asJSON {
					return usagef("--json lists the workloads; \"mailbench workloads show\" prints one as YAML")
				}
				w, err := workloads.Bundled(args[0])
				if err != nil {
					return usage(err)
				}
				if isTerminal(out) {
					return describeWorkload(out, w)
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: what prints a workload is \"mailbench workloads show %s\" now\n", args[0])
				return writeWorkload(out, w)
			}
			var rows [][]string
			var all []listedWorkload
			for _, name := range workloads.BundledNames() {
				w, err := workloads.Bundled(name)
				if err != nil {
					return err
				}
				rows = append(rows, []string{name, w.Doc})
				all = append(all, listedWorkload{name, w.Doc})
			}
			if asJSON {
				return printJSON(out, all)
			}
			return table(out, []string{"WORKLOAD", "WHAT IT SHOWS"}, rows)
		},
	}
	bindJSON(c, &asJSON)
	c.AddCommand(newWorkloadsShow(), newWorkloadsSchema(), newWorkloadsFit())
	return c
}

// newWorkloadHelp is the topic "mailbench help workload".
func newWorkloadHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "workload",
		Short: "The language of workload files",
		Long:  workloads.Reference(),
	}
}
