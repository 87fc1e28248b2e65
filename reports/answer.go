package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/mix"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// Answer says which model suits the load of one measured phase, and why.
type Answer struct {
	mix.Mix
	Standings []Standing // by row
	// Says are sentences that follow from the figures, the most important first.
	Says []string
	// Reasons say where the largest differences between the models come from, the largest first.
	Reasons []Notable
}

// Standing is what else there is to know of a row: at which operations it is best and worst, what it
// lacks, which operations have a pattern that schema lint calls an error, and which engine it was made
// for.
type Standing struct {
	Best, Worst, Lacks, Lint []string
	Native                   string
	OnNative                 bool // it ran on that engine
}

// Notable is an operation and where its differences come from.
type Notable struct {
	Op, Why string
	weight  float64 // of the difference, in calls
}

// AnswersOf are the answers of the run's measured phases. A sweep's points are not answers of their own.
func AnswersOf(r *results.Run, o *Overview) []Answer {
	if r.Sweep != nil {
		return nil
	}
	e := newExplainer(r)
	var all []Answer
	for _, m := range mix.Of(r, NamesIn(r).Part) {
		a := Answer{Mix: m, Standings: make([]Standing, len(m.Rows))}
		for i := range m.Rows {
			a.Standings[i] = a.standing(e, &m.Rows[i], o)
		}
		a.reasons(o)
		a.Says = slices.Concat(m.Says(), a.weakness(o), a.native())
		all = append(all, a)
	}
	return all
}

func (a *Answer) standing(e *explainer, row *mix.Row, o *Overview) Standing {
	var s Standing
	if schema := e.schemas[row.Model]; schema != nil {
		s.Native, s.OnNative = schema.Native, schema.Native == row.Engine
	}
	for _, l := range a.Left {
		if slices.Contains(l.Lacking, row.Name) {
			s.Lacks = append(s.Lacks, l.Op)
		}
	}
	a.each(o, func(p *OverviewPart, r *OverviewRow) {
		i := p.column(row)
		if i < 0 {
			return
		}
		if r.Marks[i].Lint != "" {
			s.Lint = append(s.Lint, r.Op)
		}
		lead := p.leading(r)
		if lead == nil {
			return
		}
		_, worst := lead.ends()
		switch v := &lead.Values[i]; {
		case worst < 0 || !v.Known:
		case v.Best || v.Same:
			s.Best = append(s.Best, r.Op)
		case i == worst && !v.Unsure:
			s.Worst = append(s.Worst, r.Op+" "+RatioText(v))
		}
	})
	return s
}

// each calls do with the operations of the overview that are of the answer's phase.
func (a *Answer) each(o *Overview, do func(p *OverviewPart, r *OverviewRow)) {
	for i := range o.Parts {
		p := &o.Parts[i]
		if p.Phase != a.Phase {
			continue
		}
		for j := range p.Rows {
			do(p, &p.Rows[j])
		}
	}
}

// column is the row's column in the part, or -1.
func (p *OverviewPart) column(row *mix.Row) int {
	return slices.IndexFunc(p.Columns, func(c OverviewColumn) bool {
		return c.Model == row.Model && c.Engine == row.Engine
	})
}

// reasons are the operations in which the models differ most, each weighed as often as it is in
// the workload.
func (a *Answer) reasons(o *Overview) {
	a.each(o, func(_ *OverviewPart, r *OverviewRow) {
		l := r.counted()
		if r.Why == "" || l == nil {
			return
		}
		n := Notable{Op: r.Op, Why: r.Why, weight: l.weight() * a.often(r.Op)}
		a.Reasons = append(a.Reasons, n)
	})
	slices.SortStableFunc(a.Reasons, func(x, y Notable) int {
		switch {
		case x.weight > y.weight:
			return -1
		case x.weight < y.weight:
			return 1
		}
		return 0
	})
}

// often is how many of the workload's operations are of that kind, of mix.Operations of the mix.
func (a *Answer) often(op string) float64 {
	for _, s := range a.Shares {
		if s.Op == op {
			return s.Weight
		}
	}
	for _, l := range a.Left {
		if l.Op == op {
			return l.Share * mix.Operations
		}
	}
	return 0
}

// weakness says what the model that asks least is worst at, and what it lacks.
func (a *Answer) weakness(o *Overview) []string {
	leaders := a.Leaders()
	if len(leaders) != 1 {
		return nil
	}
	row, s := &a.Rows[leaders[0]], &a.Standings[leaders[0]]
	var worst, figure, best string
	most := 0.0
	a.each(o, func(p *OverviewPart, r *OverviewRow) {
		l, i := r.counted(), p.column(row)
		if l == nil || i < 0 {
			return
		}
		if v := &l.Values[i]; v.Known && !v.Best && !v.Same && !v.Unsure && v.Ratio >= tellRatio && v.Ratio > most {
			first, _ := l.ends()
			most, worst, figure, best = v.Ratio, r.Op, l.Figure.Name(), p.Columns[first].Name
		}
	})
	var said []string
	if worst != "" {
		said = append(said, fmt.Sprintf("Its %s asks for more than another model's: %s the %s of %s.", worst,
			Ratio(most), figure, best))
	}
	if len(s.Lacks) > 0 {
		said = append(said, fmt.Sprintf("It lacks %s.", strings.Join(s.Lacks, ", ")))
	}
	return said
}

// native says that no model ran on the engine it was made for, if that is so.
func (a *Answer) native() []string {
	for _, s := range a.Standings {
		if s.OnNative || s.Native == "" {
			return nil
		}
	}
	return []string{"No model ran on the engine that it was made for."}
}

// Scope says what the mix has, and what it leaves out.
func (a *Answer) Scope() string {
	who := "it offers"
	if n := len(a.Rows); n > 1 {
		who = fmt.Sprintf("all %d offer", n)
	}
	s := fmt.Sprintf("%d operations: %s that %s", mix.Operations, words.Plural(len(a.Shares), "kind"), who)
	if len(a.Left) > 0 {
		s += fmt.Sprintf(", %.0f%% of the load", math.Floor(100*min(a.Covers, 0.99)))
	}
	return s
}

// LeftOut names the operations of the workload that are not in the mix.
func (a *Answer) LeftOut() string {
	var parts []string
	for _, l := range a.Left {
		parts = append(parts, l.Op)
	}
	return strings.Join(parts, ", ")
}

// Text writes a row's standing in one line.
func (s *Standing) Text() string {
	var parts []string
	for _, x := range []struct {
		what string
		ops  []string
	}{{"best at", s.Best}, {"worst at", s.Worst}, {"lacks", s.Lacks}, {"lint errors in", s.Lint}} {
		if len(x.ops) > 0 {
			parts = append(parts, x.what+" "+strings.Join(x.ops, ", "))
		}
	}
	switch {
	case s.OnNative:
		parts = append(parts, "on "+s.Native+", the engine it was made for")
	case s.Native != "":
		parts = append(parts, "made for "+s.Native+", not run here")
	}
	return words.OneLine(strings.Join(parts, "; "))
}
