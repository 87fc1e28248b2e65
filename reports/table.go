package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is one column of figures of a table.
type column struct {
	title string
	width int
	from  int // the narrowest terminal that has it
	value func(r *Run, c *Cell, op string, o *Op) string
}

var columns = []column{
	{"p50", 8, 0, func(_ *Run, c *Cell, _ string, o *Op) string { return duration(float64(c.latency(o).P50)) }},
	{"p99", 8, 0, func(_ *Run, c *Cell, _ string, o *Op) string { return duration(float64(c.latency(o).P99)) }},
	{"p99.9", 8, 0, func(_ *Run, c *Cell, _ string, o *Op) string { return duration(float64(c.latency(o).P999)) }},
	{"rate/s", 8, 0, func(_ *Run, _ *Cell, _ string, o *Op) string { return amount(o.Rate) }},
	{"calls", 7, 0, func(_ *Run, _ *Cell, _ string, o *Op) string { return digits3(o.Store.Calls) }},
	{"rows r/w", 12, 100, func(_ *Run, _ *Cell, _ string, o *Op) string {
		return amount(o.Store.RowsRead) + "/" + amount(o.Store.RowsWritten)
	}},
	{"bytes r/w", 16, 100, func(_ *Run, _ *Cell, _ string, o *Op) string {
		return size(o.Store.BytesRead) + "/" + size(o.Store.BytesWritten)
	}},
	{"own CPU", 9, 120, func(r *Run, c *Cell, op string, _ *Op) string {
		if ns, ok := floorOf(r, c.Model, op); ok {
			return duration(ns)
		}
		return "-"
	}},
}

// beside is the width from which operations have a column beside the models,
// and not a line above them.
const beside = 80

// opWidth fits the longest name of an operation.
const opWidth = len("search-sender") + 1

// section writes the table of cells that can be compared: a line for each model
// under each operation.
func (t *text) section(r *Run, s *section) {
	first := s.cells[0]
	t.line("")
	t.wrap(strings.ToUpper(printable(first.Phase))+"  ", 2, first.load()+"; durability "+first.Durability)
	for _, c := range s.cells {
		if c.Verdict != OK {
			t.wrap("! ", 4, fmt.Sprintf("%s is %s: %s", t.names.of(c), strings.ToUpper(string(c.Verdict)), c.Reason))
		}
	}
	if len(s.ops) == 0 {
		return
	}
	nameWidth := 0
	for _, c := range s.cells {
		nameWidth = max(nameWidth, utf8.RuneCountInString(printable(t.names.of(c))))
	}
	indent := 2
	if t.width >= beside {
		indent = opWidth
	}
	header := fmt.Sprintf("%*s%-*s", indent, "", nameWidth+1, "")
	for _, col := range columns {
		if t.width >= col.from {
			header += fmt.Sprintf("%*s", col.width, col.title)
		}
	}
	t.line("%s", header)
	var nobody []string
	for _, op := range s.ops {
		if !slices.ContainsFunc(s.cells, func(c *Cell) bool { o, ok := c.Ops[op]; return ok && o.offered() }) {
			nobody = append(nobody, op)
			continue
		}
		t.operation(r, s, op, indent, nameWidth)
	}
	if len(nobody) > 0 {
		t.wrap("n/a for all: ", 2, strings.Join(nobody, ", "))
	}
}

// operation writes the lines of one operation. Models that lack it share one.
func (t *text) operation(r *Run, s *section, op string, indent, nameWidth int) {
	label := printable(op)
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
	for _, c := range s.cells {
		o, ok := c.Ops[op]
		if !ok {
			continue
		}
		if !o.offered() {
			lacking = append(lacking, t.names.of(c))
			continue
		}
		mark := " "
		if c.Verdict != OK {
			mark = "!"
		}
		line := begin() + mark + fmt.Sprintf("%-*s", nameWidth, printable(t.names.of(c)))
		for _, col := range columns {
			if t.width < col.from {
				continue
			}
			value := "-"
			if o.Count > 0 {
				value = col.value(r, c, op, &o)
			}
			line += fmt.Sprintf("%*s", col.width, value)
		}
		t.remark(line, indent+3, o.remarks())
	}
	if len(lacking) > 0 {
		t.wrap(begin()+" n/a: ", indent+3, strings.Join(lacking, ", "))
	}
}

// remark writes a line of figures with its remarks: behind it where there is
// room, else below.
func (t *text) remark(line string, indent int, remarks []string) {
	all := printable(strings.Join(remarks, "; "))
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

// remarks is what has to stand beside an operation's figures: what became of
// the operations that are not in them, and what the answers were not.
func (o *Op) remarks() []string {
	var s []string
	for _, n := range []struct {
		count int64
		what  string
	}{
		{o.Failed, "failed"},
		{o.Unknown, "of unknown outcome"},
		{o.Dropped, "dropped"},
		{o.NotFound, "not found"},
		{o.TooLarge, "too large"},
		{o.Clamped, "latencies beyond 100 s"},
	} {
		if n.count > 0 {
			s = append(s, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if o.Error != "" {
		s = append(s, "first error: "+o.Error)
	}
	if o.Count+o.others() == 0 {
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
