package workloads

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/results"
)

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
var Figures = slices.Concat(timesOf(""), timesOf("service."), timesOf("wait."), []Figure{
	{"errors", Share},
	{"failed", Share},
	{"unknown", Share},
	{"dropped", Share},
	{"not-found", Share},
	{"rate", PerSecond},
	{achieved, Share},
})

func timesOf(prefix string) (all []Figure) {
	for _, name := range []string{"p50", "p90", "p99", "p99.9", "max", "mean"} {
		all = append(all, Figure{prefix + name, Time})
	}
	return all
}

func figureNames() (all []string) {
	for _, f := range Figures {
		all = append(all, f.Name)
	}
	return all
}

// achieved is a figure of all operations together, because the schedule has one rate.
const achieved = "achieved"

// expect reads the bounds that the measured phases must keep. If several bound the same figure of a phase, the
// last one counts.
func (d *decoder) expect(root map[string]strict.Entry) {
	e, ok := root["expect"]
	if !ok {
		return
	}
	d.bounds(e.Value, nil, results.Objective{})
	// Bounds for one model, engine or phase come after those for all.
	parts := func(o results.Objective) (n int) {
		for _, s := range []string{o.Model, o.Engine, o.Phase} {
			n += min(1, len(s))
		}
		return n
	}
	slices.SortStableFunc(d.w.Expect, func(a, b results.Objective) int { return cmp.Compare(parts(a), parts(b)) })
}

// selects enters the model, engine, phase or stream that bounds are for, and refuses one that is not known. Without
// a list of models or engines, any is.
func (d *decoder) selects(section string, n *yaml.Node, o *results.Objective) {
	known := map[string][]string{"models": d.known.ExpectModels, "engines": d.known.ExpectEngines}[section]
	for p := range d.w.measured("") {
		switch {
		case section == "phases":
			known = append(known, p.Name)
		case section == "streams" && p.HasStreams() && (o.Phase == "" || o.Phase == p.Name):
			for i := range p.Streams {
				known = append(known, p.Streams[i].Name)
			}
		}
	}
	what := strings.TrimSuffix(section, "s")
	*map[string]*string{"model": &o.Model, "engine": &o.Engine, "phase": &o.Phase, "stream": &o.Stream}[what] = n.Value
	switch {
	case section == "streams" && len(known) == 0:
		d.Fail(n, "unknown stream %q in expect.streams: none of its measured phases has streams", n.Value)
	case known != nil && !slices.Contains(known, n.Value):
		d.Unknown(n, what, n.Value, "in expect."+section, known)
	}
}

// bounds reads a mapping of figures to bounds. A figure may be one key (list.p99) or
// several, one below the other. Path are the keys above the mapping.
func (d *decoder) bounds(n *yaml.Node, path []string, of results.Objective) {
	for _, e := range d.Mapping(n, strings.Join(append([]string{"expect"}, path...), ".")) {
		switch {
		case len(path) == 0 && slices.Contains(names(sectionKeys("expect")), e.Name):
			for _, s := range d.Mapping(e.Value, "expect."+e.Name) {
				one := of
				d.selects(e.Name, s.Key, &one)
				d.bounds(s.Value, nil, one)
			}
		case e.Value.Kind == yaml.MappingNode:
			d.bounds(e.Value, append(slices.Clone(path), e.Name), of)
		default:
			d.expectation(e, append(slices.Clone(path), e.Name), of)
		}
	}
}

// measured are the measured phases, or the one of that name.
func (w *Workload) measured(name string) iter.Seq[*Phase] {
	return func(yield func(*Phase) bool) {
		for i := range w.Phases {
			p := &w.Phases[i]
			if p.Kind == Measure && (name == "" || name == p.Name) && !yield(p) {
				return
			}
		}
	}
}

// expectation reads one figure and its bound.
func (d *decoder) expectation(e strict.Entry, path []string, of results.Objective) {
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
	if !parseBound(&of, e.Value, Figures[at].Unit) {
		example := map[Unit]string{Time: "<20ms", Share: "<0.1%", PerSecond: `">100/s"`}[Figures[at].Unit]
		if of.Figure == achieved {
			example = `">=99%"`
		}
		d.Fail(e.Value, "expect.%s must be a bound such as %s, found %s", key, example, strict.Found(e.Value))
		return
	}
	d.w.Expect = append(d.w.Expect, of)
}

// unknownFigure says which word of a key was probably meant.
func (d *decoder) unknownFigure(n *yaml.Node, key string) {
	metrics := figureNames()
	if op, rest, ok := strings.Cut(key, "."); ok {
		if _, known := d.w.Patterns.Op(op); known {
			d.Unknown(n, "metric", rest, "of "+op+" in expect", slices.DeleteFunc(metrics, func(s string) bool {
				return s == achieved
			}))
			return
		}
		if slices.Contains(metrics, rest) && strict.Nearest(key, metrics) == "" {
			d.Unknown(n, "operation", op, "in expect", d.w.Patterns.Names())
			return
		}
	}
	d.Unknown(n, "metric", key, "in expect", append(metrics, names(sectionKeys("expect"))...))
}

// measures reports whether a phase or stream that the expectation holds for has its
// operation. A stream that does not exist was reported before, so it passes.
func (w *Workload) measures(e results.Objective) bool {
	op, _ := w.Patterns.Op(e.Op)
	found := false
	for p := range w.measured(e.Phase) {
		mix, is := p.Mix, e.Stream == ""
		for i := range p.Streams {
			if s := &p.Streams[i]; e.Stream != "" && s.Name == e.Stream {
				mix, is = s.PerSecond(), true
			}
		}
		if is && mix.Has(op) {
			return true
		}
		found = found || is
	}
	return !found
}

// parseBound reads a bound: a sign and a value. It returns false if it is none of the unit.
func parseBound(o *results.Objective, n *yaml.Node, unit Unit) bool {
	value := strings.TrimLeft(n.Value, "<>=")
	o.Sign = n.Value[:len(n.Value)-len(value)]
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"<", "<=", ">", ">="}, o.Sign) {
		return false
	}
	value = strings.TrimSpace(value)
	o.Text = o.Sign + value
	switch unit {
	case Time:
		v, err := time.ParseDuration(value)
		o.Bound = float64(v)
		return err == nil && v > 0
	case Share:
		number, percent := strings.CutSuffix(value, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		o.Bound = v / 100
		return err == nil && percent && o.Bound >= 0 && o.Bound <= 1
	}
	r, err := ParseRate(value)
	if err == nil {
		o.Bound = r.PerSecond()
	}
	return err == nil
}

// answer reads the sentences with which the workload answers its question, and checks what they name.
func (d *decoder) answer(fields map[string]strict.Entry) {
	e, ok := fields["conclusion"]
	if !ok || len(d.Errs) > 0 {
		return
	}
	f := d.Fields(e.Value, "conclusion", names(sectionKeys("conclusion")))
	var a Answer
	if m, ok := f["models"]; ok {
		for _, n := range d.List(m.Value, "conclusion.models") {
			name, ok := d.Text(n, "a model of conclusion.models")
			if ok && strings.ContainsAny(name, `./\`) { // a workload names no files, since it may be a stranger's
				d.Fail(n, "conclusion.models names models and variants, found the file %q; name files with -m", name)
			} else if ok {
				a.Models = append(a.Models, name)
			}
		}
	}
	scope := d.scope(a.Models)
	if says, ok := f["text"]; ok {
		for _, n := range d.List(says.Value, "conclusion.text") {
			text, ok := d.Text(n, "a sentence of conclusion.text")
			if !ok {
				continue
			}
			s, err := answer.Parse(text)
			if err == nil {
				err = s.Check(scope)
			}
			d.Check(err == nil, n, "conclusion.text: %s (--set conclusion={} leaves it out)", err)
			a.Says = append(a.Says, text)
		}
	}
	d.w.Answer = a
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
