package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Line is a sentence with its figures.
type Line struct {
	Model  string // "": it names models itself
	Engine string
	Text   string
}

// Of are the sentences of the run's workload, with the figures of the run. Sentences that name a model that the user
// left out are left out, too.
func Of(r *results.Run) []Line {
	var lines []Line
	var absent []string
	for _, text := range r.Answer {
		s, err := Parse(text)
		if err != nil {
			lines = append(lines, Line{Text: fmt.Sprintf("%s: %s", inconclusive, err)})
			continue
		}
		names, ran := false, true
		for _, f := range s.figures {
			if f.model == "" {
				continue
			}
			names = true
			if !slices.ContainsFunc(r.Cells, func(c results.Cell) bool { return c.Model == f.model }) {
				absent, ran = append(absent, f.model), false
			}
		}
		said := map[[2]string]bool{} // by model and engine
		for _, c := range r.Select(func(c *results.Cell) bool { return ran && c.Measured() }) {
			w := filling{run: r, model: c.Model, engine: c.Engine}
			if names {
				w.model = ""
			}
			if of := [2]string{w.model, w.engine}; !said[of] {
				lines, said[of] = append(lines, w.say(s)), true
			}
		}
	}
	if slices.Sort(absent); len(absent) > 0 {
		names := strings.Join(slices.Compact(absent), ",")
		lines = append(lines, Line{Text: fmt.Sprintf("The workload's conclusion needs %s, which did not run: add -m %s", names, names)})
	}
	return lines
}

// inconclusive begins a line whose metrics are not known well enough.
const inconclusive = "inconclusive"

// filling fills in a sentence for one model on one engine.
type filling struct {
	run           *results.Run
	model, engine string
	emulated      []string // patterns whose fallback ran
}

// say fills in the sentence, or says why it is inconclusive.
func (w *filling) say(s *Sentence) Line {
	line := Line{Model: w.model, Engine: w.engine}
	for i := range s.parts {
		p := &s.parts[i]
		text, why := p.text, ""
		switch p.kind {
		case value:
			text, why = w.value(p.a)
		case ratio:
			text, why = w.ratio(p)
		case from:
			text, why = w.from(p)
		case end:
			if text = w.point(p.text); text == "" {
				why = "the run has no sweep"
			}
		case plain:
			if line.Text[strings.LastIndexByte(line.Text, ' ')+1:] == "1" {
				text = afterOne.ReplaceAllString(text, " $1")
			}
		}
		if why != "" {
			line.Text = inconclusive + ": " + why
			return line
		}
		line.Text += text
	}
	if len(w.emulated) > 0 {
		line.Text += " (emulated: " + strings.Join(w.emulated, ", ") + ")"
	}
	return line
}

// afterOne matches the noun after a number, in the plural as sentences are written. After 1 it becomes the singular.
var afterOne = regexp.MustCompile(`^ (request|row|message|user)s\b`)

// point is the value of the sweep that a figure is of. A run without a sweep has none.
func (w *filling) point(name string) string {
	if s := w.run.Sweep; s != nil && len(s.Points) > 0 {
		switch name {
		case first:
			return s.Points[0].Value
		case last:
			return s.Points[len(s.Points)-1].Value
		}
	}
	if name == first || name == last {
		return ""
	}
	return name
}

func (w *filling) value(f figure) (text, why string) {
	switch {
	case f.name == atomic:
		return w.atomic(f)
	case f.name == interrupted:
		return w.interrupted(f)
	case f.op == rowCache:
		return w.rowCache(f)
	}
	v, why := w.figure(f)
	if why != "" {
		return "", why
	}
	of := results.Figure(f.name)
	return ranged(of, of.Text(v.Median), of.Text(v.Low), of.Text(v.High)), ""
}

// ranged is the text of a value with its range, unless the figure is a counter.
func ranged(of results.Figure, text, low, high string) string {
	if of.Counted() || low == high {
		return text
	}
	return text + " (" + low + " to " + high + ")"
}

// both are the values of two figures, or why one is not known.
func (w *filling) both(a, b figure) (x, y trials.Value, why string) {
	if x, why = w.figure(a); why == "" {
		y, why = w.figure(b)
	}
	return x, y, why
}

// ratio is how many times the second figure the first is. Of times it has the range that the ranges
// of both leave.
func (w *filling) ratio(p *part) (text, why string) {
	a, b, why := w.both(p.a, p.b)
	if why != "" {
		return "", why
	}
	f := results.Figure(p.a.name)
	if b.Median <= 0 {
		return "", fmt.Sprintf("%s is %s", p.b, f.Text(b.Median))
	}
	if why := noise(f, p.a, p.b, &a, &b); why != "" {
		return "", why
	}
	low, high := words.Digits(a.Low/b.High), words.Digits(a.High/max(b.Low, 1))
	return ranged(f, words.Digits(a.Median/b.Median)+"×", low, high), ""
}

// from says from which value of the sweep on the first figure is less than the second.
func (w *filling) from(p *part) (text, why string) {
	if w.run.Sweep == nil || len(w.run.Sweep.Points) == 0 {
		return "", "the run has no sweep"
	}
	points := w.run.Sweep.Points
	since := len(points)
	for since > 0 {
		less, why := w.less(p, points[since-1].Value)
		if why != "" && since == len(points) {
			return "", why
		}
		if !less {
			if since < len(points) && why != "" {
				text = "at the latest "
			}
			break
		}
		since--
	}
	switch since {
	case len(points):
		return "from no value on, up to " + points[since-1].Value, ""
	case 0:
		return "already from " + points[0].Value + " on", ""
	}
	return text + "from " + points[since].Value + " on", ""
}

// less reports whether the first figure is less than the second at a value of the sweep, or why that
// is inconclusive.
func (w *filling) less(p *part, point string) (less bool, why string) {
	a, b := p.a, p.b
	for _, of := range []*figure{&a, &b} {
		if of.point == "" {
			of.point = point
		}
	}
	x, y, why := w.both(a, b)
	if why != "" {
		return false, why
	}
	f := results.Figure(a.name)
	if trials.Differs(f, &x, &y) {
		return true, ""
	}
	return false, noise(f, a, b, &x, &y)
}

// noise says that two figures do not differ by more than the noise, or "" if they do, or are known to
// be the same.
func noise(f results.Figure, a, b figure, x, y *trials.Value) string {
	if trials.Differs(f, x, y) || trials.Differs(f, y, x) || trials.Same(f, x, y) {
		return ""
	}
	return fmt.Sprintf("%s (%s) and %s (%s) do not differ significantly", a, f.Text(x.Median), b, f.Text(y.Median))
}

// Scope is what the sentences of a workload may name.
type Scope struct {
	Models []string
	Phases []Phase  // that measure, or interrupt operations
	Points []string // values of the sweep; none: there is no sweep
}

// Phase is a measured phase and the operations of its mix, or a phase that interrupts operations.
type Phase struct {
	Name       string
	Ops        []string
	Interrupts bool
}

// Check returns the first name of the sentence that is not in the scope.
func (s *Sentence) Check(of Scope) error {
	named := 0
	all := s.figures
	for _, f := range all {
		if err := of.figure(f); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		if f.model != "" {
			named++
		}
	}
	if named > 0 && named < len(all) {
		return fmt.Errorf("some metrics name a model and some do not: %s", all)
	}
	for _, p := range s.parts {
		if p.kind >= from && len(of.Points) == 0 {
			return fmt.Errorf("{%s}: the workload has no sweep", p.text)
		}
		if p.kind == value && len(of.Points) > 0 && p.a.point == "" ||
			p.kind == ratio && len(of.Points) > 0 && (p.a.point == "" || p.b.point == "") {
			return fmt.Errorf("{%s}: expected at and one of the sweep's values after each metric, or at %s", p.text, last)
		}
	}
	return nil
}

func (of *Scope) figure(f figure) error {
	if f.model != "" && !slices.Contains(of.Models, f.model) {
		return strict.Unknown("model", f.model, append(slices.Clone(of.Models), "or another that conclusion.models names")...)
	}
	if f.point != "" && f.point != first && f.point != last && !slices.Contains(of.Points, f.point) {
		return fmt.Errorf("%s is no value of the sweep", f.point)
	}
	if f.point != "" && len(of.Points) == 0 {
		return fmt.Errorf("the workload has no sweep")
	}
	if f.op == results.PartitionOp {
		if f.phase != "" || len(of.Points) == 0 {
			return fmt.Errorf("the forecast of the largest partition belongs to a sweep, and to no phase")
		}
		return nil
	}
	var names []string
	var found int
	for _, p := range of.Phases {
		if p.Interrupts != (f.name == interrupted) {
			continue
		}
		names = append(names, p.Name)
		if (f.op == rowCache || slices.Contains(p.Ops, f.op)) && (f.phase == "" || f.phase == p.Name) {
			found++
		}
	}
	switch {
	case f.phase != "" && !slices.Contains(names, f.phase):
		return strict.Unknown("phase", f.phase, names...)
	case found == 0 && f.phase != "":
		return fmt.Errorf("%s has no %s in its mix", f.phase, f.op)
	case found == 0:
		return fmt.Errorf("no measured phase has %s in its mix", f.op)
	case found > 1:
		return fmt.Errorf("%d phases have %s in their mix; expected in and the name of one", found, f.op)
	}
	return nil
}
