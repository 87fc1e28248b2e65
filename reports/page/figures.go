package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// table holds the figures of a phase: a group of rows for each operation.
type table struct {
	Label  string // what the table shows, for readers who cannot see it
	Head   []head
	Groups []group
}

// mostFitting is how many columns of figures fit into a window of common width.
const mostFitting = 12

// Fits reports whether a wide window shows all of the table.
func (t *table) Fits() bool { return len(t.Head) <= mostFitting }

// paperLines is how many lines of figures are printed with the answer. More would make its sheets too
// many.
const paperLines = 160

// lines is how many lines the table has.
func (t *table) lines() (n int) {
	if t == nil {
		return 0
	}
	for _, g := range t.Groups {
		n += 1 + len(g.Rows)
		for _, r := range g.Rows {
			n += min(1, len(r.Remarks))
		}
	}
	return n
}

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
	cells []*results.Cell
}

// columnsOf puts the trials of each model and engine together.
func columnsOf(s *reports.Section, n reports.Names) []column {
	var cs []column
	for _, c := range s.Cells {
		at := slices.IndexFunc(cs, func(o column) bool {
			return o.cells[0].Model == c.Model && o.cells[0].Engine == c.Engine
		})
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
		cs = append(cs, column{n.Of(c), []*results.Cell{c}})
	}
	return cs
}

// op is the operation with the trials of the column put together. Its Response is the time that
// the cell reports: in a closed loop the service time.
func (c *column) op(name string) (*reports.Trials, bool) {
	t, ok := reports.TrialsOf(c.cells, name)
	if ok {
		t.Response = *c.cells[0].Latency(&t.Op)
	}
	return &t, ok
}

// percentile writes a percentile, or a dash if a trial has too few operations for it.
func percentile(t *reports.Trials, ns int64, p float64) string {
	for _, o := range t.Used {
		if !o.Tells(p) {
			return reports.Percentile(o, 0, p)
		}
	}
	return reports.Percentile(&t.Op, ns, p)
}

// trouble says why the figures of the column cannot be used; "" if they can.
func (c *column) trouble() string {
	for _, cell := range c.cells {
		if cell.Verdict != results.OK {
			text := string(cell.Verdict)
			if cell.Reason != nil {
				text += ": " + cell.Reason.Text
			}
			return text
		}
	}
	return ""
}

// newTable makes the table of a phase. Times come first, because a phone shows no more than a few
// columns. Columns that have dashes only are left out.
func newTable(r *results.Run, s *reports.Section, cs []column) table {
	t := table{Label: "Figures of " + s.Cells[0].Where()}
	troubled, several := s.Troubled(), slices.ContainsFunc(cs, func(c column) bool { return len(c.cells) > 1 })
	t.Head = []head{
		{"p50", ""},
		{"p90", ""},
		{"p99", ""},
		{"p99.9", ""},
		{"max", "the slowest"},
		{"calls", "requests that went to the engine for an operation"},
		{"rows e/r/w", "rows that the engine examined (~: in a few traced operations; ?: not known), returned and wrote"},
		{"bytes r/w", "bytes read and written an operation"},
	}
	if several {
		t.Head = append(t.Head, head{"p99 of trials", "the least and the most of the trials"})
	}
	t.Head = append(t.Head, head{"ok", "operations that were ok"})
	if troubled {
		t.Head = append(t.Head, head{"failed", "known not to be applied"}, head{"unknown", "timed out: applied or not"})
	}
	t.Head = append(t.Head, head{"rate/s", "operations that were ok a second"},
		head{"own", "what mailbench and the model cost by themselves"})
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
					Name: c.name, Trouble: c.trouble(), Values: c.values(r, op, o, several, troubled),
					Remarks: strings.Join(o.Remarks, "; "),
				})
			}
		}
		g.Lacking = strings.Join(lacking, ", ")
		t.Groups = append(t.Groups, g)
	}
	t.leaveOutDashes()
	return t
}

// leaveOutDashes leaves out columns in which nothing stands.
func (t *table) leaveOutDashes() {
	for at := len(t.Head) - 1; at >= 0; at-- {
		if slices.ContainsFunc(t.Groups, func(g group) bool {
			return slices.ContainsFunc(g.Rows, func(r row) bool { return r.Values[at].Text != "-" })
		}) {
			continue
		}
		t.Head = slices.Delete(t.Head, at, at+1)
		for _, g := range t.Groups {
			for i := range g.Rows {
				g.Rows[i].Values = slices.Delete(g.Rows[i].Values, at, at+1)
			}
		}
	}
}

func (c *column) values(r *results.Run, op string, o *reports.Trials, several, troubled bool) []value {
	var vs []value
	text := func(s string) { vs = append(vs, value{Text: s}) }
	figure := func(s string) {
		if o.Count == 0 {
			s = "-"
		}
		text(s)
	}
	l := &o.Response
	text(percentile(o, l.P50, 0.5))
	text(percentile(o, l.P90, 0.9))
	text(percentile(o, l.P99, 0.99))
	text(percentile(o, l.P999, 0.999))
	text(reports.Slowest(&o.Op, l.Max))
	figure(words.Digits(o.Store.Calls))
	figure(reports.RowsText(&o.Store))
	figure(words.Size(o.Store.BytesRead) + "/" + words.Size(o.Store.BytesWritten))
	if several {
		text(c.spread(o))
	}
	text(strconv.FormatInt(o.Count, 10))
	if troubled {
		vs = append(vs, value{strconv.FormatInt(o.Failed, 10), o.Failed > 0},
			value{strconv.FormatInt(o.Unknown, 10), o.Unknown > 0})
	}
	figure(words.Amount(o.Rate))
	own := "-"
	if ns, ok := reports.FloorOf(r, c.cells[0].Model, op); ok {
		own = words.Duration(ns)
	}
	text(own)
	return vs
}

// spread is the range of the trials' p99.
func (c *column) spread(t *reports.Trials) string {
	var ns []int64
	for _, o := range t.Used {
		if !o.Tells(0.99) {
			return reports.Percentile(o, 0, 0.99)
		}
		ns = append(ns, c.cells[0].Latency(o).P99)
	}
	if len(ns) < 2 {
		return "-"
	}
	return fmt.Sprintf("%s–%s", words.Duration(float64(slices.Min(ns))), words.Duration(float64(slices.Max(ns))))
}
