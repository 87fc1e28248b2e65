package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/units"
)

// table holds the figures of a phase: a group of rows for each operation.
type table struct {
	Label  string // what it shows, for those who do not see it
	Head   []head
	Groups []group
}

// mostFitting is how many columns of figures a window of common width has room for.
const mostFitting = 12

// Fits reports whether a wide window shows all of the table.
func (t *table) Fits() bool { return len(t.Head) <= mostFitting }

// Span is how many columns the table has.
func (t *table) Span() int { return len(t.Head) + 1 }

type head struct{ Text, Title string }

type group struct {
	Op, Lacking string
	Rows        []row
}

// row is a model's figures of one operation.
type row struct {
	Name, Trouble string // Trouble says why the figures cannot be used
	Values        []value
	Remarks       string
}

type value struct {
	Text string
	Bad  bool
}

// column is a model on an engine with its cells of one phase, one a trial.
type column struct {
	name  string
	cells []*reports.Cell
}

// columnsOf puts the trials of each model and engine together.
func columnsOf(s *reports.Section, n reports.Names) []column {
	var cs []column
	for _, c := range s.Cells {
		at := slices.IndexFunc(cs, func(o column) bool { return o.cells[0].Model == c.Model && o.cells[0].Engine == c.Engine })
		if at < 0 {
			at, cs = len(cs), append(cs, column{name: n.Part(c.Model, c.Engine)})
		}
		cs[at].cells = append(cs[at].cells, c)
	}
	return cs
}

// apart makes a column of each cell.
func apart(s *reports.Section, n reports.Names) []column {
	var cs []column
	for _, c := range s.Cells {
		cs = append(cs, column{n.Of(c), []*reports.Cell{c}})
	}
	return cs
}

// op is the operation with the medians of the column's trials. Its outcomes are those of
// all trials.
func (c *column) op(name string) (*reports.Op, bool) {
	var trials []*reports.Op
	for _, cell := range c.cells {
		if o, ok := cell.Ops[name]; ok {
			o.Response = *cell.Latency(&o)
			trials = append(trials, &o)
		}
	}
	if len(trials) == 0 {
		return nil, false
	}
	if len(trials) == 1 {
		return trials[0], true
	}
	return medians(trials), true
}

// medians puts trials of an operation together.
func medians(trials []*reports.Op) *reports.Op {
	m := *trials[0]
	m.Due, m.Errors = nil, nil
	var ok []*reports.Op
	m.Count, m.NotFound, m.Failed, m.Unknown, m.Dropped, m.NoTarget, m.TooLarge, m.Clamped = 0, 0, 0, 0, 0, 0, 0, 0
	for _, o := range trials {
		m.Count, m.NotFound, m.Failed, m.Unknown = m.Count+o.Count, m.NotFound+o.NotFound, m.Failed+o.Failed, m.Unknown+o.Unknown
		m.Dropped, m.NoTarget, m.TooLarge, m.Clamped = m.Dropped+o.Dropped, m.NoTarget+o.NoTarget, m.TooLarge+o.TooLarge, m.Clamped+o.Clamped
		if o.Count > 0 {
			ok = append(ok, o)
		}
	}
	if len(ok) == 0 {
		return &m
	}
	number := func(of func(*reports.Op) float64) float64 {
		var vs []float64
		for _, o := range ok {
			vs = append(vs, of(o))
		}
		return median(vs)
	}
	for _, l := range []func(*reports.Op) *reports.Latency{
		func(o *reports.Op) *reports.Latency { return &o.Response },
		func(o *reports.Op) *reports.Latency { return &o.Service },
		func(o *reports.Op) *reports.Latency { return &o.Lag },
	} {
		ns := func(of func(*reports.Latency) int64) int64 {
			return int64(number(func(o *reports.Op) float64 { return float64(of(l(o))) }))
		}
		*l(&m) = reports.Latency{
			P50: ns(func(l *reports.Latency) int64 { return l.P50 }), P90: ns(func(l *reports.Latency) int64 { return l.P90 }),
			P99: ns(func(l *reports.Latency) int64 { return l.P99 }), P999: ns(func(l *reports.Latency) int64 { return l.P999 }),
			Max: ns(func(l *reports.Latency) int64 { return l.Max }),
		}
	}
	m.Rate = number(func(o *reports.Op) float64 { return o.Rate })
	m.Store = reports.StoreCost{
		Calls:        number(func(o *reports.Op) float64 { return o.Store.Calls }),
		RowsRead:     number(func(o *reports.Op) float64 { return o.Store.RowsRead }),
		RowsWritten:  number(func(o *reports.Op) float64 { return o.Store.RowsWritten }),
		BytesRead:    number(func(o *reports.Op) float64 { return o.Store.BytesRead }),
		BytesWritten: number(func(o *reports.Op) float64 { return o.Store.BytesWritten }),
	}
	return &m
}

// median is 0 of nothing.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	return (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
}

// fewest is the least count of an operation among the trials. A percentile needs enough
// operations in each.
func (c *column) fewest(name string) reports.Op {
	least := reports.Op{Count: -1}
	for _, cell := range c.cells {
		if o, ok := cell.Ops[name]; ok && (least.Count < 0 || o.Count < least.Count) {
			least.Count = o.Count
		}
	}
	return least
}

// trouble says why the figures of the column cannot be used; "" if they can.
func (c *column) trouble() string {
	for _, cell := range c.cells {
		if cell.Verdict != reports.OK {
			text := string(cell.Verdict)
			if cell.Reason != nil {
				text += ": " + cell.Reason.Text
			}
			return text
		}
	}
	return ""
}

// newTable makes the table of a phase. What was counted comes first: it does not depend
// on the machine.
func newTable(r *reports.Run, s *reports.Section, cs []column) table {
	t := table{Label: "Figures of " + s.Cells[0].Phase}
	troubled, several := s.Troubled(), slices.ContainsFunc(cs, func(c column) bool { return len(c.cells) > 1 })
	t.Head = []head{
		{"calls", "calls of the store an operation"},
		{"rows r/w", "rows read and written an operation"},
		{"bytes r/w", "bytes read and written an operation"},
		{"p50", ""},
		{"p90", ""},
		{"p99", ""},
		{"p99.9", ""},
		{"max", "the slowest"},
	}
	if several {
		t.Head = append(t.Head, head{"p99 of trials", "the least and the most of the trials"})
	}
	t.Head = append(t.Head, head{"ok", "operations that were ok"})
	if troubled {
		t.Head = append(t.Head, head{"failed", "known not to be applied"}, head{"unknown", "timed out: applied or not"})
	}
	t.Head = append(t.Head, head{"rate/s", "operations that were ok a second"}, head{"own", "what mailbench and the model cost by themselves"})
	for _, op := range s.Ops {
		g := group{Op: op}
		var lacking []string
		for i := range cs {
			c := &cs[i]
			o, ok := c.op(op)
			switch {
			case !ok:
			case !o.Offered():
				lacking = append(lacking, c.name)
			default:
				g.Rows = append(g.Rows, row{
					Name: c.name, Trouble: c.trouble(), Values: c.values(r, op, o, several, troubled), Remarks: strings.Join(c.remarks(op, o), "; "),
				})
			}
		}
		g.Lacking = strings.Join(lacking, ", ")
		t.Groups = append(t.Groups, g)
	}
	return t
}

// remarks are those of the operation, of several trials without their errors.
func (c *column) remarks(op string, o *reports.Op) []string {
	rs := o.Remarks()
	if len(c.cells) > 1 && slices.ContainsFunc(c.cells, func(cell *reports.Cell) bool { return len(cell.Ops[op].Errors) > 0 }) {
		rs = append(rs, "errors are below, with each trial")
	}
	return rs
}

func (c *column) values(r *reports.Run, op string, o *reports.Op, several, troubled bool) []value {
	var vs []value
	text := func(s string) { vs = append(vs, value{Text: s}) }
	figure := func(s string) {
		if o.Count == 0 {
			s = "-"
		}
		text(s)
	}
	figure(units.Digits(o.Store.Calls))
	figure(units.Amount(o.Store.RowsRead) + "/" + units.Amount(o.Store.RowsWritten))
	figure(units.Size(o.Store.BytesRead) + "/" + units.Size(o.Store.BytesWritten))
	enough, l := c.fewest(op), &o.Response
	text(enough.Percentile(l.P50, 0.5))
	text(enough.Percentile(l.P90, 0.9))
	text(enough.Percentile(l.P99, 0.99))
	text(enough.Percentile(l.P999, 0.999))
	figure(units.Duration(float64(l.Max)))
	if several {
		text(c.spread(op, enough))
	}
	text(strconv.FormatInt(o.Count, 10))
	if troubled {
		vs = append(vs, value{strconv.FormatInt(o.Failed, 10), o.Failed > 0}, value{strconv.FormatInt(o.Unknown, 10), o.Unknown > 0})
	}
	figure(units.Amount(o.Rate))
	own := "-"
	if ns, ok := reports.FloorOf(r, c.cells[0].Model, op); ok {
		own = units.Duration(ns)
	}
	text(own)
	return vs
}

// spread is the range of the trials' p99.
func (c *column) spread(op string, enough reports.Op) string {
	var ns []int64
	for _, cell := range c.cells {
		if o, ok := cell.Ops[op]; ok && o.Count > 0 {
			ns = append(ns, cell.Latency(&o).P99)
		}
	}
	if len(ns) < 2 || enough.Percentile(ns[0], 0.99) == "-" {
		return "-"
	}
	return fmt.Sprintf("%s–%s", units.Duration(float64(slices.Min(ns))), units.Duration(float64(slices.Max(ns))))
}
