package cmd

import (
	"fmt"
	"io"
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
		fmt.Fprintf(b.w, "%s done%s\n", where(p), amount(p, 1000))
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
	leftWidth         = 13
	amountWidth       = 32
)

// line is a progress line of at most width columns. It says what is under way, how much of the
// whole run is done and how long the rest takes, and counts the operations of the phase. The
// place of each depends on names and width only. If there is no room, the bar is left out.
func line(p run.Progress, names, width int) string {
	s := fmt.Sprintf("%-*s", names, where(p))
	behind := width - names - leftWidth - 1
	if room := min(barMost, width-names-leftWidth-amountWidth-3); room >= barLeast {
		behind -= room + 3
		full := int(min(max(p.Done, 0), 1) * float64(room))
		s += " [" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
	}
	left := ""
	if p.Left > 0 {
		left = words.About(p.Left) + " left"
	}
	all := []rune(strings.TrimRight(s+fmt.Sprintf("%*s %s", leftWidth, left, amount(p, behind)), " "))
	return string(all[:min(len(all), max(width, 0))])
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
	return fmt.Sprintf("[%d/%d] %s on %s%s: %s", p.Combination, p.Combinations, p.Model, p.Engine, at, printable(p.Phase))
}

// amount says how many operations succeeded, how many did not, the rate, and how long they took. If
// there is no room for all that, it says how many did not, the rate and the times.
func amount(p run.Progress, room int) string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	if all := fmt.Sprintf(" %d ok", p.OK) + further(p); utf8.RuneCountInString(all) <= room || p.P50 == 0 {
		return all
	}
	return " " + strings.TrimPrefix(further(p), ", ")
}

// further is what amount says behind the number of operations that succeeded.
func further(p run.Progress) string {
	s := ""
	if p.Failed > 0 {
		s += fmt.Sprintf(", %d not", p.Failed)
	}
	if p.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped", p.Dropped)
	}
	s += fmt.Sprintf(", %.0f/s", p.Rate)
	if p.Finished { // the results say which times hold
		return s
	}
	if p.P50 > 0 {
		s += ", p50 " + words.Duration(float64(p.P50))
	}
	if p.P99 > 0 {
		s += " p99 " + words.Duration(float64(p.P99))
	}
	return s
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
