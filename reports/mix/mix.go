// Package mix adds up what a workload's operations cost each model. A mix has the operations that all
// models offer, each as often as in the workload, so that one row tells of a model what its whole load
// asks of the engine. What the figures say of the models, and no more, is also there in words.
package mix

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
)

// Operations is how many operations a mix has.
const Operations = 1000

// Mix is the load of one measured phase.
type Mix struct {
	Phase string
	// Shares are the operations that all models offer, and how many of Operations each is. Left are
	// the others of the workload, the most frequent first.
	Shares []trials.Share
	Left   []Left
	// Covers is which part of the workload the mix is, from 0 to 1.
	Covers float64
	Rows   []Row
	Lines  []Line // figures that at least one row has
	// Out are the models of which no operation was ok. They are in no row.
	Out []string
}

// Left is an operation that is not in the mix. Share is which part of the workload it is. Lacking are
// the rows that do not have it.
type Left struct {
	Op      string
	Share   float64
	Lacking []string
}

// Row is a model on an engine.
type Row struct {
	Name, Model, Engine, Durability string
	OK                              bool // the verdict of a trial is ok
	// Mail is how many bytes the engine's files take for a byte of mail; 0: not known.
	Mail float64
}

// Line is a figure of all rows. Ranked says that its values can be compared.
type Line struct {
	Figure results.Figure
	Values []trials.Value // by row
	Ranked bool
}

// figures are in the order in which reports show them.
var figures = []results.Figure{
	results.P50, results.P99, results.Calls, results.Examined, results.BytesRead, results.BytesWritten,
	results.Stored, results.ClientCPU, results.EngineCPU,
}

// Of are the mixes of the run's measured phases. Names gives rows their names.
func Of(r *results.Run, name func(model, engine string) string) []Mix {
	type load struct {
		where, arrivals string
		rate            float64
		clients         int
	}
	var order []load
	phases := map[load][]*results.Cell{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Measured() {
			continue
		}
		key := load{c.Where(), c.Arrivals, c.Rate, c.Clients}
		if phases[key] == nil {
			order = append(order, key)
		}
		phases[key] = append(phases[key], c)
	}
	var all []Mix
	for _, key := range order {
		if m := newMix(r, phases[key], name); len(m.Shares) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func newMix(r *results.Run, cells []*results.Cell, name func(model, engine string) string) Mix {
	m := Mix{Phase: cells[0].Where()}
	var columns []trials.Column
	for _, cs := range trials.Columns(cells) {
		first := cs[0]
		row := Row{
			Name: name(first.Model, first.Engine), Model: first.Model, Engine: first.Engine, Durability: first.Durability,
		}
		if !slices.ContainsFunc(results.OpsOf(cs), func(op string) bool { return has(cs, op) }) {
			m.Out = append(m.Out, row.Name)
			continue
		}
		row.OK = slices.ContainsFunc(cs, func(c *results.Cell) bool { return c.Verdict == results.OK })
		columns, m.Rows = append(columns, cs), append(m.Rows, row)
	}
	m.share(columns)
	if len(m.Shares) == 0 {
		return m
	}
	for _, f := range figures {
		m.line(r, columns, f)
	}
	return m
}

// has reports whether the operation was ok in a trial that counts.
func has(cs trials.Column, op string) bool { return cs.Counted(op, results.Calls).Known }

// share divides the operations into those of the mix and the others. All columns were asked for the
// same operations, so an operation weighs the mean of its parts of what the columns were asked for.
func (m *Mix) share(columns []trials.Column) {
	var cells []*results.Cell
	for _, cs := range columns {
		cells = append(cells, cs...)
	}
	var common []string
	for _, op := range results.OpsOf(cells) {
		l := Left{Op: op}
		for i, cs := range columns {
			if !has(cs, op) {
				l.Lacking = append(l.Lacking, m.Rows[i].Name)
			}
			l.Share = max(l.Share, asked(cs, op)/max(1, due(cs)))
		}
		if len(l.Lacking) == 0 {
			common = append(common, op)
		} else {
			m.Left = append(m.Left, l)
		}
	}
	slices.SortStableFunc(m.Left, func(a, b Left) int { return cmp.Compare(b.Share, a.Share) })
	m.Covers = 1
	for _, cs := range columns {
		var all float64
		for _, op := range common {
			all += asked(cs, op)
		}
		m.Covers = min(m.Covers, all/max(1, due(cs))) // replacements make it more in others
	}
	for _, op := range common {
		s := trials.Share{Op: op}
		for _, cs := range columns {
			var all float64
			for _, other := range common {
				all += asked(cs, other)
			}
			s.Weight += asked(cs, op) / all / float64(len(columns)) * Operations
		}
		m.Shares = append(m.Shares, s)
	}
}

// asked is how many operations of that kind were due.
func asked(cs trials.Column, op string) float64 {
	var n int64
	for _, c := range cs {
		o := c.Ops[op]
		n += o.Attempted() + o.NoTarget
	}
	return float64(n)
}

// due is how many operations were due, also of those that the model does not offer.
func due(cs trials.Column) float64 {
	var n int64
	for _, c := range cs {
		if c.Offered != nil {
			n += c.Offered.Due
		}
	}
	return float64(n)
}

// line adds a figure, if a row has it and it is not 0 in all.
func (m *Mix) line(r *results.Run, columns []trials.Column, f results.Figure) {
	l := Line{Figure: f}
	for i, cs := range columns {
		l.Values = append(l.Values, m.value(r, cs, &m.Rows[i], f))
	}
	if !slices.ContainsFunc(l.Values, func(v trials.Value) bool { return v.Known && v.Median > 0 }) {
		return
	}
	switch f {
	case results.P50, results.P99:
		l.Ranked = trials.RankApart(f, l.Values, m.durabilities())
	case results.ClientCPU, results.EngineCPU: // processor time is of all operations that a model carried out
		l.Ranked = alike(columns) && trials.Rank(f, l.Values)
	default:
		l.Ranked = trials.Rank(f, l.Values)
	}
	m.Lines = append(m.Lines, l)
}

// durabilities are those of the rows.
func (m *Mix) durabilities() []string {
	var all []string
	for _, r := range m.Rows {
		all = append(all, r.Durability)
	}
	return all
}

// Apart reports whether rows differ in durability, so that their times are ranked apart.
func (m *Mix) Apart() bool {
	return slices.ContainsFunc(m.Rows, func(r Row) bool { return r.Durability != m.Rows[0].Durability })
}

// alike reports whether all columns carried out the same kinds of operations.
func alike(columns []trials.Column) bool {
	kinds := func(cs trials.Column) string {
		var ops []string
		for _, op := range results.OpsOf(cs) {
			if has(cs, op) {
				ops = append(ops, op)
			}
		}
		slices.Sort(ops)
		return strings.Join(ops, " ")
	}
	return !slices.ContainsFunc(columns, func(cs trials.Column) bool { return kinds(cs) != kinds(columns[0]) })
}

func (m *Mix) value(r *results.Run, cs trials.Column, row *Row, f results.Figure) trials.Value {
	switch {
	case f.Counted():
		return cs.MixCounted(m.Shares, f)
	case f == results.P50 || f == results.P99:
		return cs.MixTimed(m.Shares, f)
	case f == results.Stored:
		return stored(r, cs, row)
	}
	var perTrial []float64
	for _, c := range cs {
		if ns, n := processor(c, f), carried(c); ns > 0 && n > 0 {
			perTrial = append(perTrial, ns/n*Operations)
		}
	}
	v := trials.Of(perTrial)
	if v.Trials == 1 { // nobody knows how far off another trial would be
		v.Low, v.High = 0, math.Inf(1)
	}
	return v
}

// processor is the processor time of a phase in nanoseconds; 0: not known. That of an engine in the
// client's own process is in the client's.
func processor(c *results.Cell, f results.Figure) float64 {
	switch {
	case f == results.ClientCPU && c.Client != nil:
		return c.Client.CPUSeconds * 1e9
	case f == results.EngineCPU && c.Before != nil && c.Engines != nil && c.Before.CPU > 0:
		return float64(c.Engines.CPU - c.Before.CPU)
	}
	return 0
}

// carried is how many operations were carried out, whatever their outcome.
func carried(c *results.Cell) float64 {
	var n int64
	for _, o := range c.Ops {
		n += o.Attempted() - o.Dropped
	}
	return float64(n)
}

// stored is how many bytes a message of the load takes in the engine's files once these are at rest,
// without the log. It also sets the row's Mail.
func stored(r *results.Run, cs trials.Column, row *Row) trials.Value {
	var perMessage, perByte []float64
	for _, c := range cs {
		var load *results.Cell
		for i := range r.Cells {
			s := &r.Cells[i]
			if s.Model != c.Model || s.Engine != c.Engine || s.Trial != c.Trial || s.Point != c.Point || s.Shard != c.Shard {
				continue
			}
			switch e := s.Evidence; {
			case e == nil:
			case s.Kind == results.KindLoad && e.Copies > 0 && e.Load == "" && s.Before != nil && s.Before.DiskBytes >= 0:
				load = s
			case s.Kind == results.KindSettle && e.Settled && load != nil && s.Engines != nil && s.Engines.DiskBytes >= 0:
				bytes := float64(s.Engines.DiskBytes - s.Engines.LogBytes - load.Before.DiskBytes + load.Before.LogBytes)
				perMessage = append(perMessage, bytes/float64(load.Evidence.Copies))
				perByte = append(perByte, bytes/float64(max(1, load.Evidence.MailBytes)))
				load = nil
			}
		}
	}
	if len(perByte) > 0 {
		row.Mail = results.Median(perByte)
	}
	return trials.Of(perMessage)
}

// Line returns the line of a figure, or nil.
func (m *Mix) Line(f results.Figure) *Line {
	for i := range m.Lines {
		if m.Lines[i].Figure == f {
			return &m.Lines[i]
		}
	}
	return nil
}
