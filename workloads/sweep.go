package workloads

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
)

// Sweep is one key of a workload and its values, or several keys that change together. A run carries
// out the workload with one value after another, to find how cost grows with it.
type Sweep struct {
	Paths  []string // as --set names them: population.messages
	Points []SweepPoint
}

// Name is the key as --set names it, or the keys.
func (s *Sweep) Name() string { return strings.Join(s.Paths, " with ") }

// SweepPoint is one value of a sweep.
type SweepPoint struct {
	Value    string    // of the first key, as the language writes it: 10KB
	Size     float64   // Value in bytes, seconds or operations a second, or as a plain number
	Workload *Workload // the workload with that value, and without a sweep
}

// Grows reports whether the points differ in their population only, so that the data set of one
// can grow to that of the next.
func (s *Sweep) Grows() bool {
	return len(s.Paths) == 1 && strings.HasPrefix(s.Paths[0], "population.")
}

// Bounds of a sweep.
const (
	fewestPoints, mostPoints = 2, 20
	longestValue             = 24
	// rounding is by what factor the last value of a range may lie beyond its end. A user may
	// write 3.1623, say, for the root of 10.
	rounding = 1.001
)

// sweptKey is a key that a sweep changes, and its values.
type sweptKey struct {
	path   []string
	key    *yaml.Node
	values []*yaml.Node
}

func (k *sweptKey) name() string { return strings.Join(k.path, ".") }

// override is the key with a value, as for --set.
func (k *sweptKey) override(at int) string { return k.name() + "=" + k.values[at].Value }

// sweep reads the section sweep. Each point is the workload with one more override for each key, and is checked like
// any other.
func (d *decoder) sweep(src []byte, overrides []string, fields map[string]strict.Entry) {
	e, ok := fields["sweep"]
	if !ok {
		return
	}
	faults := len(d.Errs)
	keys := d.swept(e.Key, e.Value, nil)
	s := &Sweep{}
	for i := range keys {
		d.sweepable(&keys[i])
		if n, first := len(keys[i].values), len(keys[0].values); n != first && len(d.Errs) == faults {
			d.Fail(keys[i].key, "sweep.%s has %d values and sweep.%s %d; keys that change together have as many each",
				keys[0].name(), first, keys[i].name(), n)
		}
		s.Paths = append(s.Paths, keys[i].name())
	}
	if len(d.Errs) > faults || len(keys) == 0 {
		return
	}
	for i, v := range keys[0].values {
		p := SweepPoint{Value: v.Value}
		p.Size, _ = sizeOf(v.Value)
		if i > 0 && p.Size <= s.Points[i-1].Size {
			d.Fail(v, "the values of sweep.%s must ascend: %s comes after %s", s.Paths[0], v.Value, s.Points[i-1].Value)
			return
		}
		if p.Workload = d.point(keys, i, src, overrides); p.Workload == nil {
			return
		}
		s.Points = append(s.Points, p)
	}
	d.w.Sweep = s
}

// sweepable refuses a key that cost cannot grow with, and values that are no sizes.
func (d *decoder) sweepable(k *sweptKey) {
	for _, own := range []string{"version", "name", "description", "seed", "sweep", "expect", "conclusion", "trials"} {
		if !d.Check(k.path[0] != own, k.key,
			"%s is not a size that cost may grow with; sweep population.messages, mail.body or another value", k.name()) {
			return
		}
	}
	if rate, remote := strings.CutSuffix(k.name(), ".remote_rate"); remote {
		d.Fail(k.key, "%s changes nothing on the embedded engine; sweep %s.rate, which is the rate of all engines then",
			k.name(), rate)
		return
	}
	for _, v := range k.values {
		if _, ok := sizeOf(v.Value); !ok || v.Kind != yaml.ScalarNode || len(v.Value) > longestValue {
			d.Fail(v,
				"a value of sweep.%s must be a number above 0, with its unit if it has one (1000, 10KB, 5s, 200/s), found %s",
				k.name(), strict.Found(v))
			return
		}
	}
}

// swept finds the keys and the values of a sweep: a mapping of keys, or of keys one below the
// other. An empty mapping is no sweep.
func (d *decoder) swept(at, n *yaml.Node, path []string) (keys []sweptKey) {
	from := keyIn(n, "from") // of a range of values, if it has a plain value
	if path != nil && (n.Kind == yaml.SequenceNode || from >= 0 && n.Content[from+1].Kind == yaml.ScalarNode) {
		return []sweptKey{{path, at, d.points(n, strings.Join(path, "."))}}
	}
	what := strings.Join(append([]string{"sweep"}, path...), ".")
	if n.Kind != yaml.MappingNode {
		d.Fail(n, "%s must be {population.messages: [100, 1000, 10000]} or another key with its values, or {from: "+
			"100, to: 10000, factor: 10}, found %s", what, strict.Found(n))
		return nil
	}
	entries := d.Mapping(n, what)
	d.Check(len(entries) > 0 || path == nil, n, "%s: a sweep changes a key, found none", what)
	for _, e := range entries {
		below := append(slices.Clone(path), strings.Split(e.Name, ".")...)
		keys = append(keys, d.swept(e.Key, e.Value, below)...)
	}
	return keys
}

// rangeKeys are the keys of a range of values.
var rangeKeys = []string{"from", "to", "factor", "step"}

// points are the values of a list or a range.
func (d *decoder) points(n *yaml.Node, path string) []*yaml.Node {
	values := n.Content
	if n.Kind == yaml.MappingNode {
		if values = d.rangeOf(n, "sweep."+path); values == nil {
			return nil
		}
	}
	if len(values) < fewestPoints || len(values) > mostPoints {
		d.Fail(n, "sweep.%s has %s; expected %d to %d", path, words.Plural(len(values), "value"), fewestPoints, mostPoints)
		return nil
	}
	return values
}

// rangeOf are the values of {from: …, to: …} with a factor or a step from each to the next.
func (d *decoder) rangeOf(n *yaml.Node, what string) []*yaml.Node {
	f := d.Fields(n, what, rangeKeys)
	_, byFactor := f["factor"]
	_, byStep := f["step"]
	if _, ok := f["to"]; !ok || byFactor == byStep {
		d.Fail(n, "%s must have from, to and one of factor and step, such as {from: 100, to: 10000, factor: 10}", what)
		return nil
	}
	faults, sizes := len(d.Errs), map[string]float64{}
	for key, e := range f {
		size, ok := sizeOf(e.Value.Value)
		if sizes[key] = size; !ok || e.Value.Kind != yaml.ScalarNode {
			d.Fail(e.Value, "%s.%s must be a number above 0, with its unit if it has one, found %s", what,
				key, strict.Found(e.Value))
		}
	}
	from, to, factor, step := sizes["from"], sizes["to"], sizes["factor"], sizes["step"]
	switch {
	case len(d.Errs) > faults:
		return nil
	case to <= from:
		d.Fail(f["to"].Value, "%s.to must be above from, found %s", what, f["to"].Value.Value)
		return nil
	case byFactor && factor <= 1:
		d.Fail(f["factor"].Value, "%s.factor must be above 1, found %s", what, f["factor"].Value.Value)
		return nil
	}
	var values []*yaml.Node
	for i := 0; len(values) <= mostPoints; i++ {
		v := from + float64(i)*step
		if byFactor {
			v = from * math.Pow(factor, float64(i))
		}
		if v > to*rounding {
			break
		}
		v = min(v, to)
		one := *f["from"].Value
		one.Value = like(one.Value, v)
		values, d.Origins[&one] = append(values, &one), d.Origins[f["from"].Value]
	}
	return values
}

// sizeOf is a value as a number: bytes, seconds, operations a second, or a plain number. It
// returns false for other texts, and for numbers that are not above 0 and below 1e15.
func sizeOf(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xXpP_") {
		v = math.NaN()
	}
	if s, err := strict.ParseSize(text); math.IsNaN(v) && err == nil {
		v = float64(s)
	}
	if t, err := time.ParseDuration(text); math.IsNaN(v) && err == nil {
		v = t.Seconds()
	}
	if r, err := ParseRate(text); math.IsNaN(v) && err == nil {
		v = r.PerSecond()
	}
	return v, v > 0 && v < 1e15
}

// like writes a number in the form of text: as a whole number, a size, a time or a rate.
func like(text string, v float64) string {
	if plain, err := strconv.ParseFloat(text, 64); err == nil {
		if plain == math.Trunc(plain) && v >= 1 {
			return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	if _, err := strict.ParseSize(text); err == nil {
		return strict.Size(math.Round(v)).String()
	}
	if _, err := time.ParseDuration(text); err == nil {
		return time.Duration(math.Round(v * 1e9)).String()
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + "/s"
}

// point reads the workload with the values of an index. It reports the first fault of that, and returns nil.
func (d *decoder) point(keys []sweptKey, at int, src []byte, overrides []string) *Workload {
	overrides = slices.Clip(overrides)
	value, with, named := keys[0].values[at], "", false
	for i := range keys {
		one := keys[i].override(at)
		overrides, with = append(overrides, one), with+" "+one
		named = named || keys[i].path[0] == "engines" || keys[i].path[0] == "models"
	}
	w, err := d.known.Parse(d.File, src, overrides, "sweep", "conclusion") // both are of all points
	var faults strict.Errors
	if errors.As(err, &faults) {
		fault := faults[0]
		if named { // a name is unknown with any value
			d.place(fault, keys, at)
		} else {
			fault.Pos, fault.Msg = d.At(value), "sweep: with"+with+": "+fault.Msg
		}
		d.Errs = append(d.Errs, fault)
		return nil
	}
	for i, phase := range w.Phases {
		if i >= len(d.w.Phases) || d.w.Phases[i].Name != phase.Name {
			d.Fail(value, "sweep: with%s the phases have other names; sweep another value", with)
			return nil
		}
	}
	return w
}

// place gives a fault of a point that is in the override of a key the place of that key or its value in the sweep.
func (d *decoder) place(f *strict.Error, keys []sweptKey, point int) {
	for i := range keys {
		k := &keys[i]
		switch at := d.At(k.key); {
		case f.Pos.File != origin(k.override(point)):
		case f.Pos.Column > len(k.name()):
			f.Pos = d.At(k.values[point])
		default:
			at.Column += f.Pos.Column - 1
			f.Pos = at
		}
	}
}
