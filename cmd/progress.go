package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/workloads/run"
)

// progress shows how far a run is: one line rewritten on a terminal, else one
// line for each phase that has ended.
type progress struct {
	w        io.Writer
	terminal bool
	quiet    bool
	drawn    bool
}

func newProgress(w io.Writer, quiet bool) *progress {
	return &progress{w: w, terminal: isTerminal(w), quiet: quiet}
}

// update is called from one goroutine at a time.
func (b *progress) update(p run.Progress) {
	switch {
	case b.quiet:
	case b.terminal:
		redraw(b.w, line(p, width(b.w)-1))
		b.drawn = true
	case p.Finished:
		fmt.Fprintf(b.w, "%s done%s\n", where(p), amount(p))
	}
}

// close takes the progress line off the terminal.
func (b *progress) close() {
	if b.drawn {
		redraw(b.w, "")
	}
}

// line is a progress line of at most width columns.
func line(p run.Progress, width int) string {
	head := where(p) + " "
	tail := amount(p)
	if p.ETA > 0 {
		tail += ", " + p.ETA.Round(time.Second).String() + " left"
	}
	columns := utf8.RuneCountInString(head) + len(tail)
	if room := min(width-columns-2, 30); room >= 5 && p.Fraction >= 0 {
		full := int(min(p.Fraction, 1) * float64(room))
		head += "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
	}
	if columns <= width {
		return head + tail
	}
	cut := []rune(head)
	return string(cut[:min(len(cut), max(width, 0))])
}

// where says what is under way; the phase's name is the user's.
func where(p run.Progress) string {
	return fmt.Sprintf("[%d/%d] %s on %s: %s", p.Cell, p.Cells, p.Model, p.Engine, printable(p.Phase))
}

// amount says how many operations succeeded, and beside them how many did not.
func amount(p run.Progress) string {
	if p.OK+p.Others+p.Dropped == 0 {
		return ""
	}
	s := fmt.Sprintf(" %d ok", p.OK)
	if p.Others > 0 {
		s += fmt.Sprintf(", %d not", p.Others)
	}
	if p.Dropped > 0 {
		s += fmt.Sprintf(", %d dropped", p.Dropped)
	}
	return s + fmt.Sprintf(", %.0f/s", p.Rate)
}
