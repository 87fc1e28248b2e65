package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/fit"
)

func newWorkloads() *cobra.Command {
	args := cobra.MatchAll(cobra.MaximumNArgs(1), bundledWorkload)
	c := command("workloads [NAME]", args, func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if asJSON(cmd) {
				return usagef("--json lists the workloads; \"mailbench workloads show\" prints one as YAML")
			}
			w, err := workloads.Bundled(args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "%s: %s\n", w.Name, w.Doc)
			if a := w.Answer; len(a.Models) > 0 {
				fmt.Fprintf(out, "\nIt runs %s, unless -m names others, and reports:\n", strings.Join(a.Models, ", "))
				for _, s := range a.Says {
					fmt.Fprintln(out, strings.Join(words.Wrap("  ", s, 2, 80), "\n"))
				}
			}
			_, err = fmt.Fprint(out, "\n"+words.Table([][]string{
				{"mailbench workloads show " + w.Name + " > mine.yaml", "prints it, to be changed"},
				{"mailbench run " + w.Name + " --dry-run", "prints operations, time and disk"},
			}, 2, 0))
			return err
		}
		var all []listedWorkload
		for _, name := range workloads.BundledNames() {
			w, err := workloads.Bundled(name)
			if err != nil {
				return err
			}
			all = append(all, listedWorkload{name, w.Doc})
		}
		return list(cmd, all, []string{"WORKLOAD", "DESCRIPTION"},
			func(w listedWorkload) []string { return []string{w.Name, w.Doc} })
	})
	c.ValidArgs = workloads.BundledNames()
	bindJSON(c.Flags(), "print JSON")
	args = cobra.MatchAll(lacking(cobra.ExactArgs(1), "expected one workload"), bundledWorkload)
	show := command("show NAME", args, func(cmd *cobra.Command, args []string) error {
		_, text, err := workloads.Text(args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", schemaLine, text)
		return err
	})
	show.ValidArgs = workloads.BundledNames()
	schema := command("schema", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		_, err := cmd.OutOrStdout().Write(workloads.JSONSchema())
		return err
	})
	c.AddCommand(show, schema, newWorkloadsFit())
	return c
}

// bundledWorkload refuses arguments that are no bundled workload.
func bundledWorkload(_ *cobra.Command, args []string) error {
	for _, name := range args {
		if _, err := os.Stat(name); err == nil && isFile(name) {
			return usagef("%s is a file; expected a workload that mailbench has (\"mailbench run %s --dry-run\" shows yours)",
				name, shellquote.Join(name))
		}
		if !slices.Contains(workloads.BundledNames(), name) {
			return usage(strict.Unknown("workload", name, workloads.BundledNames()...))
		}
	}
	return nil
}

// listedWorkload is the JSON of a workload in the list. Fields are added, never removed.
type listedWorkload struct {
	Name string `json:"name"`
	Doc  string `json:"description"`
}

// schemaLine names the JSON Schema of a workload for editors.
const schemaLine = `# yaml-language-server: $schema=workload.schema.json
# ("mailbench workloads schema > workload.schema.json" creates that file for an editor)`

func newWorkloadsFit() *cobra.Command {
	var mbox []string
	var limit strict.Size = defaultMail
	c := command("fit --mbox FILE", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if len(mbox) == 0 {
			return usagef("nothing to measure; name mail with --mbox")
		}
		s := &fit.Sample{}
		if err := s.ReadMbox(cmd.Context(), int64(limit), mbox...); err != nil {
			return missing(err)
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", schemaLine, s.Workload())
		return err
	})
	bindList(c.Flags(), &mbox, "mbox", "",
		"measure the mail of `FILE`,…, mbox files, plain or gzip; each is a folder")
	c.Flags().Var(size(&limit, strict.KB, mostMail), "max-mail-size",
		"refuse an mbox file with more than `SIZE`, unpacked")
	return c
}
