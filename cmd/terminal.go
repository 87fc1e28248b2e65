package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/run"
)

// screen is where every command prints. Subjects, names of folders and files, and an engine's
// texts about its tables come from strangers. A character in them that a terminal would act on,
// or that shows others in another order, is written as an escape, such as \u202e. In JSON the
// escape means the same character.
type screen struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte // the beginning of a character that the next Write completes
	err  error  // the first one of Write: commands need not look at each
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, b...)
	whole := len(text) - begun(text)
	s.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(s.out, printable(string(text[:whole]))); err != nil {
		s.err = cmp.Or(s.err, err)
		return 0, err
	}
	return len(b), nil
}

// begun is how many bytes at the end of text are the beginning of a character, or of a line's
// end (\r before \n).
func begun(text []byte) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if at := text[len(text)-n:]; utf8.RuneStart(at[0]) {
			if !utf8.FullRune(at) || n == 1 && at[0] == '\r' {
				return n
			}
			return 0
		}
	}
	return 0
}

// printable writes characters that a terminal must not get as escapes. Line feeds and tabs stay.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsFunc(text, harmful) {
		return strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !harmful(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// harmful reports whether a character is a control or format character (some of these change the
// direction of text), or a line or paragraph separator.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// redraw overwrites the line that the cursor is in.
func redraw(w io.Writer, line string) { fmt.Fprint(raw(w), "\r\x1b[K", printable(line)) }

// raw is where w writes to without escapes.
func raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.out
	}
	return w
}

// style matches a terminal's sequence that begins or ends a color or weight.
var style = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")

// styled writes a text with the styles that it has. The caller makes sure that none of them comes
// from strangers.
func styled(w io.Writer, text string) error {
	var b strings.Builder
	for text != "" {
		at := style.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(printable(text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
	_, err := io.WriteString(raw(w), b.String())
	if s, ok := w.(*screen); ok {
		s.err = cmp.Or(s.err, err)
	}
	return err
}

// writeDocument writes a document as wide as w is, and with colors if w is a terminal.
func writeDocument(w io.Writer, d *document.Document, full bool) error {
	t := document.Terminal{Width: width(w), Color: color(w), Full: full}
	if !t.Color {
		return t.Write(w, d)
	}
	var text strings.Builder
	if err := t.Write(&text, d); err != nil {
		return err
	}
	return styled(w, text.String())
}

// defaultWidth is the width of text that goes to no terminal.
const defaultWidth = 100

// isTerminal reports whether a text goes to a terminal that acts on escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd())) && escapes(f)
}

// file is the file that w writes to.
func file(w io.Writer) (*os.File, bool) {
	f, ok := raw(w).(*os.File)
	return f, ok
}

// width is the terminal's width in columns. Without a terminal it is that of COLUMNS, or
// defaultWidth.
func width(w io.Writer) int { return cmp.Or(wanted(w), defaultWidth) }

// wanted is the width that the terminal has or COLUMNS sets; 0 if neither does.
func wanted(w io.Writer) int {
	if f, ok := file(w); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(n, 0)
}

// color reports whether text may have colors: on a terminal that knows them, unless
// NO_COLOR (https://no-color.org) is set.
func color(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// table prints rows in columns under their heads. If the terminal or COLUMNS is too narrow for
// that, the text of the last column is broken into lines.
func table(w io.Writer, head []string, rows [][]string) {
	fmt.Fprint(w, words.Table(append([][]string{head}, rows...), len(head), wanted(w)))
}

// bar is one line that is redrawn on a terminal.
type bar struct {
	w        io.Writer
	terminal bool
	quiet    bool
	drawn    bool
}

func newBar(w io.Writer, quiet bool) bar { return bar{w: w, terminal: isTerminal(w), quiet: quiet} }

// show draws a line, if the bar is on a terminal.
func (b *bar) show(line string) {
	if b.quiet || !b.terminal {
		return
	}
	cut := []rune(printable(line))
	redraw(b.w, string(cut[:min(len(cut), max(width(b.w)-1, 0))]))
	b.drawn = true
}

// close takes the line off the terminal.
func (b *bar) close() {
	if b.drawn {
		redraw(b.w, "")
	}
	b.drawn = false
}

// progress shows how far a run is: one line rewritten on a terminal, else one
// line for each phase that has ended.
type progress struct {
	bar
	names int // columns of the longest name so far, so that the text after names does not jump
}

// update is called from one goroutine at a time.
func (b *progress) update(p run.Progress) {
	switch {
	case b.quiet:
	case p.Note != "":
		b.close()
		fmt.Fprintln(b.w, where(p)+printable(p.Note))
	case b.terminal:
		b.names = max(b.names, utf8.RuneCountInString(where(p)))
		b.show(line(p, b.names, width(b.w)-1))
	case p.Finished:
		fmt.Fprintf(b.w, "%s done%s%s\n", where(p), amount(p, 1000), left(", ", p))
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
		return printable(p.Phase)
	}
	at := ""
	if p.Point != "" {
		at = " at " + printable(p.Point)
	}
	head := fmt.Sprintf("[%d/%d]", p.Combination, p.Combinations)
	if p.Trials > 1 {
		head = fmt.Sprintf("trial %d/%d", p.Trial, p.Trials)
	}
	return fmt.Sprintf("%s %s on %s%s: %s", head, p.Model, p.Engine, at, printable(p.Phase))
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
		text(out, wanted(out))
	}
	if s, ok := out.(*screen); ok {
		err = cmp.Or(err, s.err)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// list shows all, as text in a table with a row for each.
func list[T any](cmd *cobra.Command, all []T, head []string, row func(T) []string) error {
	return show(cmd, append([]T{}, all...), func(w io.Writer, _ int) { // an empty list is no null
		table(w, head, mapped(all, row))
	})
}
