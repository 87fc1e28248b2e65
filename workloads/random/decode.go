package random

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// KeysNames are the words for [Keys].
var KeysNames = []string{"uniform", "zipf", "latest", "largest"}

// Form is a distribution as the language writes it.
type Form struct {
	Name string
	Keys []FormKey
	of   func(v []float64) Dist // the distribution with the values of the keys; nil: it has none
}

// FormKey is a key of a distribution: an exponent, or a size, count or time.
type FormKey struct {
	Name        string
	Exponent    bool
	least, most Size // most 0: no bound
	after       bool // it exceeds the size before it by at least apart
	apart       Size
}

// Forms are the distributions of sizes and counts. The decoder and the JSON Schema walk them.
var Forms = []Form{
	{Name: "constant"},
	{"uniform", []FormKey{{Name: "min"}, {Name: "max", after: true}}, func(v []float64) Dist {
		return Uniform{Size(v[0]), Size(v[1])}
	}},
	{"lognormal", []FormKey{{Name: "median", least: 1}, {Name: "p99", least: 1, after: true}}, func(v []float64) Dist {
		return Lognormal{Size(v[0]), Size(v[1])}
	}},
	{
		"pareto",
		[]FormKey{{Name: "min", least: 1}, {Name: "alpha", Exponent: true}, {Name: "max", least: 1, after: true, apart: 1}},
		func(v []float64) Dist { return Pareto{Size(v[0]), v[1], Size(v[2])} },
	},
	{"zipf", []FormKey{{Name: "s", Exponent: true}, {Name: "max", least: 1, most: 1_000_000}}, func(v []float64) Dist {
		return NewZipf(v[0], int(v[1]))
	}},
	{Name: "empirical"},
}

// TimeForms are the distributions of times.
var TimeForms = slices.DeleteFunc(slices.Clone(Forms), func(f Form) bool { return f.Name == "zipf" })

// reader reads one distribution.
type reader struct {
	*strict.Decoder
	what  string // name of the distribution in error messages
	times bool   // values are times, in nanoseconds
}

// DecodeDist reads a distribution, or notes its faults in d and returns nil. what is its name
// in error messages.
func DecodeDist(d *strict.Decoder, n *yaml.Node, what string) Dist {
	return reader{Decoder: d, what: what}.decode(n)
}

// DecodeTimes reads a distribution of times, which draws nanoseconds.
func DecodeTimes(d *strict.Decoder, n *yaml.Node, what string) Dist {
	return reader{Decoder: d, what: what, times: true}.decode(n)
}

// text is a value as the language writes it.
func (r reader) text(v Size) string {
	if r.times {
		return time.Duration(v).String()
	}
	return v.String()
}

func (r reader) decode(n *yaml.Node) Dist {
	d, what := r.Decoder, r.what
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		if v, ok := r.size(n, what); ok {
			return Constant{v}
		}
		return nil
	}
	forms, example := Forms, "a size such as 8KB or one of %s, as in {lognormal: {median: 6KB, p99: 200KB}}"
	if r.times {
		forms, example = TimeForms, "a time such as 2s or one of %s, as in {lognormal: {median: 2s, p99: 30s}}"
	}
	var known []string
	for _, f := range forms {
		known = append(known, f.Name)
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		example = fmt.Sprintf(example, strings.Join(known, ", "))
		d.Fail(n, "%s must be one distribution, found %s; expected %s", what, strict.Found(n), example)
		return nil
	}
	for name, e := range d.Fields(n, what, known) {
		faults := len(d.Errs)
		if dist := r.dist(&forms[slices.Index(known, name)], e.Value); len(d.Errs) == faults {
			return dist
		}
	}
	return nil
}

func (r reader) dist(form *Form, n *yaml.Node) Dist {
	switch form.Name {
	case "constant":
		v, _ := r.size(n, r.what)
		return Constant{v}
	case "empirical":
		return r.empirical(n)
	}
	var names []string
	for _, k := range form.Keys {
		names = append(names, k.Name)
	}
	f := r.Fields(n, form.Name+" of "+r.what, names)
	var values []float64
	before := Size(0)
	for _, k := range form.Keys {
		e, ok := f[k.Name]
		if !r.Check(ok, n, "%s of %s has no %s; expected %s", form.Name, r.what, k.Name, strings.Join(names, " and ")) {
			return nil
		}
		what := k.Name + " of " + r.what
		if k.Exponent {
			values = append(values, r.exponent(e.Value, k.Name))
			continue
		}
		switch v, ok := r.size(e.Value, what); {
		case !ok:
		case v < k.least:
			r.Fail(e.Value, "%s must be at least %s, found %s", what, r.text(k.least), r.text(v))
		case k.most > 0 && v > k.most:
			r.Fail(e.Value, "%s must be at most %d, found %s", what, k.most, v)
		case k.after && v < before+k.apart:
			r.Fail(e.Value, "%s is %s, below %s", what, r.text(v), r.text(before+k.apart))
		default:
			values, before = append(values, float64(v)), v
		}
	}
	if len(values) < len(names) {
		return nil
	}
	return form.of(values)
}

func (r reader) empirical(n *yaml.Node) Dist {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 2 {
		r.Fail(n, "empirical of %s must be a list of at least two points [size, fraction], found %s", r.what, strict.Found(n))
		return nil
	}
	var d Empirical
	for _, item := range n.Content {
		if item.Kind != yaml.SequenceNode || len(item.Content) != 2 {
			r.Fail(item, "a point of %s must be [size, fraction], found %s", r.what, strict.Found(item))
			return nil
		}
		v, ok := r.size(item.Content[0], "the size of a point of "+r.what)
		f, fok := r.number(item.Content[1], "the fraction of a point of "+r.what, 0, 1)
		if !ok || !fok {
			return nil
		}
		r.Check(v >= 1, item.Content[0], "sizes of %s must be at least 1, found %s", r.what, r.text(v))
		if i := len(d); i > 0 && (v < d[i-1].Value || f < d[i-1].Fraction || d[i-1] == Point{v, f}) {
			r.Fail(item, "points of %s must ascend in size and fraction; [%s, %s] follows [%s, %s]",
				r.what, r.text(v), number(f), r.text(d[i-1].Value), number(d[i-1].Fraction))
		}
		d = append(d, Point{v, f})
	}
	if first, last := d[0], d[len(d)-1]; first.Fraction != 0 || last.Fraction != 1 {
		r.Fail(n, "points of %s must go from fraction 0 to fraction 1, found %s to %s", r.what, number(first.Fraction),
			number(last.Fraction))
	}
	return d
}

// DecodeKeys reads a choice among keys. what is its name in error messages.
func DecodeKeys(d *strict.Decoder, n *yaml.Node, what string) Keys {
	r := reader{Decoder: d, what: what}
	at, below := strict.Word(n)
	if !d.Check(at != nil, n, "%s must be uniform, zipf, latest or largest, found %s", what, strict.Found(n)) {
		return Keys{}
	}
	name := at.Value
	k := Keys{Theta: DefaultTheta, Latest: name == "latest" || name == "largest", Largest: name == "largest"}
	switch name {
	case "uniform":
		d.Fields(below, name+" of "+what, nil)
		return Keys{}
	case "zipf", "latest", "largest":
		if e, ok := d.Fields(below, name+" of "+what, []string{"theta"})["theta"]; ok {
			k.Theta = r.exponent(e.Value, "theta")
		}
	default:
		d.Unknown(at, "distribution", name, "of "+what, KeysNames)
	}
	return k
}

// size reads a size that is not negative.
func (r reader) size(n *yaml.Node, what string) (Size, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.ShortTag() == "!!bool" {
		r.Fail(n, "%s must be a size, found %s", what, strict.Found(n))
		return 0, false
	}
	if r.times {
		t, err := time.ParseDuration(n.Value)
		if err != nil || t < 0 || t > longest {
			r.Fail(n, "%s must be a time such as 500ms or 2s, up to %.0fh, found %s", what, longest.Hours(), strict.Found(n))
			return 0, false
		}
		return Size(t), true
	}
	v, err := strict.ParseSize(n.Value)
	r.Check(err == nil, n, "%s: %s", what, err)
	return v, err == nil
}

// longest is the longest time that can be drawn.
const longest = 24 * time.Hour

// exponent reads the exponent of a power law. Above 20 all keys but the first have hardly any
// weight.
func (r reader) exponent(n *yaml.Node, key string) float64 {
	v, _ := r.number(n, key+" of "+r.what, 0.01, 20)
	return v
}

func (r reader) number(n *yaml.Node, what string, least, most float64) (float64, bool) {
	v, err := DecodeNumber(n, least, most)
	r.Check(err == nil, n, "%s %s", what, err)
	return v, err == nil
}

// DecodeNumber reads a number from least to most.
func DecodeNumber(n *yaml.Node, least, most float64) (float64, error) {
	tag := n.ShortTag()
	if n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float") {
		v, err := strconv.ParseFloat(n.Value, 64)
		if err == nil && !math.IsNaN(v) && v >= least && v <= most {
			return v, nil
		}
	}
	return 0, fmt.Errorf("must be a number from %s to %s, found %s", number(least), number(most), strict.Found(n))
}
