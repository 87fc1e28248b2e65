package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/results"
)

// Expectation is a bound that a figure of measured phases must keep: a service level
// objective. If several bound the same figure of a phase, the last one counts.
type Expectation struct {
	results.Objective
	model, engine word
}

// Figure is what an expectation can bound.
type Figure struct {
	Name string
	Unit Unit
}

// Unit is the unit of a figure.
type Unit uint8

// Units of figures.
const (
	Time      Unit = iota // a duration such as 20ms
	Share                 // a share of the scheduled operations, such as 0.1%
	PerSecond             // a rate such as 100/s
)

// Figures are all figures that an expectation can bound. Times without a prefix are
// response times of all scheduled operations.
var Figures = []Figure{
	{"p50", Time},
	{"p90", Time},
	{"p99", Time},
	{"p99.9", Time},
	{"max", Time},
	{"mean", Time},
	{"service.p50", Time},
	{"service.p90", Time},
	{"service.p99", Time},
	{"service.p99.9", Time},
	{"service.max", Time},
	{"service.mean", Time},
	{"wait.p50", Time},
	{"wait.p90", Time},
	{"wait.p99", Time},
	{"wait.p99.9", Time},
	{"wait.max", Time},
	{"wait.mean", Time},
	{"errors", Share},
	{"failed", Share},
	{"unknown", Share},
	{"dropped", Share},
	{"not-found", Share},
	{"rate", PerSecond},
	{achieved, Share},
}

// achieved is a figure of all operations together, because the schedule has one rate.
const achieved = "achieved"

// expect reads the bounds that the measured phases must keep.
func (d *decoder) expect(root map[string]strict.Entry) {
	e, ok := root["expect"]
	if !ok {
		return
	}
	d.bounds(e.Value, nil, Expectation{})
	// Bounds for one model, engine or phase come after those for all.
	slices.SortStableFunc(d.w.Expect, func(a, b Expectation) int { return cmp.Compare(a.parts(), b.parts()) })
}

// parts is how many of model, engine and phase an expectation names.
func (e *Expectation) parts() int {
	n := 0
	for _, s := range []string{e.Model, e.Engine, e.Phase} {
		n += min(1, len(s))
	}
	return n
}

// bounds reads a mapping of figures to bounds. A figure may be one key (list.p99) or
// several, one below the other. Path are the keys above the mapping.
func (d *decoder) bounds(n *yaml.Node, path []string, of Expectation) {
	for _, e := range d.Mapping(n, strings.Join(append([]string{"expect"}, path...), ".")) {
		selects := map[string]func(k *yaml.Node, o *Expectation){
			"models":  func(k *yaml.Node, o *Expectation) { o.Model, o.model = k.Value, d.word(k) },
			"engines": func(k *yaml.Node, o *Expectation) { o.Engine, o.engine = k.Value, d.word(k) },
			"phases":  func(k *yaml.Node, o *Expectation) { o.Phase = k.Value; d.measured(k) },
			"streams": func(k *yaml.Node, o *Expectation) { o.Stream = k.Value; d.streamed(k, o.Phase) },
		}[e.Name]
		switch {
		case selects != nil && len(path) == 0:
			for _, s := range d.Mapping(e.Value, "expect."+e.Name) {
				one := of
				selects(s.Key, &one)
				d.bounds(s.Value, nil, one)
			}
		case e.Value.Kind == yaml.MappingNode:
			d.bounds(e.Value, append(slices.Clone(path), e.Name), of)
		default:
			d.expectation(e, append(slices.Clone(path), e.Name), of)
		}
	}
}

// measured refuses a name that no measured phase has.
func (d *decoder) measured(n *yaml.Node) {
	var known []string
	for i := range d.w.Phases {
		if d.w.Phases[i].Kind == Measure {
			known = append(known, d.w.Phases[i].Name)
		}
	}
	if !slices.Contains(known, n.Value) {
		d.Unknown(n, "phase", n.Value, "in expect.phases", known)
	}
}

// expectation reads one figure and its bound.
func (d *decoder) expectation(e strict.Entry, path []string, of Expectation) {
	key := strings.Replace(strings.Join(path, "."), "p999", "p99.9", 1)
	of.Figure = key
	if op, rest, ok := strings.Cut(key, "."); ok {
		if _, known := d.w.Patterns.Op(op); known {
			of.Op, of.Figure = op, rest
		}
	}
	at := slices.IndexFunc(Figures, func(f Figure) bool { return f.Name == of.Figure })
	if at < 0 || of.Figure == achieved && of.Op != "" {
		d.unknownFigure(e.Key, key)
		return
	}
	if of.Op != "" && !d.w.measures(of) {
		where := "measured phase to which it applies"
		if of.Stream != "" {
			where = "stream " + of.Stream
		}
		d.Fail(e.Key, "expect.%s: no %s has %s in its mix", key, where, of.Op)
	}
	if err := of.parse(e.Value, Figures[at].Unit); err != nil {
		d.Fail(e.Value, "expect.%s must be %s", key, err)
		return
	}
	d.w.Expect = append(d.w.Expect, of)
}

// unknownFigure says which word of a key was probably meant.
func (d *decoder) unknownFigure(n *yaml.Node, key string) {
	var names []string
	for _, f := range Figures {
		names = append(names, f.Name)
	}
	if op, rest, ok := strings.Cut(key, "."); ok {
		if _, known := d.w.Patterns.Op(op); known {
			d.Unknown(n, "metric", rest, "of "+op+" in expect", slices.DeleteFunc(names, func(s string) bool {
				return s == achieved
			}))
			return
		}
		if slices.Contains(names, rest) && strict.Nearest(key, names) == "" {
			d.Unknown(n, "operation", op, "in expect", d.w.Patterns.Names())
			return
		}
	}
	d.Unknown(n, "metric", key, "in expect", append(names, "models", "engines", "phases", "streams"))
}

// measures reports whether a phase or stream that the expectation holds for has its
// operation. A stream that does not exist was reported before, so it passes.
func (w *Workload) measures(e Expectation) bool {
	op, _ := w.Patterns.Op(e.Op)
	found := false
	for i := range w.Phases {
		p := &w.Phases[i]
		if p.Kind != Measure || e.Phase != "" && e.Phase != p.Name {
			continue
		}
		if e.Stream == "" {
			if p.Mix.Has(op) {
				return true
			}
			found = true
		} else if s := p.namedStream(e.Stream); s != nil {
			if mix := s.PerSecond(); mix.Has(op) {
				return true
			}
			found = true
		}
	}
	return !found
}

// namedStream returns the stream of that name, or nil.
func (p *Phase) namedStream(name string) *Phase {
	for i := range p.Streams {
		if p.Streams[i].Name == name {
			return &p.Streams[i]
		}
	}
	return nil
}

// streamed refuses a name that no stream of a measured phase has.
func (d *decoder) streamed(n *yaml.Node, phase string) {
	var known []string
	for i := range d.w.Phases {
		p := &d.w.Phases[i]
		if p.Kind != Measure || phase != "" && phase != p.Name || !p.HasStreams() {
			continue
		}
		for j := range p.Streams {
			known = append(known, p.Streams[j].Name)
		}
	}
	switch {
	case slices.Contains(known, n.Value):
	case len(known) == 0:
		d.Fail(n, "unknown stream %q in expect.streams: none of its measured phases has streams", n.Value)
	default:
		d.Unknown(n, "stream", n.Value, "in expect.streams", known)
	}
}

// parse reads a bound: a sign and a value.
func (e *Expectation) parse(n *yaml.Node, unit Unit) error {
	example := map[Unit]string{Time: "<20ms", Share: "<0.1%", PerSecond: `">100/s"`}[unit]
	if e.Figure == achieved {
		example = `">=99%"`
	}
	wrong := fmt.Errorf("a bound such as %s, found %s", example, strict.Found(n))
	if n.Kind != yaml.ScalarNode {
		return wrong
	}
	value := strings.TrimLeft(n.Value, "<>=")
	e.Sign, e.Text = n.Value[:len(n.Value)-len(value)], n.Value
	if !slices.Contains([]string{"<", "<=", ">", ">="}, e.Sign) {
		return wrong
	}
	value = strings.TrimSpace(value)
	e.Text = e.Sign + value
	var err error
	switch unit {
	case Time:
		var v time.Duration
		if v, err = time.ParseDuration(value); v <= 0 {
			return wrong
		}
		e.Bound = float64(v)
	case Share:
		number, percent := strings.CutSuffix(value, "%")
		e.Bound, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		e.Bound /= 100
		if !percent || !(e.Bound >= 0 && e.Bound <= 1) {
			return wrong
		}
	case PerSecond:
		var r Rate
		if r, err = ParseRate(value); err == nil {
			e.Bound = r.PerSecond()
		}
	}
	if err != nil {
		return wrong
	}
	return nil
}

// CheckExpect compares the names of models and engines in expect with those that
// there are. The error is of type [strict.Errors].
func (w *Workload) CheckExpect(models, engines []string) error {
	var faults strict.Errors
	reported := map[*strict.Error]bool{} // by place: several bounds may share one name
	for _, e := range w.Expect {
		if e.Model != "" && !slices.Contains(models, e.Model) && !reported[e.model.at] {
			reported[e.model.at] = true
			faults = append(faults, e.model.unknown(fmt.Sprintf("unknown model %q in expect.models", e.Model), models))
		}
		if e.Engine != "" && !slices.Contains(engines, e.Engine) && !reported[e.engine.at] {
			reported[e.engine.at] = true
			faults = append(faults, e.engine.unknown(fmt.Sprintf("unknown engine %q in expect.engines", e.Engine), engines))
		}
	}
	return faults.Sorted()
}

// answer reads the sentences with which the workload answers its question, and checks what they name.
func (d *decoder) answer(fields map[string]strict.Entry) {
	e, ok := fields["answer"]
	if !ok || len(d.Errs) > 0 {
		return
	}
	f := d.Fields(e.Value, "answer", names(sectionKeys("answer")))
	a := Answer{Models: d.answerModels(f)}
	scope := d.scope(a.Models)
	if says, ok := f["says"]; ok {
		for _, n := range d.List(says.Value, "answer.says") {
			text, ok := d.Text(n, "a sentence of answer.says")
			if !ok {
				continue
			}
			s, err := answer.Parse(text)
			if err == nil {
				err = s.Check(scope)
			}
			if err != nil {
				d.Fail(n, "answer.says: %s (--set answer={} leaves the answer out)", err)
			}
			a.Says = append(a.Says, text)
		}
	}
	d.w.Answer = a
}

// answerModels reads the names of models. A workload names no files, since it may be a stranger's.
func (d *decoder) answerModels(f map[string]strict.Entry) (all []string) {
	e, ok := f["models"]
	if !ok {
		return nil
	}
	for _, n := range d.List(e.Value, "answer.models") {
		name, ok := d.Text(n, "a model of answer.models")
		if ok && strings.ContainsAny(name, `./\`) {
			d.Fail(n, "answer.models names models and variants, found the file %q; name files with -m", name)
		} else if ok {
			all = append(all, name)
		}
	}
	return all
}

// scope is what the sentences may name.
func (d *decoder) scope(models []string) answer.Scope {
	s := answer.Scope{Models: models}
	for i := range d.w.Phases {
		p := &d.w.Phases[i]
		if p.Kind == Interrupt {
			ops := []string{Move.String(), Delete.String()}
			s.Phases = append(s.Phases, answer.Phase{Name: p.Name, Ops: ops, Interrupts: true})
		}
		if p.Kind != Measure {
			continue
		}
		one, mix := answer.Phase{Name: p.Name}, p.PerSecond()
		for op := range mix {
			if mix.Has(Op(op)) {
				one.Ops = append(one.Ops, d.w.Patterns.Name(Op(op)))
			}
		}
		s.Phases = append(s.Phases, one)
	}
	if d.w.Sweep != nil {
		for _, p := range d.w.Sweep.Points {
			s.Points = append(s.Points, p.Value)
		}
	}
	return s
}
