package answer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Line is a sentence with its metrics.
type Line struct {
	Model  string // "": it names models itself
	Engine string
	Text   string
	Form   string // the sentence with … for each metric
	Values string // its metrics alone; "" if it is inconclusive or has none
}

// inconclusive begins a line whose metrics are not known well enough.
const inconclusive = "inconclusive: "

// Of are the sentences of the run's workload, with the metrics of the run. A sentence that names no model is said of
// each.
func Of(r *results.Run) (lines []Line) {
	for _, text := range r.Answer {
		s, err := Parse(text)
		if err != nil {
			lines = append(lines, Line{Text: inconclusive + err.Error()})
			continue
		}
		who := func(c *results.Cell) [2]string {
			if s.named {
				return [2]string{"", c.Engine}
			}
			return [2]string{c.Model, c.Engine}
		}
		for _, of := range results.Distinct(r.Select((*results.Cell).Measured), who) {
			w := filling{run: r, model: of[0], engine: of[1]}
			lines = append(lines, w.say(s))
		}
	}
	return lines
}

// filling fills in a sentence for one model on one engine.
type filling struct {
	run           *results.Run
	model, engine string
	emulated      []string // patterns whose fallback ran
}

// say fills in the sentence, or says why it is inconclusive.
func (w *filling) say(s *Sentence) Line {
	l := Line{Model: w.model, Engine: w.engine}
	var values []string
	var unknown error
	for _, p := range s.parts {
		text, err := w.inside(p)
		unknown = cmp.Or(unknown, err)
		if len(p.metrics) > 0 {
			l.Form += p.text + "…"
			values = append(values, text)
		} else {
			l.Form += p.text + text
		}
		if strings.HasSuffix(" "+l.Text, " 1") {
			p.text = afterOne.ReplaceAllString(p.text, " $1")
		}
		l.Text += p.text + text
	}
	if unknown != nil {
		l.Text = inconclusive + unknown.Error()
		return l
	}
	note := ""
	if len(w.emulated) > 0 {
		note = " (emulated: " + strings.Join(w.emulated, ", ") + ")"
	}
	l.Text, l.Values = l.Text+note, strings.Join(values, ", ")+note
	return l
}

// afterOne matches the noun after a number, in the plural as sentences are written. After 1 it becomes the singular.
var afterOne = regexp.MustCompile(`^ (request|row|message|user)s\b`)

// inside is what replaces the text in braces.
func (w *filling) inside(p part) (string, error) {
	all := slices.Clone(p.metrics)
	for i := range all {
		all[i].model, all[i].point = cmp.Or(all[i].model, w.model), w.point(all[i].point)
	}
	switch {
	case len(all) == 0 && p.inside != "" && w.point(p.inside) == "":
		return "", errors.New("the run has no sweep")
	case len(all) == 0:
		return w.point(p.inside), nil
	case len(all) == 2:
		return w.ratio(all[0], all[1])
	case all[0].name == atomic:
		return w.atomic(all[0])
	case all[0].name == interrupted:
		return w.interrupted(all[0])
	}
	v, err := w.value(all[0])
	if v.Trials == 1 {
		v.Low, v.High = v.Median, v.Median
	}
	of := results.Figure(all[0].name)
	return ranged(of, of.Text(v.Median), of.Text(v.Low), of.Text(v.High)), err
}

// point is a value of the sweep, also one of its ends. A run without a sweep has no ends.
func (w *filling) point(name string) string {
	s := w.run.Sweep
	switch {
	case name != first && name != last:
		return name
	case s == nil || len(s.Points) == 0:
		return ""
	case name == first:
		return s.Points[0].Value
	}
	return s.Points[len(s.Points)-1].Value
}

// ranged is the text of a value with its range, unless the metric is a counter, or the value that of one trial.
func ranged(of results.Figure, text, low, high string) string {
	if of.Counted() || low == high {
		return text
	}
	return text + " (" + low + " to " + high + ")"
}

// ratio is how many times the second metric the first is. Of times it has the range that the ranges
// of both leave.
func (w *filling) ratio(x, y metric) (string, error) {
	a, unknown := w.value(x)
	b, err := w.value(y)
	if err = cmp.Or(unknown, err); err != nil {
		return "", err
	}
	f := results.Figure(x.name)
	if b.Median <= 0 {
		return "", fmt.Errorf("%s is %s", y, f.Text(b.Median))
	}
	switch both := fmt.Sprintf("%s (%s) and %s (%s)", x, f.Text(a.Median), y, f.Text(b.Median)); {
	case !f.Counted() && min(a.Trials, b.Trials) < 2:
		return "", fmt.Errorf("%s are not compared: times need 2 trials or more", both)
	case max(a.Low, b.Low) <= min(a.High, b.High) && max(a.High, b.High) > 1.1*min(a.Low, b.Low):
		// The ranges overlap, and a difference of more than a tenth is not excluded.
		return "", fmt.Errorf("%s do not differ significantly", both)
	}
	low, high := words.Digits(a.Low/b.High), words.Digits(a.High/max(b.Low, 1))
	return ranged(f, words.Digits(a.Median/b.Median)+"×", low, high), nil
}

// cells are those of the metric's model, point and phase.
func (w *filling) cells(m metric) []*results.Cell {
	return w.run.Select(func(c *results.Cell) bool {
		return c.Model == m.model && c.Engine == w.engine && c.Point == m.point && (m.phase == "" || c.Phase == m.phase)
	})
}

// column are the trials that have the operation of the metric.
func (w *filling) column(m metric) (trials.Column, error) {
	var cs trials.Column
	for _, c := range w.cells(m) {
		if _, ok := c.Ops[m.op]; ok && c.Measured() {
			cs = append(cs, c)
		}
	}
	row := cs.Row(m.op)
	ran := func(c *results.Cell) bool { return c.Model == m.model && c.Engine == w.engine }
	switch {
	case m.model != "" && len(w.run.Select(ran)) == 0:
		return nil, fmt.Errorf("%s did not run: add -m %s", m.model, m.model)
	case row.Trials == 0:
		return nil, fmt.Errorf("%s was not measured", m)
	case slices.ContainsFunc(cs, func(c *results.Cell) bool { return c.Phase != cs[0].Phase }):
		return nil, fmt.Errorf("several phases have %s in their mix; expected in and the name of one", m)
	case !row.Sum.Offered():
		return nil, fmt.Errorf("%s does not support %s", m.model, m.op)
	case row.Sum.Count == 0:
		return nil, fmt.Errorf("no %s of %s succeeded", m.op, m.model)
	}
	for _, name := range strings.Split(row.Sum.Fallback, ", ") {
		if name != "" && !slices.Contains(w.emulated, name) {
			w.emulated = append(w.emulated, name)
		}
	}
	return cs, nil
}

// value is the value of a metric, or why it is not known.
func (w *filling) value(m metric) (v trials.Value, err error) {
	cs, err := w.column(m)
	if err != nil {
		return v, err
	}
	v = cs.Value(m.op, results.Figure(m.name))
	switch {
	case v.Trials > 0 && !math.IsInf(v.Median, 1):
		return v, nil
	case v.Trials > 0:
		return v, fmt.Errorf("%s lies among operations that never ended", m)
	}
	for _, c := range cs {
		if c.Verdict != results.OK && !results.Figure(m.name).Counted() {
			return v, fmt.Errorf("%s is not compared, since the verdict is %s", m, c.Verdict)
		}
	}
	return v, fmt.Errorf("%s is not known well enough", m)
}

// atomic says whether an operation changes all or nothing: it makes one change, which is one write or
// an atomic batch.
func (w *filling) atomic(m metric) (string, error) {
	cs, err := w.column(m)
	if err != nil {
		return "", err
	}
	s := &schemas.Schema{}
	for _, stored := range w.run.Schemas {
		if stored.Model == m.model {
			if s, err = schemas.ParseStored(stored.Model, []byte(stored.Text)); err != nil {
				return "", fmt.Errorf("the schema of %s cannot be read", stored.Model)
			}
		}
	}
	row := cs.Row(m.op)
	changes, whole := 0.0, true
	for _, ran := range row.Sum.Patterns {
		p := s.Pattern(ran.Name)
		switch {
		case p == nil:
			return "", fmt.Errorf("the schema of %s does not declare %s", m.model, ran.Name)
		case p.Kind.Reads():
			continue
		case p.Fallback != nil && slices.Contains(strings.Split(row.Sum.Fallback, ", "), p.Fallback.Name):
			p = p.Fallback
		}
		changes += ran.Requests
		whole = whole && (p.Kind != schemas.Batch || p.Atomic != schemas.AtomicNone)
	}
	switch {
	case changes == 0:
		return "", fmt.Errorf("%s of %s changes nothing", m.op, m.model)
	case whole && changes <= 1+1e-9:
		return "atomic", nil
	}
	return "not atomic", nil
}

// interrupted says what an operation leaves where it is interrupted, if that is the same in all trials.
func (w *filling) interrupted(m metric) (string, error) {
	var texts []string
	for _, c := range w.cells(m) {
		for _, one := range c.Interrupted {
			if one.Op == m.op {
				texts = append(texts, one.Text())
			}
		}
	}
	switch texts = slices.Compact(texts); len(texts) {
	case 0:
		return "", fmt.Errorf("no %s of %s on %s was interrupted", m.op, m.model, w.engine)
	case 1:
		return texts[0], nil
	}
	return "", fmt.Errorf("the trials of %s differ in the state after a %s", m.model, m.op)
}
