package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// column is one column of figures of a table.
type column struct {
	title string
	width int
	keep  int // importance: the column with the least is left out first
	value func(r *results.Run, op string, row *trials.Row) string
}

// spreadWidth is how much wider times are with the spread of trials beside them.
const spreadWidth = 6

var columns = []column{
	{"p50", 7, 9, func(_ *results.Run, _ string, row *trials.Row) string {
		return timeText(row, 0.5, func(l *results.Latency) int64 { return l.P50 })
	}},
	{"p99", 7, 8, func(_ *results.Run, _ string, row *trials.Row) string {
		return timeText(row, 0.99, func(l *results.Latency) int64 { return l.P99 })
	}},
	{"p99.9", 7, 1, func(_ *results.Run, _ string, row *trials.Row) string {
		return timeText(row, 0.999, func(l *results.Latency) int64 { return l.P999 })
	}},
	{"rate/s", 8, 3, func(_ *results.Run, _ string, row *trials.Row) string { return words.Amount(row.Op.Rate) }},
	{"calls", 7, 7, func(_ *results.Run, _ string, row *trials.Row) string { return words.Digits(row.Op.Store.Calls) }},
	{"rows e/r/w", 14, 4, func(_ *results.Run, _ string, row *trials.Row) string { return RowsText(&row.Op.Store) }},
	{"bytes r/w", 14, 6, func(_ *results.Run, _ string, row *trials.Row) string {
		return words.Size(row.Op.Store.BytesRead) + "/" + words.Size(row.Op.Store.BytesWritten)
	}},
	{"own", 8, 2, func(r *results.Run, op string, row *trials.Row) string {
		if ns, ok := FloorOf(r, row.Cell.Model, op); ok {
			return words.Duration(ns)
		}
		return "-"
	}},
}

// outcomeWidth is the width of the columns failed and unknown. A section has them if
// an engine was in trouble; less important columns make room for them.
const outcomeWidth = 9

// Troubled reports whether operations of the section failed or have an unknown
// outcome.
func (s *Section) Troubled() bool {
	return slices.ContainsFunc(s.Cells, func(c *results.Cell) bool {
		for _, o := range c.Ops {
			if o.Failed+o.Unknown > 0 {
				return true
			}
		}
		return false
	})
}

// layout holds the columns of a section's table.
type layout struct {
	troubled bool
	indent   int // columns before the names of models; names of operations are there, or on a line above
	columns  []column
}

// opWidth fits the longest name of an operation.
const opWidth = len("search-sender") + 1

// layout chooses the columns that fit beside names of that width. If there is too little room
// it first puts operations on lines of their own, and then leaves columns out. It adds these to
// t.dropped, so that the report says what is missing.
func (t *text) layout(s *Section, names int) layout {
	l := layout{troubled: s.Troubled(), indent: opWidth, columns: slices.Clone(columns)}
	need := names
	if l.troubled {
		need += 2 * outcomeWidth
	}
	trials := len(trials.Columns(s.Cells)) < len(s.Cells)
	for i := range l.columns {
		c := &l.columns[i]
		if trials && c.title[0] == 'p' {
			c.width += spreadWidth
		}
		need += c.width
	}
	if need+l.indent > t.width {
		l.indent = 2
		t.wanted = max(t.wanted, need+l.indent)
	}
	for need+l.indent > t.width && len(l.columns) > 1 {
		least := 0
		for i, c := range l.columns {
			if c.keep < l.columns[least].keep {
				least = i
			}
		}
		need -= l.columns[least].width
		if !slices.Contains(t.dropped, l.columns[least].title) {
			t.dropped = append(t.dropped, l.columns[least].title)
		}
		l.columns = slices.Delete(l.columns, least, least+1)
	}
	return l
}

func (l *layout) header() string {
	var h string
	if l.troubled {
		h = fmt.Sprintf("%*s%*s", outcomeWidth, "failed", outcomeWidth, "unknown")
	}
	for _, col := range l.columns {
		h += fmt.Sprintf("%*s", col.width, col.title)
	}
	return h
}

// figures writes one operation of one model. An operation that was never ok has only its
// outcomes.
func (l *layout) figures(r *results.Run, op string, row *trials.Row) string {
	var line string
	if l.troubled {
		line = fmt.Sprintf("%*d%*d", outcomeWidth, row.Op.Failed, outcomeWidth, row.Op.Unknown)
	}
	for _, col := range l.columns {
		line += fmt.Sprintf("%*s", col.width, col.of(r, op, row))
	}
	return line
}

// of writes the figure of the column, or a dash if the operation was never ok.
func (c *column) of(r *results.Run, op string, row *trials.Row) string {
	if row.Op.Count == 0 {
		return "-"
	}
	return c.value(r, op, row)
}

// section writes the table of a section: a line for each model under each operation.
func (t *text) section(r *results.Run, s *Section) {
	if len(s.Ops) == 0 {
		return // its verdicts are in the warnings above
	}
	first := s.Cells[0]
	t.line("")
	t.heading(strings.ToUpper(words.OneLine(first.Where()))+"  ", LoadLine(first)+"; durability "+first.Durability)
	if achieved := s.AchievedRates(t.names); achieved != "" {
		t.wrap("  ", 4, achieved)
	}
	columns := trials.Columns(s.Cells)
	nameWidth := 0
	for _, cs := range columns {
		nameWidth = max(nameWidth, utf8.RuneCountInString(t.nameOf(cs)))
	}
	l := t.layout(s, nameWidth+1)
	t.line("%*s%-*s%s", l.indent, "", nameWidth+1, "", l.header())
	var nobody []string
	for _, op := range s.Ops {
		if !slices.ContainsFunc(s.Cells, func(c *results.Cell) bool { o, ok := c.Ops[op]; return ok && o.Offered() }) {
			nobody = append(nobody, op)
			continue
		}
		t.operation(r, columns, &l, op, nameWidth)
	}
	if len(nobody) > 0 {
		t.wrap("n/a for all: ", 2, strings.Join(nobody, ", "))
	}
	t.streams(s)
	t.patterns(s)
	for _, c := range s.Cells {
		t.timeline(c)
	}
}

func (t *text) nameOf(cs trials.Column) string {
	return words.OneLine(t.names.Part(cs[0].Model, cs[0].Engine))
}

// operation writes the lines of one operation. Models that do not offer it share one
// line.
func (t *text) operation(r *results.Run, columns []trials.Column, l *layout, op string, nameWidth int) {
	label := words.OneLine(op)
	if l.indent < opWidth {
		t.line("%s", label)
		label = ""
	}
	begin := func() string {
		s := fmt.Sprintf("%-*s", l.indent, label)
		label = ""
		return s
	}
	var lacking []string
	for _, cs := range columns {
		row, ok := cs.Row(op)
		if !ok {
			continue
		}
		if !row.Op.Offered() {
			lacking = append(lacking, t.nameOf(cs))
			continue
		}
		mark := " "
		if row.Bad {
			mark = "!"
		}
		line := begin() + mark + fmt.Sprintf("%-*s", nameWidth, t.nameOf(cs)) + l.figures(r, op, &row)
		t.remark(line, l.indent+3, rowRemarks(&row))
	}
	if len(lacking) > 0 {
		t.wrap(begin()+" n/a: ", l.indent+3, strings.Join(lacking, ", "))
	}
}

// remark writes a line of figures, and its remarks behind it if there is room, else below it.
func (t *text) remark(line string, indent int, remarks []string) {
	all := words.OneLine(strings.Join(remarks, "; "))
	switch {
	case all == "":
		t.line("%s", line)
	case utf8.RuneCountInString(line)+2+utf8.RuneCountInString(all) <= t.width:
		t.line("%s  %s", line, all)
	default:
		t.line("%s", line)
		t.wrap(strings.Repeat(" ", indent), indent, all)
	}
}

// RowsText writes how many rows the engine examined, returned and wrote. Before the first is ~ if it
// is of traced operations; it is ? if nobody knows.
func RowsText(s *results.StoreCost) string {
	examined := "?"
	if s.RowsExamined != nil {
		examined = words.Amount(*s.RowsExamined)
	}
	if s.Traced > 0 {
		examined = "~" + examined
	}
	return examined + "/" + words.Amount(s.RowsRead) + "/" + words.Amount(s.RowsWritten)
}
