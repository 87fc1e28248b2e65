package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/run"
)

// progress shows how far a run is: one line rewritten on a terminal, else one
// line for each phase that has ended.
type progress struct {
	w        io.Writer
	terminal bool
	quiet    bool
	drawn    bool
	names    int // columns of the longest name so far, so that the text behind names does not jump
}

func newProgress(w io.Writer, quiet bool) *progress {
	return &progress{w: w, terminal: isTerminal(w), quiet: quiet}
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
		redraw(b.w, line(p, b.names, width(b.w)-1))
		b.drawn = true
	case p.Finished:
		fmt.Fprintf(b.w, "%s done%s%s\n", where(p), amount(p, 1000), left(", ", p))
	}
}

// close takes the progress line off the terminal.
func (b *progress) close() {
	if b.drawn {
		redraw(b.w, "")
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

// left is how long the rest of the run takes, behind a prefix; "" if that is not known.
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
// What there is no room for is left out, from the first on: the times are what users look for.
func amount(p run.Progress, room int) string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	all := []string{fmt.Sprintf("%d ok", p.OK), fmt.Sprintf("%.0f/s", p.Rate)}
	if p.Dropped > 0 {
		all = slices.Insert(all, 1, fmt.Sprintf("%d dropped", p.Dropped))
	}
	if p.Failed > 0 {
		all = slices.Insert(all, 1, fmt.Sprintf("%d not", p.Failed))
	}
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

// lineBar is one line of progress that is redrawn. It is shown on a terminal only.
type lineBar struct {
	w     io.Writer
	drawn bool
}

func newLineBar(w io.Writer, quiet bool) *lineBar {
	if quiet || !isTerminal(w) {
		return &lineBar{}
	}
	return &lineBar{w: w}
}

func (b *lineBar) show(line string) {
	if b.w == nil {
		return
	}
	cut := []rune(printable(line))
	redraw(b.w, string(cut[:min(len(cut), max(width(b.w)-1, 0))]))
	b.drawn = true
}

// close takes the line off the terminal.
func (b *lineBar) close() {
	if b.drawn {
		redraw(b.w, "")
		b.drawn = false
	}
}
