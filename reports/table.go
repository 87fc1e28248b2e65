package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/units"
)

// column is one column of figures of a table.
type column struct {
	title string
	width int
	from  int // the narrowest terminal that has it
	value func(r *Run, c *Cell, op string, o *Op) string
}

var columns = []column{
	{"p50", 8, 0, func(_ *Run, c *Cell, _ string, o *Op) string { return o.Percentile(c.Latency(o).P50, 0.5) }},
	{"p99", 8, 0, func(_ *Run, c *Cell, _ string, o *Op) string { return o.Percentile(c.Latency(o).P99, 0.99) }},
	{"p99.9", 8, 50, func(_ *Run, c *Cell, _ string, o *Op) string { return o.Percentile(c.Latency(o).P999, 0.999) }},
	{"rate/s", 8, 0, func(_ *Run, _ *Cell, _ string, o *Op) string { return units.Amount(o.Rate) }},
	{"calls", 7, 60, func(_ *Run, _ *Cell, _ string, o *Op) string { return units.Digits(o.Store.Calls) }},
	{"rows r/w", 12, 100, func(_ *Run, _ *Cell, _ string, o *Op) string {
		return units.Amount(o.Store.RowsRead) + "/" + units.Amount(o.Store.RowsWritten)
	}},
	{"bytes r/w", 16, 100, func(_ *Run, _ *Cell, _ string, o *Op) string {
		return units.Size(o.Store.BytesRead) + "/" + units.Size(o.Store.BytesWritten)
	}},
	{"own", 9, 120, func(r *Run, c *Cell, op string, _ *Op) string {
		if ns, ok := FloorOf(r, c.Model, op); ok {
			return units.Duration(ns)
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
	return slices.ContainsFunc(s.Cells, func(c *Cell) bool {
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
	columns  []column
}

// layout chooses the columns that fit beside names of that width.
func (t *text) layout(s *Section, names int) layout {
	l := layout{troubled: s.Troubled()}
	width := t.width
	if l.troubled {
		width -= 2 * outcomeWidth
	}
	room := width - names
	for _, col := range columns {
		if col.from <= width && col.width <= room {
			l.columns = append(l.columns, col)
			room -= col.width
		}
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

// figures writes one operation of one cell. An operation that was never ok has no
// figures but its outcomes.
func (l *layout) figures(r *Run, c *Cell, op string, o *Op) string {
	var line string
	if l.troubled {
		line = fmt.Sprintf("%*d%*d", outcomeWidth, o.Failed, outcomeWidth, o.Unknown)
	}
	for _, col := range l.columns {
		value := "-"
		if o.Count > 0 {
			value = col.value(r, c, op, o)
		}
		line += fmt.Sprintf("%*s", col.width, value)
	}
	return line
}

// beside is the narrowest terminal on which operations have a column of their own.
// Narrower ones have them on a line above the models.
const beside = 80

// opWidth fits the longest name of an operation.
const opWidth = len("search-sender") + 1

// section writes the table of a section: a line for each cell under each operation.
func (t *text) section(r *Run, s *Section) {
	first := s.Cells[0]
	t.line("")
	t.wrap(strings.ToUpper(units.OneLine(first.Phase))+"  ", 2, first.Load()+"; durability "+first.Durability)
	for _, c := range s.Cells {
		if c.Verdict != OK {
			t.wrap("! ", 4, fmt.Sprintf("%s is %s: %s", t.names.Of(c), strings.ToUpper(string(c.Verdict)), c.why()))
		}
	}
	if achieved := s.AchievedRates(t.names); achieved != "" {
		t.wrap("  ", 4, achieved)
	}
	if len(s.Ops) == 0 {
		return
	}
	nameWidth := 0
	for _, c := range s.Cells {
		nameWidth = max(nameWidth, utf8.RuneCountInString(units.OneLine(t.names.Of(c))))
	}
	indent := 2
	if t.width >= beside {
		indent = opWidth
	}
	l := t.layout(s, indent+nameWidth+1)
	t.line("%*s%-*s%s", indent, "", nameWidth+1, "", l.header())
	var nobody []string
	for _, op := range s.Ops {
		if !slices.ContainsFunc(s.Cells, func(c *Cell) bool { o, ok := c.Ops[op]; return ok && o.Offered() }) {
			nobody = append(nobody, op)
			continue
		}
		t.operation(r, s, &l, op, indent, nameWidth)
	}
	if len(nobody) > 0 {
		t.wrap("n/a for all: ", 2, strings.Join(nobody, ", "))
	}
	for _, c := range s.Cells {
		t.timeline(c)
	}
}

// operation writes the lines of one operation. Models that do not offer it share one
// line.
func (t *text) operation(r *Run, s *Section, l *layout, op string, indent, nameWidth int) {
	label := units.OneLine(op)
	if indent < opWidth {
		t.line("%s", label)
		label = ""
	}
	begin := func() string {
		s := fmt.Sprintf("%-*s", indent, label)
		label = ""
		return s
	}
	var lacking []string
	for _, c := range s.Cells {
		o, ok := c.Ops[op]
		if !ok {
			continue
		}
		if !o.Offered() {
			lacking = append(lacking, t.names.Of(c))
			continue
		}
		mark := " "
		if c.Verdict != OK {
			mark = "!"
		}
		line := begin() + mark + fmt.Sprintf("%-*s", nameWidth, units.OneLine(t.names.Of(c))) + l.figures(r, c, op, &o)
		t.remark(line, indent+3, o.Remarks())
	}
	if len(lacking) > 0 {
		t.wrap(begin()+" n/a: ", indent+3, strings.Join(lacking, ", "))
	}
}

// remark writes a line of figures and its remarks: behind it if there is room, or
// below it.
func (t *text) remark(line string, indent int, remarks []string) {
	all := units.OneLine(strings.Join(remarks, "; "))
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

// errorsShown is how many texts of errors are shown beside the figures.
const errorsShown = 2

// due says what the percentiles of everything that was due are, where they are not
// those of the operations that were ok.
func (o *Op) due() string {
	if o.Due == nil || near(o.Due.P50, o.Response.P50) && near(o.Due.P99, o.Response.P99) && near(o.Due.P999, o.Response.P999) {
		return ""
	}
	write := func(ns int64) string {
		if ns == NeverEnded {
			return "never"
		}
		return units.Duration(float64(ns))
	}
	return fmt.Sprintf("of all due: p50 %s, p99 %s, p99.9 %s", write(o.Due.P50), write(o.Due.P99), write(o.Due.P999))
}

// near reports whether two times differ by less than a tenth.
func near(a, b int64) bool { return math.Abs(float64(a-b)) <= 0.1*float64(b) }

// Remarks are shown beside an operation's figures: operations that are not in the
// figures and have no column, errors, and what the model's answers lacked.
func (o *Op) Remarks() []string {
	var s []string
	for _, n := range []struct {
		count int64
		what  string
	}{
		{o.Dropped, "dropped"},
		{o.NoTarget, "without a message to work on"},
		{o.NotFound, "not found"},
		{o.TooLarge, "too large"},
		{o.Clamped, "latencies beyond 100 s"},
	} {
		if n.count > 0 {
			s = append(s, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if d := o.due(); d != "" {
		s = append(s, d)
	}
	for i, e := range o.Errors {
		if i == errorsShown {
			s = append(s, "more errors in run.json")
			break
		}
		s = append(s, fmt.Sprintf("%d× %s", e.Count, e.Text))
	}
	if o.Count+o.others()+o.NoTarget == 0 {
		s = append(s, "never came up")
	}
	if o.Support == EmulatedOp {
		s = append(s, "emulated: "+o.Fallback)
	}
	if o.Missing != "" {
		s = append(s, "lacks "+o.Missing)
	}
	return s
}
