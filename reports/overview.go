package reports

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports/units"
)

// Overview says which model does what best. It has a table of operations by models (and
// engines) for each measured phase, and the notices that a reader has to know.
type Overview struct {
	// Verdicts are the verdicts that are not ok, the worst first. Doubts are the doubts that
	// change how the figures are read. Further are the other doubts.
	Verdicts, Doubts, Further []Notice
	Parts                     []OverviewPart
}

// OverviewPart is the table of one measured phase. Cells with another load or another
// durability are in a part of their own, because they cannot be compared.
type OverviewPart struct {
	Phase, Load, Durability string
	Trials                  int
	Columns                 []OverviewColumn
	// Rows are the operations that two or more columns offer, the most frequent first.
	Rows []OverviewRow
	// Alone are the operations that only one column offers. Nobody are those that none offers.
	Alone  []OverviewAlone
	Nobody []string
}

// OverviewColumn is a model on an engine.
type OverviewColumn struct {
	Name          string // the model, and the engine if there are several
	Model, Engine string
	Verdict       Verdict // the worst of its trials
}

// OverviewAlone names the operations that only one column offers.
type OverviewAlone struct {
	Column string
	Ops    []string
}

// OverviewRow is one operation. Its first line is the one to go by: a time if the times
// can be compared, else a counted figure.
type OverviewRow struct {
	Op    string
	Marks []OverviewMarks // by column
	Lines []OverviewLine
	Why   string // one sentence on where the difference comes from; may be empty
}

// OverviewMarks are what a reader must know about one operation of a column.
type OverviewMarks struct {
	NotOffered bool
	None       bool    // the operation was never ok
	Verdict    Verdict // verdict of the column
	Emulated   string  // patterns whose fallback ran
	Lacks      string  // fields that the answers lacked
}

// OverviewLine compares the columns by one figure.
type OverviewLine struct {
	Figure Figure
	Values []OverviewValue // by column
}

// OverviewValue is the figure of one column.
type OverviewValue struct {
	Known bool
	// Median is the median of the trials, Low and High are the least and the most of them.
	// With one trial Low and High bound the middle half of the intervals of a time; they are
	// equal to Median for a counted figure. A time is infinite where operations at that
	// percentile never ended.
	Median, Low, High float64
	Ratio             float64 // ratio to the best column's median
	Best              bool    // no column has less
	Same              bool    // it differs from the best by less than the noise

	n         int64   // operations of all trials
	deviation float64 // standard deviation between operations, of a counted figure
	trials    int
}

// Overview makes the overview of the run.
func (r *Run) Overview() *Overview {
	n := NamesIn(r)
	o := &Overview{Verdicts: verdictsOf(r, n)}
	for _, d := range DoubtsOf(r, n) {
		if changesReading[d.Code] {
			o.Doubts = append(o.Doubts, d)
		} else {
			o.Further = append(o.Further, d)
		}
	}
	all, e := Sections(r), newExplainer(r)
	for i := range all {
		if all[i].Cells[0].Measured() {
			o.Parts = append(o.Parts, newPart(e, &all[i], n))
		}
	}
	return o
}

// columnCells are the cells of a model on an engine, one a trial.
type columnCells []*Cell

func newPart(e *explainer, s *Section, n Names) OverviewPart {
	first := s.Cells[0]
	p := OverviewPart{Phase: first.Where(), Load: first.Load(), Durability: first.Durability}
	columns := columnsOf(s.Cells)
	for _, cs := range columns {
		column := OverviewColumn{
			Name: n.Part(cs[0].Model, cs[0].Engine), Model: cs[0].Model,
			Engine: cs[0].Engine, Verdict: OK,
		}
		for _, c := range cs {
			column.Verdict = worse(column.Verdict, c.Verdict)
		}
		p.Trials, p.Columns = max(p.Trials, len(cs)), append(p.Columns, column)
	}
	for _, op := range s.Ops {
		row := OverviewRow{Op: op}
		var offering []int
		for i, cs := range columns {
			marks := cs.marks(op, p.Columns[i].Verdict)
			if row.Marks = append(row.Marks, marks); !marks.NotOffered {
				offering = append(offering, i)
			}
		}
		switch len(offering) {
		case 0:
			p.Nobody = append(p.Nobody, op)
		case 1:
			p.alone(p.Columns[offering[0]].Name, op)
		default:
			row.Lines = linesOf(columns, op)
			row.Why = e.why(&p, columns, &row)
			p.Rows = append(p.Rows, row)
		}
	}
	return p
}

func (p *OverviewPart) alone(column, op string) {
	at := slices.IndexFunc(p.Alone, func(a OverviewAlone) bool { return a.Column == column })
	if at < 0 {
		at, p.Alone = len(p.Alone), append(p.Alone, OverviewAlone{Column: column})
	}
	p.Alone[at].Ops = append(p.Alone[at].Ops, op)
}

func (cs columnCells) marks(op string, v Verdict) OverviewMarks {
	m := OverviewMarks{NotOffered: true, None: true, Verdict: v}
	for _, c := range cs {
		o, ok := c.Ops[op]
		if !ok || !o.Offered() {
			continue
		}
		m.NotOffered = false
		m.None = m.None && o.Count == 0
		m.Emulated = cmp.Or(m.Emulated, o.Fallback)
		m.Lacks = cmp.Or(m.Lacks, o.Missing)
	}
	return m
}

// linesOf compares the columns by times, as far as these can be compared, and by the counted
// figure in which they differ most.
func linesOf(columns []columnCells, op string) []OverviewLine {
	var lines []OverviewLine
	for _, f := range []Figure{P50, P99} {
		l := OverviewLine{Figure: f}
		for _, cs := range columns {
			l.Values = append(l.Values, cs.timed(op, f))
		}
		if l.rank() {
			lines = append(lines, l)
		}
	}
	var counted *OverviewLine
	most := -1.0
	for _, f := range []Figure{Calls, Bytes, Rows} {
		l := OverviewLine{Figure: f}
		for _, cs := range columns {
			l.Values = append(l.Values, cs.counted(op, f))
		}
		if w := l.weight(); l.rank() && w > most {
			counted, most = &l, w
		}
	}
	if counted != nil {
		lines = append(lines, *counted)
	}
	return lines
}

// counted is a counted figure of an operation of the column.
func (cs columnCells) counted(op string, f Figure) OverviewValue {
	v := OverviewValue{}
	var means []float64
	var squares float64
	row, _ := cs.row(op)
	for _, o := range row.used {
		if o.Count == 0 {
			continue
		}
		mean, deviation := o.counted(f)
		means = append(means, mean)
		v.n += o.Count
		squares += deviation * deviation * float64(o.Count)
	}
	v.of(means)
	v.deviation = math.Sqrt(squares / math.Max(float64(v.n), 1))
	return v
}

// timed is a time of an operation of the column. Trials whose verdict is not ok are
// left out.
func (cs columnCells) timed(op string, f Figure) OverviewValue {
	v, intervals := cs.times(op, f)
	if v.trials == 1 {
		v.spread(intervals)
	}
	return v
}

// times is a time of an operation of the column, and that time in each interval of the last
// trial.
func (cs columnCells) times(op string, f Figure) (v OverviewValue, intervals []float64) {
	var times []float64
	for _, c := range cs {
		o, ok := c.Ops[op]
		if !ok || c.Verdict != OK || o.Count < EnoughFor(f.percentile()) || c.timerShows(op) {
			continue
		}
		times = append(times, c.time(&o, f))
		intervals = c.intervals(op, f)
		if o.dueText() != "" { // intervals have only operations that were ok
			intervals = slices.Repeat(times[:1], tellIntervals)
		}
		v.n += o.Count
	}
	v.of(times)
	return v, intervals
}

// of sets the value from the values of the trials.
func (v *OverviewValue) of(trials []float64) {
	if len(trials) == 0 {
		return
	}
	v.Known, v.trials, v.Median = true, len(trials), median(trials)
	v.Low, v.High = trials[0], trials[len(trials)-1]
}

// rank compares the values with the best of them. It returns false if there is nothing
// to compare: there are fewer than two values, or the best is 0 or infinite.
func (l *OverviewLine) rank() bool {
	var best *OverviewValue
	known := 0
	for i := range l.Values {
		v := &l.Values[i]
		if !v.Known {
			continue
		}
		known++
		if best == nil || v.Median < best.Median {
			best = v
		}
	}
	if known < 2 || math.IsInf(best.Median, 1) || best.Median <= 0 {
		return false
	}
	for i := range l.Values {
		if v := &l.Values[i]; v.Known {
			v.Ratio = v.Median / best.Median
			v.Best = v.Median == best.Median
			v.Same = !v.Best && !l.Figure.differs(best, v)
		}
	}
	return true
}

// String writes how the value compares with the best: 1.0×, ≈ if the noise hides the
// difference, 2.3×; or a dash.
func (v *OverviewValue) String() string {
	switch {
	case !v.Known:
		return "-"
	case v.Same:
		return "≈"
	case math.IsInf(v.Ratio, 1):
		return "never"
	case v.Ratio < 9.95:
		return strconv.FormatFloat(v.Ratio, 'f', 1, 64) + "×"
	}
	return units.Amount(math.Round(v.Ratio)) + "×"
}

func worse(a, b Verdict) Verdict {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

// severity lists the verdicts from best to worst.
var severity = []Verdict{OK, Overloaded, Invalid, Empty, Failed}
