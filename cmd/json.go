package cmd

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// bindJSON gives a command that prints something the flag --json.
func bindJSON(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// bindRunJSON gives a command that measures or merges the flag --json.
func bindRunJSON(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print run.json instead of the table")
}

// formatOf is the format that the flags --format and --json name together.
func formatOf(flags *pflag.FlagSet, format string, asJSON bool) (string, error) {
	switch {
	case !asJSON:
		return format, nil
	case flags.Changed("format") && format != "json":
		return "", usagef("--json and --format %s contradict each other: leave one out", format)
	}
	return "json", nil
}

// list prints all as JSON, or as a table with a row for each.
func list[T any](cmd *cobra.Command, asJSON bool, all []T, head []string, row func(T) []string) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, append([]T{}, all...)) // an empty list is no null
	}
	return table(out, head, rowsOf(all, row))
}

// printReport prints a report as JSON, or as text in as many columns as the terminal has (0: not known).
func printReport(out io.Writer, asJSON bool, report any, text func(w io.Writer, room int) error) (err error) {
	if asJSON {
		err = printJSON(out, report)
	} else {
		room, _ := wanted(out)
		err = text(out, room)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

func rowsOf[T any](all []T, row func(T) []string) [][]string {
	rows := make([][]string, len(all))
	for i, one := range all {
		rows[i] = row(one)
	}
	return rows
}
