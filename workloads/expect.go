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

// shares are the metrics that are a share of the scheduled operations, such as 0.1%. achieved is of all operations
// together, because the schedule has one rate.
var shares = []string{"errors", "failed", "unknown", "dropped", "not-found", achieved}

const achieved, rate = "achieved", "rate"

// Metrics are all metrics that an expectation can bound. Times without a prefix are
// response times of all scheduled operations.
var Metrics = slices.Concat(timesOf(""), timesOf("service."), timesOf("wait."), shares, []string{rate})

func timesOf(prefix string) (all []string) {
	for _, name := range []string{"p50", "p90", "p99", "p99.9", "max", "mean"} {
		all = append(all, prefix+name)
	}
	return all
}

// expect reads the bounds that the measured phases must keep. If several bound the same metric of a phase, the
// last one counts.
func (d *decoder) expect(n *yaml.Node) {
	for _, l := range d.leaves(n, "expect") {
		d.expectation(&l)
	}
	// Bounds for one model, engine or phase come after those for all.
	parts := func(o results.Objective) (n int) {
		for _, s := range []string{o.Model, o.Engine, o.Phase} {
			n += min(1, len(s))
		}
		return n
	}
	slices.SortStableFunc(d.w.Expect, func(a, b results.Objective) int { return cmp.Compare(parts(a), parts(b)) })
}

// expectation reads one metric and its bound. The keys above may name what it is for: models, james, list.p99.
func (d *decoder) expectation(l *leaf) {
	var o results.Objective
	for slices.Contains(names(sectionKeys("expect")), l.keys[0].Value) {
		if len(l.keys) <= 2 {
			d.Fail(l.value, "expect.%s must be a mapping, as in %s: {NAME: {p99: <50ms}}, found %s", l.name(), l.keys[0].Value,
				strict.Found(l.value))
			return
		}
		if !d.selects(l.keys[0].Value, l.keys[1], &o) {
			return
		}
		l.keys = l.keys[2:]
	}
	name := l.name()
	o.Figure = name
	if op, rest, ok := strings.Cut(name, "."); ok {
		if _, known := d.w.Patterns.Op(op); known {
			o.Op, o.Figure = op, rest
		}
	}
	if !slices.Contains(Metrics, o.Figure) || o.Figure == achieved && o.Op != "" {
		d.unknownMetric(l.key(), name)
		return
	}
	d.Check(o.Op == "" || d.w.measures(&o), l.key(), "expect.%s: no phase or stream to which it applies has %s in its mix",
		name, o.Op)
	if example := parseBound(&o, l.value); example != "" {
		d.Fail(l.value, "expect.%s must be a bound such as %s, found %s", name, example, strict.Found(l.value))
	}
	d.w.Expect = append(d.w.Expect, o)
}

// selects enters the model, engine, phase or stream that a bound is for, and refuses one that is not known. Without
// a list of models or engines, any is.
func (d *decoder) selects(section string, n *yaml.Node, o *results.Objective) bool {
	var known []string
	switch section {
	case "models":
		o.Model, known = n.Value, d.known.ExpectModels
	case "engines":
		o.Engine, known = n.Value, d.known.ExpectEngines
	case "phases":
		o.Phase = n.Value
		for p := range d.w.measured("") {
			known = append(known, p.Name)
		}
	case "streams":
		o.Stream = n.Value
		for p := range d.w.measured(o.Phase) {
			for i := range p.Streams {
				if p.HasStreams() {
					known = append(known, p.Streams[i].Name)
				}
			}
		}
	}
	last := len(d.Errs) - 1
	switch {
	case known == nil && section != "streams" || slices.Contains(known, n.Value):
		return true
	case last >= 0 && d.Errs[last].Pos == d.At(n): // of the bound before, below the same key
	case known == nil:
		d.Fail(n, "unknown stream %q in expect.streams: no measured phase has streams", n.Value)
	default:
		d.Unknown(n, strings.TrimSuffix(section, "s"), n.Value, "in expect."+section, known)
	}
	return false
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

// unknownMetric names the metric that was probably meant, also one of an operation, or else those of all operations.
func (d *decoder) unknownMetric(n *yaml.Node, name string) {
	all := append(slices.Clone(Metrics), names(sectionKeys("expect"))...)
	ofOps := slices.Clone(all)
	for _, op := range d.w.Patterns.Names() {
		for _, metric := range Metrics {
			if metric != achieved {
				ofOps = append(ofOps, op+"."+metric)
			}
		}
	}
	if strict.Nearest(name, ofOps) != "" {
		all = ofOps
	}
	d.Unknown(n, "metric", name, "in expect", all)
}

// measures reports whether a phase or stream that the bound is for has its operation.
func (w *Workload) measures(o *results.Objective) bool {
	op, _ := w.Patterns.Op(o.Op)
	for p := range w.measured(o.Phase) {
		if o.Stream == "" && p.Mix.Has(op) {
			return true
		}
		for i := range p.Streams {
			if mix := p.Streams[i].PerSecond(); p.Streams[i].Name == o.Stream && mix.Has(op) {
				return true
			}
		}
	}
	return false
}

// parseBound reads a bound: a sign and a value. If it is none of the metric, it returns one that is.
func parseBound(o *results.Objective, n *yaml.Node) (example string) {
	value := strings.TrimLeft(n.Value, "<>=")
	o.Sign, value = n.Value[:len(n.Value)-len(value)], strings.TrimSpace(value)
	o.Text = o.Sign + value
	ok := n.Kind == yaml.ScalarNode && slices.Contains([]string{"<", "<=", ">", ">="}, o.Sign)
	switch {
	case o.Figure == rate:
		r, err := ParseRate(value)
		o.Bound, ok, example = r.PerSecond(), ok && err == nil, `">100/s"`
	case slices.Contains(shares, o.Figure):
		number, percent := strings.CutSuffix(value, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		o.Bound, ok, example = v/100, ok && err == nil && percent && v >= 0 && v <= 100, "<0.1%"
		if o.Figure == achieved {
			example = `">=99%"`
		}
	default:
		v, err := time.ParseDuration(value)
		o.Bound, ok, example = float64(v), ok && err == nil && v > 0, "<20ms"
	}
	if ok {
		return ""
	}
	return example
}

// conclusion reads the sentences with which the workload answers its question, and checks their form.
func (d *decoder) conclusion(n *yaml.Node) {
	a := &d.w.Answer
	f := d.section(n, "conclusion", a, sectionKeys("conclusion"))
	for _, n := range items(f["models"].Value) {
		d.Check(!strings.ContainsAny(n.Value, `./\`), n, // a workload names no files, since it may be a stranger's
			"conclusion.models names models and variants, found the file %q; name files with -m", n.Value)
	}
	for _, n := range items(f["text"].Value) {
		_, err := answer.Parse(n.Value)
		d.Check(err == nil, n, "conclusion.text: %v", err)
	}
}

// items are those of a list, or one for a text. Whether it is a list of texts was checked before.
func items(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil || n.Kind == yaml.MappingNode:
		return nil
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	}
	return n.Content
}
