package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// The forms of values that keys of the language name (key.form), a reader for each, which names the key in messages
// what.

// access reads keys. Keys that are left out have the values of d.base.
func (d *decoder) access(_ *key, n *yaml.Node, what string) any {
	own, s := *d.base, language["access"]
	if len(d.w.Patterns) > 0 {
		rows := s.keys[2]
		rows.name, s = "rows", section{}
		s.add(rows)
	}
	d.section(n, what, &own, s)
	return own
}

// choices are the words for [random.Keys]. The last is for users only, whose mailboxes differ in size.
var choices = []string{"uniform", "zipf", "latest", "largest"}

// choice reads which of several things are used.
func (d *decoder) choice(k *key, n *yaml.Node, what string) any {
	known := forms[k.form].words
	at, below := strict.Word(n)
	if !d.Check(at != nil, n, "%s must be one of %s, found %s", what, strings.Join(known, ", "), strict.Found(n)) {
		return nil
	}
	name, keys := at.Value, []string{"theta"}
	if !slices.Contains(known, name) {
		d.Unknown(at, "distribution", name, "of "+what, known)
		return nil
	}
	c := random.Keys{Theta: random.DefaultTheta, Latest: name == "latest" || name == "largest", Largest: name == "largest"}
	if name == "uniform" {
		c, keys = random.Keys{}, nil
	}
	if e, ok := d.Fields(below, name+" of "+what, keys)["theta"]; ok {
		c.Theta = d.between(e.Value, "theta of "+what, 0.01, maxExponent)
	}
	return c
}

// text reads a text. A name fits into a file name and a table.
func (d *decoder) text(k *key, n *yaml.Node, what string) any {
	s, ok := d.Text(n, what)
	d.Check(!ok || k.form == "text" || nameForm.MatchString(s), n,
		"%s must be letters, digits, _ . or -, at most 48, found %q", what, s)
	return s
}

// lines reads a list of texts. They differ, unless they are addresses.
func (d *decoder) lines(k *key, n *yaml.Node, what string) any {
	var all []string
	for _, item := range d.List(n, what) {
		text, ok := d.Text(item, "each of "+what)
		d.Check(!ok || k.name == "contact" || !slices.Contains(all, text), item, "duplicate %q in %s", text, what)
		switch k.name {
		case "contact":
			err := CheckContact(text)
			d.Check(!ok || err == nil, item, "%s: %v", what, err)
		case "models": // a workload names no files, since it may be a stranger's
			d.Check(!strings.ContainsAny(text, `./\`), item,
				"%s names models and variants, found the file %q; name files with -m", what, text)
		case "text":
			_, err := answer.Parse(text)
			d.Check(err == nil, item, "%s: %v", what, err)
		}
		all = append(all, text)
	}
	return all
}

// distributionNames are the distributions. The last is of sizes and counts only, and not of times.
var distributionNames = []string{"constant", "uniform", "lognormal", "pareto", "empirical", "zipf"}

// distributions are made of the values of their keys: an exponent, or a size, count or time, which is not below the one
// before it.
var distributions = map[string]struct {
	keys []key
	of   func(v []float64) random.Dist
}{
	"uniform": {[]key{{name: "min"}, {name: "max"}}, func(v []float64) random.Dist {
		return random.Uniform{Low: random.Size(v[0]), High: random.Size(v[1])}
	}},
	"lognormal": {[]key{{name: "median", least: "1"}, {name: "p99"}}, func(v []float64) random.Dist {
		return random.Lognormal{Median: random.Size(v[0]), P99: random.Size(v[1])}
	}},
	"pareto": {
		[]key{{name: "min", least: "1"}, {name: "alpha", form: "exponent"}, {name: "max"}},
		func(v []float64) random.Dist {
			return random.Pareto{Low: random.Size(v[0]), Alpha: v[1], High: random.Size(v[2])}
		},
	},
	"zipf": {
		[]key{{name: "s", form: "exponent"}, {name: "max", least: "1", most: "1000000"}},
		func(v []float64) random.Dist { return random.NewZipf(v[0], int(v[1])) },
	},
}

// sizes reads a distribution of sizes, or of times, which draws nanoseconds. A size that is constant must lie within
// the key's bounds; others are cut to them when drawn.
func (d *decoder) sizes(k *key, n *yaml.Node, what string) any {
	var dist random.Dist
	faults, known := len(d.Errs), distributionNames
	example := "a size such as 8KB or one of %s, as in {lognormal: {median: 6KB, p99: 200KB}}"
	if k.form == "times" {
		known, example = known[:5], "a time such as 2s or one of %s, as in {lognormal: {median: 2s, p99: 30s}}"
	}
	switch {
	case n.Kind == yaml.ScalarNode:
		dist = random.Constant{Value: d.value(k, n, what)}
	case n.Kind != yaml.MappingNode || len(n.Content) != 2:
		example = fmt.Sprintf(example, strings.Join(known, ", "))
		d.Fail(n, "%s must be one distribution, found %s; expected %s", what, strict.Found(n), example)
	default:
		for name, e := range d.Fields(n, what, known) {
			dist = d.distribution(k, name, e.Value, what)
		}
	}
	if len(d.Errs) > faults {
		return nil
	}
	least, most := k.within()
	c, constant := dist.(random.Constant)
	d.Check(!constant || k.form == "times" || uint64(c.Value) >= least && uint64(c.Value) <= most, n,
		"%s must be from %s to %s, found %s", what, strict.Size(least), strict.Size(most), c)
	return dist
}

// distribution reads the distribution of a name. If there are faults, it has no meaning.
func (d *decoder) distribution(k *key, name string, n *yaml.Node, what string) random.Dist {
	switch name {
	case "constant":
		return random.Constant{Value: d.value(k, n, what)}
	case "empirical":
		return d.empirical(k, n, what)
	}
	one := distributions[name]
	names := results.Distinct(one.keys, func(k key) string { return k.name })
	f := d.Fields(n, name+" of "+what, names)
	values, above := make([]float64, len(names)), random.Size(0)
	for i, of := range one.keys {
		e, ok := f[of.name]
		if !d.Check(ok, n, "%s of %s has no %s; expected %s", name, what, of.name, strings.Join(names, " and ")) {
			return nil
		}
		what := of.name + " of " + what
		if of.form == "exponent" {
			values[i] = d.between(e.Value, what, 0.01, maxExponent)
			continue
		}
		v := d.value(k, e.Value, what)
		bound, most := of.within()
		least := max(random.Size(bound), above)
		d.Check(v >= least, e.Value, "%s must be at least %s, found %s", what, k.shown(least), k.shown(v))
		d.Check(most == 0 || v <= random.Size(most), e.Value, "%s must be at most %d, found %s", what, most, k.shown(v))
		values[i], above = float64(v), v
	}
	return one.of(values)
}

// empirical reads points of a measured distribution.
func (d *decoder) empirical(k *key, n *yaml.Node, what string) random.Dist {
	if n.Kind != yaml.SequenceNode || len(n.Content) < 2 {
		d.Fail(n, "empirical of %s must be a list of at least two points [size, fraction], found %s", what, strict.Found(n))
		return nil
	}
	var all random.Empirical
	before := random.Point{Value: 1, Fraction: -1}
	for _, item := range n.Content {
		if item.Kind != yaml.SequenceNode || len(item.Content) != 2 {
			d.Fail(item, "a point of %s must be [size, fraction], found %s", what, strict.Found(item))
			return nil
		}
		p := random.Point{
			Value:    d.value(k, item.Content[0], "the size of a point of "+what),
			Fraction: d.between(item.Content[1], "the fraction of a point of "+what, 0, 1),
		}
		d.Check(p.Value >= before.Value && p.Fraction >= before.Fraction && p != before, item,
			"points of %s must ascend in size, from 1 on, and fraction; found [%s, %s]", what, k.shown(p.Value), decimal(p.Fraction))
		all, before = append(all, p), p
	}
	d.Check(all[0].Fraction == 0 && before.Fraction == 1, n,
		"points of %s must go from fraction 0 to fraction 1, found %s to %s",
		what, decimal(all[0].Fraction), decimal(before.Fraction))
	return all
}

// value reads a size or time of a distribution.
func (d *decoder) value(k *key, n *yaml.Node, what string) random.Size {
	if k.form == "times" {
		t, err := time.ParseDuration(n.Value)
		d.Check(err == nil && t >= 0 && t <= 24*time.Hour && n.Kind == yaml.ScalarNode, n,
			"%s must be a time such as 500ms or 2s, up to 24h, found %s", what, strict.Found(n))
		return random.Size(t)
	}
	v, err := strict.ParseSize(n.Value)
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		err = fmt.Errorf("a size was expected, found %s", strict.Found(n))
	}
	d.Check(err == nil, n, "%s: %v", what, err)
	return v
}

// shown is a size or time of a distribution as the language writes it.
func (k *key) shown(v random.Size) string {
	if k.form == "times" {
		return time.Duration(v).String()
	}
	return v.String()
}

// size reads a place in a message, or a length.
func (d *decoder) size(k *key, n *yaml.Node, what string) any {
	least, most := k.within()
	size, err := strict.ParseSize(n.Value)
	d.Check(err == nil && n.Kind == yaml.ScalarNode && uint64(size) >= least && uint64(size) <= most, n,
		"%s must be a size from %s to %s, found %s", what, strict.Size(least), strict.Size(most), strict.Found(n))
	return size
}

// rate reads a rate, or nil if it has a shape, which stream reads.
func (d *decoder) rate(k *key, n *yaml.Node, what string) any {
	if n.Kind != yaml.ScalarNode && k.form == "rate" {
		return nil
	}
	if !d.Check(n.Kind == yaml.ScalarNode, n, "%s must be a rate such as 2000/s, found %s", what, strict.Found(n)) {
		return Rate{}
	}
	r, err := ParseRate(n.Value)
	d.Check(err == nil, n, "%s: %v", what, err)
	return r
}

// number reads a number within the key's bounds, or a share.
func (d *decoder) number(k *key, n *yaml.Node, what string) any {
	least, _ := strconv.ParseFloat(k.least, 64)
	_, most := k.within()
	return d.between(n, what, least, float64(max(1, most)))
}

// between reads a number from least to most.
func (d *decoder) between(n *yaml.Node, what string, least, most float64) float64 {
	tag := n.ShortTag()
	v, err := strconv.ParseFloat(n.Value, 64)
	is := n.Kind == yaml.ScalarNode && (tag == "!!int" || tag == "!!float") && err == nil && v >= least && v <= most
	d.Check(is, n, "%s must be a number from %s to %s, found %s", what, decimal(least), decimal(most), strict.Found(n))
	return min(max(v, least), most)
}

// decimal writes a number as the language does, without an exponent.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (d *decoder) whole(k *key, n *yaml.Node, what string) any {
	least, most := k.within()
	v, err := strconv.ParseUint(n.Value, 0, 64) // 0x10 is 16, and 010 is 8, as in YAML
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < least || v > most {
		d.Fail(n, "%s must be a whole number from %d to %d, found %s", what, least, most, strict.Found(n))
		return least
	}
	return v
}

func (d *decoder) truth(_ *key, n *yaml.Node, what string) any {
	d.Check(n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool", n,
		"%s must be true or false, found %s", what, strict.Found(n))
	return strings.EqualFold(n.Value, "true")
}

// word returns the place of a word among those of its form.
func (d *decoder) word(k *key, n *yaml.Node, what string) any {
	words := forms[k.form].words
	if i := slices.Index(words, n.Value); i >= 0 {
		return i
	}
	d.Meant(n, words, "unknown %s %q", what, n.Value)
	return nil
}

func (d *decoder) flags(_ *key, n *yaml.Node, what string) any {
	var all []Mark
	for _, item := range d.List(n, what) {
		if i := slices.Index(flagNames, item.Value); i >= 0 {
			all = append(all, Mark(i))
		} else {
			d.Unknown(item, "flag", item.Value, "in "+what, flagNames)
		}
	}
	d.Check(n.Kind != yaml.SequenceNode || len(n.Content) > 0, n,
		"%s is empty; expected some of %s", what, strings.Join(flagNames, ", "))
	return all
}

func (d *decoder) duration(_ *key, n *yaml.Node, what string) any {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < time.Millisecond || v > 30*24*time.Hour {
		d.Fail(n, "%s must be a time such as 30s or 5m, from 1ms to 720h, found %s", what, strict.Found(n))
		return nil
	}
	return v
}
