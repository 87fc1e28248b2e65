package random

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// KeysNames are the words for [Keys]. The last is for users only, whose mailboxes differ in size.
var KeysNames = []string{"uniform", "zipf", "latest", "largest"}

// Form is a distribution as the language writes it.
type Form struct {
	Name string
	Keys []FormKey
	of   func(v []float64) Dist // the distribution with the values of the keys; nil: it has none
}

// FormKey is a key of a distribution: an exponent, or a size, count or time, which is not below the one before it.
type FormKey struct {
	Name        string
	Exponent    bool
	least, most Size // most 0: no bound
}

// Forms are the distributions of sizes and counts. The decoder and the JSON Schema walk them.
var Forms = []Form{
	{Name: "constant"},
	{"uniform", []FormKey{{Name: "min"}, {Name: "max"}}, func(v []float64) Dist {
		return Uniform{Size(v[0]), Size(v[1])}
	}},
	{"lognormal", []FormKey{{Name: "median", least: 1}, {Name: "p99"}}, func(v []float64) Dist {
		return Lognormal{Size(v[0]), Size(v[1])}
	}},
	{
		"pareto",
		[]FormKey{{Name: "min", least: 1}, {Name: "alpha", Exponent: true}, {Name: "max"}},
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

// DecodeDist reads a distribution of sizes, or of times, which draws nanoseconds. It notes faults in d, where it is
// called what, and returns nil.
func DecodeDist(d *strict.Decoder, n *yaml.Node, what string, times bool) (dist Dist) {
	r, faults := reader{d, what, times}, len(d.Errs)
	forms, example := Forms, "a size such as 8KB or one of %s, as in {lognormal: {median: 6KB, p99: 200KB}}"
	if times {
		forms, example = TimeForms, "a time such as 2s or one of %s, as in {lognormal: {median: 2s, p99: 30s}}"
	}
	var known []string
	for _, f := range forms {
		known = append(known, f.Name)
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		dist = Constant{r.size(n, what)}
	case n.Kind != yaml.MappingNode || len(n.Content) != 2:
		example = fmt.Sprintf(example, strings.Join(known, ", "))
		d.Fail(n, "%s must be one distribution, found %s; expected %s", what, strict.Found(n), example)
	default:
		for name, e := range d.Fields(n, what, known) {
			dist = r.dist(&forms[slices.Index(known, name)], e.Value)
		}
	}
	if len(d.Errs) > faults {
		return nil
	}
	return dist
}

// dist reads one distribution. If there are faults, it has no meaning.
func (r reader) dist(form *Form, n *yaml.Node) Dist {
	switch form.Name {
	case "constant":
		return Constant{r.size(n, r.what)}
	case "empirical":
		return r.empirical(n)
	}
	var names []string
	for _, k := range form.Keys {
		names = append(names, k.Name)
	}
	f := r.Fields(n, form.Name+" of "+r.what, names)
	values, above := make([]float64, len(names)), Size(0)
	for i, k := range form.Keys {
		e, ok := f[k.Name]
		if !r.Check(ok, n, "%s of %s has no %s; expected %s", form.Name, r.what, k.Name, strings.Join(names, " and ")) {
			return nil
		}
		what := k.Name + " of " + r.what
		if k.Exponent {
			values[i] = DecodeNumber(r.Decoder, e.Value, what, 0.01, maxExponent)
			continue
		}
		v := r.size(e.Value, what)
		least := max(k.least, above)
		r.Check(v >= least, e.Value, "%s must be at least %s, found %s", what, r.text(least), r.text(v))
		r.Check(k.most == 0 || v <= k.most, e.Value, "%s must be at most %s, found %s", what, r.text(k.most), r.text(v))
		values[i], above = float64(v), v
	}
	return form.of(values)
}

// text is a value as the language writes it.
func (r reader) text(v Size) string {
	if r.times {
		return time.Duration(v).String()
	}
	return v.String()
}

// empirical reads points of a measured distribution.
func (r reader) empirical(n *yaml.Node) Dist {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 2 {
		r.Fail(n, "empirical of %s must be a list of at least two points [size, fraction], found %s", r.what, strict.Found(n))
		return nil
	}
	var d Empirical
	before := Point{Value: 1, Fraction: -1}
	for _, item := range n.Content {
		if item.Kind != yaml.SequenceNode || len(item.Content) != 2 {
			r.Fail(item, "a point of %s must be [size, fraction], found %s", r.what, strict.Found(item))
			return nil
		}
		p := Point{
			r.size(item.Content[0], "the size of a point of "+r.what),
			DecodeNumber(r.Decoder, item.Content[1], "the fraction of a point of "+r.what, 0, 1),
		}
		r.Check(p.Value >= before.Value && p.Fraction >= before.Fraction && p != before, item,
			"points of %s must ascend in size, from 1 on, and fraction; found [%s, %s]", r.what, r.text(p.Value), number(p.Fraction))
		d, before = append(d, p), p
	}
	r.Check(d[0].Fraction == 0 && before.Fraction == 1, n, "points of %s must go from fraction 0 to fraction 1, found %s to %s",
		r.what, number(d[0].Fraction), number(before.Fraction))
	return d
}

// DecodeKeys reads a choice among keys, which is one of the known words. It is called what in messages.
func DecodeKeys(d *strict.Decoder, n *yaml.Node, what string, known []string) Keys {
	at, below := strict.Word(n)
	if !d.Check(at != nil, n, "%s must be one of %s, found %s", what, strings.Join(known, ", "), strict.Found(n)) {
		return Keys{}
	}
	name, keys := at.Value, []string{"theta"}
	if !slices.Contains(known, name) {
		d.Unknown(at, "distribution", name, "of "+what, known)
		return Keys{}
	}
	k := Keys{Theta: DefaultTheta, Latest: name == "latest" || name == "largest", Largest: name == "largest"}
	if name == "uniform" {
		k, keys = Keys{}, nil
	}
	if e, ok := d.Fields(below, name+" of "+what, keys)["theta"]; ok {
		k.Theta = DecodeNumber(d, e.Value, "theta of "+what, 0.01, maxExponent)
	}
	return k
}

const (
	longest     = 24 * time.Hour // that can be drawn
	maxExponent = 20             // of a power law; above it all keys but the first have hardly any weight
)

// size reads a size or time that is not negative.
func (r reader) size(n *yaml.Node, what string) Size {
	if r.times {
		t, err := time.ParseDuration(n.Value)
		r.Check(err == nil && t >= 0 && t <= longest && n.Kind == yaml.ScalarNode, n,
			"%s must be a time such as 500ms or 2s, up to %.0fh, found %s", what, longest.Hours(), strict.Found(n))
		return Size(t)
	}
	v, err := strict.ParseSize(n.Value)
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		err = fmt.Errorf("a size was expected, found %s", strict.Found(n))
	}
	r.Check(err == nil, n, "%s: %v", what, err)
	return v
}

// DecodeNumber reads a number from least to most, which is called what in messages.
func DecodeNumber(d *strict.Decoder, n *yaml.Node, what string, least, most float64) float64 {
	tag := n.ShortTag()
	v, err := strconv.ParseFloat(n.Value, 64)
	is := n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float") && err == nil && v >= least && v <= most
	d.Check(is, n, "%s must be a number from %s to %s, found %s", what, number(least), number(most), strict.Found(n))
	return v
}
