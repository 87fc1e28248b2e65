package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
)

func newEngines(known registry) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "engines [NAME]",
		Short: "List the engines, or the settings of one",
		Long: `List the engines, or the settings of one. A workload's section engines holds the
settings; --set engines.NAME.SETTING=VALUE changes one. Passwords come from the
environment variables that are listed.`,
		Example: `  mailbench engines
  mailbench engines embedded
  mailbench engines --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeOne(known.engineNames()),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				engines, err := known.pickEngines(args)
				if err != nil {
					return err
				}
				if asJSON && len(engines) == 1 {
					return printJSON(out, listEngine(&engines[0]))
				}
				for _, e := range engines {
					if err := describeEngine(out, &e); err != nil {
						return err
					}
				}
				return nil
			}
			if asJSON {
				var all []listedEngine
				for _, e := range known.engines {
					all = append(all, listEngine(&e))
				}
				return printJSON(out, all)
			}
			var rows [][]string
			for _, e := range known.engines {
				rows = append(rows, []string{e.Name, e.Doc})
			}
			return table(out, []string{"ENGINE", "DESCRIPTION"}, rows)
		},
	}
	bindJSON(c, &asJSON)
	return c
}

func describeEngine(w io.Writer, e *drivers.Engine) error {
	fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
	if e.Server != "" {
		fmt.Fprintf(w, "mailbench does not start it; %s. \"mailbench engine status %s\" says whether one answers.\n", e.Server, e.Name)
	}
	rows := settingsOf(e)
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "It has no settings.")
		return err
	}
	fmt.Fprintln(w)
	if err := table(w, []string{"SETTING", "DEFAULT", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	if err := named(w, []string{"ENVIRONMENT", "DESCRIPTION"}, e.Environment); err != nil {
		return err
	}
	return named(w, []string{"IF THE CLUSTER LACKS", "RESULT"}, e.Lacking)
}

// named prints a table of names with what is said of each, unless there are none.
func named(w io.Writer, head []string, all []drivers.Setting) error {
	if len(all) == 0 {
		return nil
	}
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{s.Name, s.Doc})
	}
	fmt.Fprintln(w)
	return table(w, head, rows)
}
