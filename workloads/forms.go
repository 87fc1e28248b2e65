package workloads

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// The forms of values that keys of the language name (key.form), a reader for each.

// access reads keys. Keys that are left out have the values of d.base.
func (d *decoder) access(k *key, n *yaml.Node, where string) any {
	own, all := *d.base, sectionKeys("access")
	if len(d.w.Patterns) > 0 {
		all[2].name, all = "rows", all[2:3]
	}
	where = k.in(where)
	f := d.section(n, where, &own, all)
	of := map[string]random.Keys{"folders": own.Folders, "messages": own.Messages, "rows": own.Messages}
	for i := range all {
		d.noLargest(f[all[i].name], of[all[i].name], all[i].in(where))
	}
	return own
}

// choice reads which of several things are used.
func (d *decoder) choice(k *key, n *yaml.Node, where string) any {
	return random.DecodeKeys(&d.Decoder, n, k.in(where))
}

func (d *decoder) noLargest(e strict.Entry, k random.Keys, what string) {
	d.Check(!k.Largest || e.Value == nil, e.Value,
		"%s: largest is for users, whose mailboxes differ in size; expected uniform, zipf or latest", what)
}

func (d *decoder) text(k *key, n *yaml.Node, where string) any {
	s, _ := d.Text(n, k.name+" of "+where)
	return s
}

// lines reads a list of texts that differ.
func (d *decoder) lines(k *key, n *yaml.Node, where string) any {
	var all []string
	for _, item := range d.List(n, k.in(where)) {
		text, ok := d.Text(item, "each of "+k.in(where))
		d.Check(!ok || !slices.Contains(all, text), item, "duplicate %q in %s", text, k.in(where))
		all = append(all, text)
	}
	return all
}

// sizes reads a distribution. A value that is constant must lie within the key's bounds; others are cut
// to them when drawn.
func (d *decoder) sizes(k *key, n *yaml.Node, where string) any {
	what := k.in(where)
	v := random.DecodeDist(&d.Decoder, n, what)
	least, most := k.within()
	if c, ok := v.(random.Constant); ok && (uint64(c.Value) < least || uint64(c.Value) > most) {
		d.Fail(n, "%s must be from %s to %s, found %s", what, strict.Size(least), strict.Size(most), c)
	}
	return v
}

func (d *decoder) times(k *key, n *yaml.Node, where string) any {
	return random.DecodeTimes(&d.Decoder, n, k.in(where))
}

// size reads a place in a message, or a length.
func (d *decoder) size(k *key, n *yaml.Node, where string) any {
	least, most := k.within()
	size, err := strict.ParseSize(n.Value)
	d.Check(err == nil && n.Kind == yaml.ScalarNode && uint64(size) >= least && uint64(size) <= most, n,
		"%s must be a size from %s to %s, found %s", k.in(where), strict.Size(least), strict.Size(most), strict.Found(n))
	return size
}

// rate reads a rate, or nil if it has a shape, which stream reads.
func (d *decoder) rate(k *key, n *yaml.Node, where string) any {
	r, err := ParseRate(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode && k.form == "rate":
		return nil
	case n.Kind != yaml.ScalarNode:
		d.Fail(n, "%s: a rate must be a number and its unit, such as 2000/s, found %s", where, strict.Found(n))
	case err != nil:
		d.Fail(n, "%s: %s", where, err)
	}
	return r
}

func (d *decoder) share(k *key, n *yaml.Node, where string) any {
	return d.number(n, k.in(where), 0, 1)
}

func (d *decoder) weight(k *key, n *yaml.Node, where string) any {
	least, _ := strconv.ParseFloat(k.least, 64)
	_, most := k.within()
	return d.number(n, k.in(where), least, float64(most))
}

func (d *decoder) number(n *yaml.Node, what string, least, most float64) float64 {
	v, err := random.DecodeNumber(n, least, most)
	d.Check(err == nil, n, "%s %s", what, err)
	return v
}

func (d *decoder) whole(k *key, n *yaml.Node, where string) any {
	least, most := k.within()
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		v, err := strconv.ParseUint(n.Value, 0, 64) // 0x10 is 16, and 010 is 8, as in YAML
		if err == nil && v >= least && v <= most {
			return v
		}
	}
	d.Fail(n, "%s must be a whole number from %d to %d, found %s", k.in(where), least, most, strict.Found(n))
	return least
}

func (d *decoder) truth(k *key, n *yaml.Node, where string) any {
	d.Check(n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool", n,
		"%s must be true or false, found %s", k.in(where), strict.Found(n))
	return strings.EqualFold(n.Value, "true")
}

// word returns the place of a word among those of its form.
func (d *decoder) word(k *key, n *yaml.Node, where string) any {
	words := d.forms[k.form].words
	if i := slices.Index(words, n.Value); i >= 0 {
		return i
	}
	d.Meant(n, words, "unknown %s %q", k.in(where), n.Value)
	return nil
}

func (d *decoder) flags(_ *key, n *yaml.Node, where string) any {
	var all []Mark
	for _, item := range d.List(n, "flags of "+where) {
		if i := slices.Index(flagNames, item.Value); i >= 0 {
			all = append(all, Mark(i))
		} else {
			d.Unknown(item, "flag", item.Value, "in "+where, flagNames)
		}
	}
	d.Check(n.Kind != yaml.SequenceNode || len(n.Content) > 0, n,
		"flags of %s is empty; expected some of %s", where, strings.Join(flagNames, ", "))
	return all
}

// name reads a name that fits into a file name and a table.
func (d *decoder) name(n *yaml.Node, where string) string {
	s, ok := d.Text(n, "the name of "+where)
	d.Check(!ok || nameForm.MatchString(s), n,
		"the name of %s must be letters, digits, _ . or -, at most 48, found %q", where, s)
	return s
}

func (d *decoder) duration(k *key, n *yaml.Node, where string) any {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < minDuration || v > maxDuration {
		d.Fail(n, "%s must be a time such as 30s or 5m, from %s to %.0fh, found %s", k.in(where), minDuration,
			maxDuration.Hours(), strict.Found(n))
		return nil
	}
	return v
}

// Bounds of how long a phase may last.
const (
	minDuration = time.Millisecond
	maxDuration = 30 * 24 * time.Hour
)
