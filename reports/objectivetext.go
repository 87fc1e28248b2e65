package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// objectives writes what became of the objectives: a line for each objective and each cell
// that it holds for.
func (t *text) objectives(r *results.Run) {
	type line struct {
		phase, name, bound, who string
		results.Attained
	}
	var lines []line
	phases, names, whos := 0, 0, 0
	several := slices.ContainsFunc(r.Cells, func(c results.Cell) bool {
		return len(c.Objectives) > 0 && slices.ContainsFunc(r.Cells, func(o results.Cell) bool {
			return len(o.Objectives) > 0 && o.Where() != c.Where()
		})
	})
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, a := range c.Objectives {
			l := line{name: a.Objective, bound: a.Bound, who: words.OneLine(t.names.Of(c)), Attained: a}
			if several {
				l.phase = words.OneLine(c.Where()) + ": "
			}
			lines = append(lines, l)
			phases, names = max(phases, utf8.RuneCountInString(l.phase)), max(names, len(l.name)+1+len(l.bound))
			whos = max(whos, utf8.RuneCountInString(l.who))
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.phase+a.name, b.phase+b.name) })
	t.line("")
	t.wrap("OBJECTIVES  ", 2, "times of all operations that were due; a dropped one is infinitely slow")
	last := ""
	for _, l := range lines {
		what := l.phase + l.name + " " + l.bound
		head := fmt.Sprintf("  %-*s", phases+names, what)
		if what == last {
			head = strings.Repeat(" ", 2+phases+names)
		}
		last = what
		word := map[results.Attainment]string{
			results.Met: "met", results.Missed: "MISSED", results.Unclear: "CANNOT TELL", results.NoSuch: "n/a",
		}[l.Verdict]
		head += fmt.Sprintf("  %-*s %9s  ", whos, l.who, l.Shown)
		t.line("%s%s", head, word)
		if l.Verdict == results.Unclear {
			t.wrap("    ", 4, l.Text)
		}
	}
}
