package history

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas/words"
)

// text collects the lines of a history.
type text struct {
	strings.Builder
	width int
}

// barsMost is how many trends are drawn as bars, with a line for each run. More are drawn
// with a line for each trend.
const barsMost = 4

// WriteText writes the history for people, in lines of at most width columns. With trends it also
// draws each figure over the runs.
func (h *History) WriteText(w io.Writer, width int, trends bool) error {
	t := &text{width: width}
	n := 0
	for i := range h.Series {
		n += len(h.Series[i].Runs)
	}
	t.line("", fmt.Sprintf("%s: %s in %d series, %s skipped", h.Folder, words.Plural(n, "run"), len(h.Series),
		words.Plural(len(h.Skipped), "folder")))
	for i := range h.Series {
		t.series(&h.Series[i], len(h.Series), trends)
	}
	if len(h.Skipped) > 0 {
		t.line("", "")
		t.line("", "SKIPPED")
		for _, s := range h.Skipped {
			t.line("  ", s.Folder+": "+s.Why)
		}
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// line writes a text behind an indent. Further lines are indented by two more columns.
func (t *text) line(indent, said string) {
	for _, l := range words.Wrap(indent, words.OneLine(said), len(indent)+2, max(20, t.width)) {
		t.WriteString(l + "\n")
	}
}

func (t *text) series(s *Series, of int, trends bool) {
	t.line("", "")
	title := fmt.Sprintf("SERIES %d of %d  workload %s, %s", s.Number, of, s.Runs[0].Workload, words.Plural(len(s.Runs), "run"))
	if of == 1 {
		title = fmt.Sprintf("RUNS  workload %s", s.Runs[0].Workload)
	}
	t.line("", title)
	if len(s.Differs) > 0 {
		said := "not comparable with series 1: " + s.Differs[0]
		if more := len(s.Differs) - 1; more > 0 {
			said += fmt.Sprintf(" (and %d more)", more)
		}
		t.line("  ", said)
	}
	rows := [][]string{{"  run", "started", "mailbench", "cells", "folder"}}
	for i := range s.Runs {
		r := &s.Runs[i]
		rows = append(rows, []string{
			fmt.Sprintf("%5d", i+1), minute(r.Started), words.OneLine(r.Build()), r.Verdicts(), words.OneLine(r.Folder),
		})
	}
	t.WriteString(words.Table(rows, len(rows[0]), t.width))
	t.changes(s)
	if trends {
		t.trends(s)
	}
}

// minute is a time without seconds, as people read it.
func minute(started string) string {
	at, err := time.Parse(time.RFC3339, started)
	if err != nil {
		return words.OneLine(started)
	}
	return at.UTC().Format("2006-01-02 15:04")
}

// OneRun is what a series of one run says in place of changes.
const OneRun = "One run: there is nothing to compare it with yet."

// changes says what changed at which run, and how much could be told.
func (t *text) changes(s *Series) {
	if len(s.Runs) < 2 {
		t.line("", "")
		t.line("", OneRun)
		if said := s.Untested(); said != "" {
			t.line("  ", said)
		}
		return
	}
	t.line("", "")
	some := false
	for i := range s.Runs {
		for f, c := range s.Changed {
			if c.Run != i {
				continue
			}
			if !some {
				t.line("", "CHANGED")
			}
			some = true
			t.line("  ", fmt.Sprintf("run %d (%s): %s", i+1, s.Runs[i].Build(), changeText(f, c)))
		}
	}
	if !some {
		t.line("", "CHANGED  nothing that can be told")
	}
	if said := s.Untested(); said != "" {
		t.line("  ", said)
	}
}

// changeText says what changed, from what to what.
func changeText(f *Figure, c *Change) string {
	text := f.Measure.Text
	return fmt.Sprintf("%s %s -> %s, %s", f, text(c.Before), text(c.After), c.Why())
}

func (t *text) trends(s *Series) {
	for i := range s.Figures {
		if f := &s.Figures[i]; len(s.Figures) <= barsMost {
			t.bars(s, f)
		} else {
			t.spark(f)
		}
	}
}

// leftBlocks and lowerBlocks fill one to eight eighths of a character, from the left and from
// below.
var (
	leftBlocks  = []rune("▏▎▍▌▋▊▉█")
	lowerBlocks = []rune("▁▂▃▄▅▆▇█")
)

// bars draws a figure with a bar for each run, from 0 up.
func (t *text) bars(s *Series, f *Figure) {
	t.line("", "")
	t.line("", f.String()+", bars from 0")
	most := 0.0
	for _, v := range f.Values {
		if v != nil {
			most = max(most, *v)
		}
	}
	build := 0
	for i := range s.Runs {
		build = max(build, utf8.RuneCountInString(words.OneLine(s.Runs[i].Build())))
	}
	if t.width < 60 {
		build = 0 // the list of runs above has the builds, too
	}
	value := 8
	for i := range f.Values {
		value = max(value, utf8.RuneCountInString(f.Shown(i)))
	}
	for i, v := range f.Values {
		for j := range f.Changes {
			if c := &f.Changes[j]; c.Run == i {
				t.line("       ", fmt.Sprintf("--- %s -> %s, %s", f.Measure.Text(c.Before), f.Measure.Text(c.After), c.Why()))
			}
		}
		head := fmt.Sprintf("%5d  ", i+1)
		if build > 0 {
			head += fmt.Sprintf("%-*s  ", build, words.OneLine(s.Runs[i].Build()))
		}
		bar := ""
		if v != nil && most > 0 {
			bar = "  " + barOf(*v/most, max(8, t.width-utf8.RuneCountInString(head)-value-3))
		}
		t.WriteString(fmt.Sprintf("%s%*s%s\n", head, value, f.Shown(i), bar))
	}
}

// barOf draws part of a width.
func barOf(part float64, width int) string {
	eighths := int(part*float64(8*width) + 0.5)
	bar := strings.Repeat(string(leftBlocks[7]), eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string(leftBlocks[rest-1])
	}
	return bar
}

// spark draws a figure on one line below its name: the first and the last value, and a character
// for each run, with an axis from 0 up. A | is before each run at which the figure changed.
func (t *text) spark(f *Figure) {
	most, first, last := 0.0, "-", "-"
	for _, v := range f.Values {
		if v != nil {
			most = max(most, *v)
			if last = f.Measure.Text(*v); first == "-" {
				first = last
			}
		}
	}
	values := fmt.Sprintf("%8s -> %-8s ", first, last)
	room := max(8, t.width-len("  ")-utf8.RuneCountInString(values)-1)
	from := max(0, len(f.Values)+len(f.Changes)-room)
	var line strings.Builder
	for i, v := range f.Values {
		for _, c := range f.Changes {
			if c.Run == i && i > from {
				line.WriteByte('|')
			}
		}
		switch {
		case i < from:
		case v == nil:
			line.WriteByte(' ')
		case most <= 0:
			line.WriteRune(lowerBlocks[0])
		default:
			line.WriteRune(lowerBlocks[max(0, int(*v/most*8+0.5)-1)])
		}
	}
	name := f.String()
	if from > 0 {
		name += fmt.Sprintf(" (the last %d runs)", len(f.Values)-from)
	}
	t.line("", name)
	t.WriteString("  " + values + line.String() + "\n")
}
