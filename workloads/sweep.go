package workloads

import (
	"errors"
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

// Grows reports whether the points differ in a key of their population only.
func (s *Sweep) Grows() bool {
	return len(s.Paths) == 1 && strings.HasPrefix(s.Paths[0], "population.")
}

// sweep reads the section sweep of a workload without faults. Each point is the workload with one more override for
// each key, and is checked like any other.
func (d *decoder) sweep(n *yaml.Node, src []byte, overrides []string) {
	keys := d.leaves(n, "")
	s := &Sweep{}
	for i := range keys {
		k := &keys[i]
		values, found := k.Value.Content, strict.Found(k.Value)
		if k.Value.Kind == yaml.SequenceNode {
			found = words.Plural(len(values), "value")
		}
		d.Check(k.Value.Kind == yaml.SequenceNode && len(values) >= fewestPoints && len(values) <= mostPoints, k.Value,
			"sweep.%s must be a list of %d to %d values, such as [100, 1000, 10000], found %s", k.Name, fewestPoints, mostPoints,
			found)
		d.Check(!slices.Contains(notSwept, strings.Split(k.Name, ".")[0]), k.Key,
			"%s is not a size that cost may grow with; sweep population.messages, mail.body or another value", k.Name)
		for _, v := range values {
			d.Check(v.Kind == yaml.ScalarNode && sizeOf(v.Value) > 0, v,
				"a value of sweep.%s must be a number above 0, with its unit if it has one (1000, 10KB, 5s, 200/s), found %s",
				k.Name, strict.Found(v))
		}
		if first := len(keys[0].Value.Content); len(values) != first && len(d.Errs) == 0 {
			d.Fail(k.Key, "sweep.%s has %d values and sweep.%s %d; keys that change together have as many each",
				keys[0].Name, first, k.Name, len(values))
		}
		s.Paths = append(s.Paths, k.Name)
	}
	if len(d.Errs) > 0 || len(keys) == 0 {
		return
	}
	for i, v := range keys[0].Value.Content {
		p := SweepPoint{Value: v.Value, Size: sizeOf(v.Value)}
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

// notSwept are keys that no cost grows with.
var notSwept = []string{"version", "name", "description", "seed", "sweep", "expect", "conclusion", "trials"}

// sizeOf is a value as a number: bytes, seconds, operations a second, or a plain number. It is 0 for other texts, and
// for numbers that are not above 0 and below 1e15.
func sizeOf(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		size, _ := strict.ParseSize(text)
		t, _ := time.ParseDuration(text)
		r, _ := ParseRate(text)
		v = float64(size) + t.Seconds() + r.PerSecond() // a text is one of them
	}
	if v > 0 && v < 1e15 {
		return v
	}
	return 0
}

// point reads the workload with the values of an index. It reports the first fault of that, and returns nil.
func (d *decoder) point(keys []strict.Entry, at int, src []byte, overrides []string) *Workload {
	overrides, with := slices.Clip(overrides), ""
	for i := range keys {
		one := keys[i].Name + "=" + keys[i].Value.Content[at].Value
		overrides, with = append(overrides, one), with+" "+one
	}
	w, err := d.known.Parse(d.File, src, overrides, "sweep", "conclusion") // both are of all points
	var faults strict.Errors
	if errors.As(err, &faults) {
		fault := faults[0]
		fault.Pos, fault.Msg = d.At(keys[0].Value.Content[at]), "sweep: with"+with+": "+fault.Msg
		d.Errs = append(d.Errs, fault)
		return nil
	}
	return w
}

// leaves are the values below a mapping of sweep that may have others in it. Their names are those of all keys above,
// with dots between them, which begin with before.
func (d *decoder) leaves(n *yaml.Node, before string) (all []strict.Entry) {
	where := strings.TrimSuffix("sweep."+before, ".")
	for _, e := range d.Mapping(n, where) {
		e.Name = before + e.Name
		if e.Value.Kind == yaml.MappingNode {
			d.Check(len(e.Value.Content) > 0, e.Value, "sweep.%s is empty; leave it out", e.Name)
			all = append(all, d.leaves(e.Value, e.Name+".")...)
			continue
		}
		all = append(all, e)
	}
	return all
}
