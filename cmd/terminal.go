package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/words"
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
		fmt.Fprintln(b.Out, where(p)+screen.Printable(p.Note))
	case b.Terminal:
		b.names = max(b.names, utf8.RuneCountInString(where(p)))
		b.Show(line(p, b.names, screen.Width(b.Out)-1))
	case p.Finished:
		fmt.Fprintf(b.Out, "%s done%s%s\n", where(p), amount(p, 1000), left(", ", p))
	}
}

// Widths in columns: of the bar between its brackets, of the time left, and of the counts of
// operations.
const (
	barMost, barLeast = 20, 5
	leftWidth         = 11
	amountWidth       = 32
)

// line is a progress line of at most width columns. It says what is under way, how much of the
// whole run is done and how long the rest takes, and counts the operations of the phase. The
// place of each depends on names and width only. If there is no room, the bar is left out.
func line(p run.Progress, names, width int) string {
	s := fmt.Sprintf("%-*s", names, where(p))
	behind := width - names - leftWidth
	if room := min(barMost, behind-amountWidth-3); room >= barLeast {
		behind -= room + 3
		full := int(min(max(p.Done, 0), 1) * float64(room))
		s += " [" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
	}
	all := []rune(strings.TrimRight(s+fmt.Sprintf("%*s%s", leftWidth, left("", p), amount(p, behind)), " "))
	return string(all[:min(len(all), max(width, 0))])
}

// left is how long the rest of the run takes, after a prefix; "" if that is not known.
func left(prefix string, p run.Progress) string {
	if p.Left <= 0 {
		return ""
	}
	return prefix + words.About(p.Left) + " left"
}

// where says what is under way. The user chose the phase's name, so it is made printable.
func where(p run.Progress) string {
	if p.Model == "" { // no cell has begun yet
		return screen.Printable(p.Phase)
	}
	at := ""
	if p.Point != "" {
		at = " at " + screen.Printable(p.Point)
	}
	head := fmt.Sprintf("[%d/%d]", p.Combination, p.Combinations)
	if p.Trials > 1 {
		head = fmt.Sprintf("trial %d/%d", p.Trial, p.Trials)
	}
	return fmt.Sprintf("%s %s on %s%s: %s", head, p.Model, p.Engine, at, screen.Printable(p.Phase))
}

// amount says how many operations succeeded, how many did not, the rate, and how long they took so far.
// Parts without room are left out, from the first on: users look for the times.
func amount(p run.Progress, room int) string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	all := []string{fmt.Sprintf("%d ok", p.OK)}
	if p.Failed > 0 {
		all = append(all, fmt.Sprintf("%d not", p.Failed))
	}
	if p.Dropped > 0 {
		all = append(all, fmt.Sprintf("%d dropped", p.Dropped))
	}
	all = append(all, fmt.Sprintf("%.0f/s", p.Rate))
	if p.P50 > 0 {
		times := "p50 " + words.Duration(float64(p.P50))
		if p.P99 > 0 {
			times += " p99 " + words.Duration(float64(p.P99))
		}
		all = append(all, times)
	}
	text := func() string { return " " + strings.Join(all, ", ") }
	for p.P50 > 0 && len(all) > 1 && utf8.RuneCountInString(text()) > room {
		all = all[1:]
	}
	return text()
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
