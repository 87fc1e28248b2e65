package workloads

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
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
	d.bounds(n, "expect", "", results.Objective{})
	// Bounds for one model, engine or phase come after those for all.
	parts := func(o results.Objective) (n int) {
		for _, s := range []string{o.Model, o.Engine, o.Phase} {
			n += min(1, len(s))
		}
		return n
	}
	slices.SortStableFunc(d.w.Expect, func(a, b results.Objective) int { return cmp.Compare(parts(a), parts(b)) })
}

// bounds reads a mapping that is called where in messages. Its keys are metrics, or the rest of a metric that begins
// with before, or say what the bounds below them are for.
func (d *decoder) bounds(n *yaml.Node, where, before string, of results.Objective) {
	for _, e := range d.Mapping(n, where) {
		here := where + "." + e.Name
		switch {
		case before == "" && slices.Contains(language["expect"].names, e.Name):
			for _, one := range d.Mapping(e.Value, here) {
				of := of
				switch known := d.selects(e.Name, one.Name, &of); {
				case known == nil || slices.Contains(known, one.Name):
					d.bounds(one.Value, here+"."+one.Name, "", of)
				case e.Name == "streams" && len(known) == 0:
					d.Fail(one.Key, "unknown stream %q in expect.streams: no measured phase has streams", one.Name)
				default:
					d.Unknown(one.Key, strings.TrimSuffix(e.Name, "s"), one.Name, "in expect."+e.Name, known)
				}
			}
		case e.Value.Kind == yaml.MappingNode:
			d.bounds(e.Value, here, before+e.Name+".", of)
		default:
			d.bound(e, before+e.Name, of)
		}
	}
}

// bound reads the bound of a metric.
func (d *decoder) bound(e strict.Entry, name string, o results.Objective) {
	o.Figure = name
	op, rest, _ := strings.Cut(name, ".")
	_, known := d.w.Patterns.Op(op)
	if known {
		o.Op, o.Figure = op, rest
	}
	switch {
	case o.Figure == achieved && o.Op != "":
		d.Fail(e.Key, "expect.%s: achieved is a share of all operations; leave %s out", name, op)
		return
	case slices.Contains(Metrics, o.Figure):
	case slices.Contains(Metrics, rest) && !known && !slices.Contains(Metrics, strict.Renamed(op)+"."+rest):
		d.Unknown(e.Key, "operation", op, "in expect", d.w.Patterns.Names())
		return
	default:
		d.Unknown(e.Key, "metric", o.Figure, "in expect", slices.Concat(Metrics, language["expect"].names))
		return
	}
	d.Check(o.Op == "" || d.w.measures(&o), e.Key, "expect.%s: no phase or stream to which it applies has %s in its mix",
		name, o.Op)
	ok, example := parseBound(&o, e.Value)
	d.Check(ok, e.Value, "expect.%s must be a bound such as %s, found %s", name, example, strict.Found(e.Value))
	d.w.Expect = append(d.w.Expect, o)
}

// selects enters the model, engine, phase or stream that a bound is for, and returns those that are known. If all are
// allowed, it returns nil.
func (d *decoder) selects(section, name string, o *results.Objective) (known []string) {
	switch section {
	case "models":
		o.Model, known = name, d.known.ExpectModels
	case "engines":
		o.Engine, known = name, slices.Sorted(maps.Keys(d.known.Engines))
	case "phases":
		o.Phase = name
		for _, p := range d.w.measured("") {
			known = append(known, p.Name)
		}
	case "streams":
		o.Stream, known = name, []string{}
		for _, p := range d.w.measured(o.Phase) {
			for i := range p.Streams {
				if p.HasStreams() {
					known = append(known, p.Streams[i].Name)
				}
			}
		}
	}
	return known
}

// measured are the measured phases, or the one of that name.
func (w *Workload) measured(name string) (all []*Phase) {
	for i := range w.Phases {
		if p := &w.Phases[i]; p.Kind == Measure && (name == "" || name == p.Name) {
			all = append(all, p)
		}
	}
	return all
}

// measures reports whether a phase or stream that the bound is for has its operation.
func (w *Workload) measures(o *results.Objective) bool {
	op, _ := w.Patterns.Op(o.Op)
	for _, p := range w.measured(o.Phase) {
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

// parseBound reads a bound: a sign and a value. It returns whether it is one of the metric, and an example.
func parseBound(o *results.Objective, n *yaml.Node) (ok bool, example string) {
	value := strings.TrimLeft(n.Value, "<>=")
	o.Sign, value = n.Value[:len(n.Value)-len(value)], strings.TrimSpace(value)
	o.Text = o.Sign + value
	ok = n.Kind == yaml.ScalarNode && slices.Contains([]string{"<", "<=", ">", ">="}, o.Sign)
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
	return ok, example
}
