package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/workloads/run"
)

// progress shows how far a run is: one line rewritten on a terminal, else one
// line for each phase that has ended.
type progress struct {
	screen.Bar
	names int // columns of the longest name so far, so that the text after names does not jump
}

// update is called from one goroutine at a time.
func (b *progress) update(p run.Progress) {
	switch {
	case b.Quiet:
	case p.Note != "":
		b.Close()
		fmt.Fprintln(b.Out, p.Where()+p.Note)
	case b.Terminal:
		b.names = max(b.names, utf8.RuneCountInString(p.Where()))
		b.Show(p.Line(b.names, screen.Width(b.Out)-1))
	case p.Finished:
		fmt.Fprintln(b.Out, p.Ended())
	}
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bindJSON gives a command the flag --json.
func bindJSON(flags *pflag.FlagSet, usage string) { flags.Bool("json", false, usage) }

func asJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// formatOf is the format that the flags --format and --json name together.
func formatOf(cmd *cobra.Command, format string) (string, error) {
	switch {
	case !asJSON(cmd):
		return format, nil
	case cmd.Flags().Changed("format") && format != "json":
		return "", usagef("--json and --format %s contradict each other: leave one out", format)
	}
	return "json", nil
}

// show prints a value as JSON if --json says so, else as text, in as many columns as the terminal has (0: not known).
// Text need not look at errors of writing.
func show(cmd *cobra.Command, v any, text func(w io.Writer, room int)) (err error) {
	out := cmd.OutOrStdout()
	if asJSON(cmd) {
		err = printJSON(out, v)
	} else {
		text(out, screen.Wanted(out))
	}
	if err = cmp.Or(err, screen.Err(out)); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// list shows all, as text in a table with a row for each.
func list[T any](cmd *cobra.Command, all []T, head []string, row func(T) []string) error {
	return show(cmd, append([]T{}, all...), func(w io.Writer, _ int) { // an empty list is no null
		screen.Table(w, head, mapped(all, row))
	})
}
