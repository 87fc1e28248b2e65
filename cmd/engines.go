package cmd

import (
	"cmp"
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
		Long: `List the engines, or the settings of one. A workload's section engines has the
settings; --set engines.NAME.SETTING=VALUE changes one. Passwords come from the
environment variables that are listed.`,
		Example: `  mailbench engines
  mailbench engines embedded
  mailbench engines --json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: known.engineNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := []listedEngine{}
			for _, e := range known.engines {
				all = append(all, listEngine(&e))
			}
			if len(args) == 0 || args[0] == "all" && asJSON {
				return list(cmd, asJSON, all, []string{"ENGINE", "DESCRIPTION"},
					func(e listedEngine) []string { return []string{e.Name, e.Doc} })
			}
			engines, err := known.pickEngines(args)
			for i := 0; i < len(engines) && err == nil; i++ {
				if e := listEngine(&engines[i]); asJSON {
					err = printJSON(cmd.OutOrStdout(), e)
				} else {
					err = e.describe(cmd.OutOrStdout(), engines[i].Server)
				}
			}
			return err
		},
	}
	bindJSON(c, &asJSON)
	return c
}

// listedEngine is the JSON of an engine. Fields are added, never removed.
type listedEngine struct {
	Name        string            `json:"name"`
	Doc         string            `json:"doc"`
	Remote      bool              `json:"remote"` // the engine is reached over the network
	Settings    []drivers.Setting `json:"settings"`
	Environment []drivers.Setting `json:"environment"`
	Lacking     []drivers.Setting `json:"lacking,omitempty"` // what a server may lack, and what happens then
}

func listEngine(e *drivers.Engine) listedEngine {
	none := []drivers.Setting{} // no null in JSON
	return listedEngine{
		e.Name, e.Doc, e.Remote, append(none, settingsOf(e)...), append(none, e.Environment...), e.Lacking,
	}
}

// describe prints the settings of an engine. Server says what starts it, if mailbench does not.
func (e *listedEngine) describe(w io.Writer, server string) error {
	fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
	if server != "" {
		fmt.Fprintf(w, "mailbench does not start it; %s. \"mailbench engine status %s\" says whether one answers.\n", server, e.Name)
	}
	if len(e.Settings) == 0 {
		_, err := fmt.Fprintln(w, "It has no settings.")
		return err
	}
	return cmp.Or(
		printSettings(w, []string{"SETTING", "DEFAULT", "DESCRIPTION"}, e.Settings),
		printSettings(w, []string{"ENVIRONMENT", "DESCRIPTION"}, e.Environment),
		printSettings(w, []string{"MISSING FEATURE", "RESULT"}, e.Lacking),
	)
}

// printSettings prints a table of settings, unless there are none. Only a head of three columns has room for defaults.
func printSettings(w io.Writer, head []string, all []drivers.Setting) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return table(w, head, rowsOf(all, func(s drivers.Setting) []string {
		if len(head) == 3 {
			return []string{s.Name, s.Default, s.Doc}
		}
		return []string{s.Name, s.Doc}
	}))
}

// settingsOf are the settings of an engine, and for one on the network its address.
func settingsOf(e *drivers.Engine) []drivers.Setting {
	if !e.Remote {
		return e.Settings
	}
	return append([]drivers.Setting{{
		Name: "contact", Default: "this machine", Doc: "its nodes: HOST, HOST:PORT or a list of them; also --contact",
	}}, e.Settings...)
}
