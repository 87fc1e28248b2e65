package workloads

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/random"
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

// choice reads which of several things are used.
func (d *decoder) choice(k *key, n *yaml.Node, what string) any {
	return random.DecodeKeys(&d.Decoder, n, what, forms[k.form].words)
}

// text reads a text. A name fits into a file name and a table.
func (d *decoder) text(k *key, n *yaml.Node, what string) any {
	s, ok := d.Text(n, what)
	d.Check(!ok || k.form == "text" || nameForm.MatchString(s), n,
		"%s must be letters, digits, _ . or -, at most 48, found %q", what, s)
	return s
}

// lines reads a list of texts that differ.
func (d *decoder) lines(k *key, n *yaml.Node, what string) any {
	var all []string
	for _, item := range d.List(n, what) {
		text, ok := d.Text(item, "each of "+what)
		d.Check(!ok || !slices.Contains(all, text), item, "duplicate %q in %s", text, what)
		switch k.name {
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

// sizes reads a distribution of sizes or times. A size that is constant must lie within the key's bounds; others are
// cut to them when drawn.
func (d *decoder) sizes(k *key, n *yaml.Node, what string) any {
	v := random.DecodeDist(&d.Decoder, n, what, k.form == "times")
	least, most := k.within()
	if c, ok := v.(random.Constant); ok && k.form == "sizes" && (uint64(c.Value) < least || uint64(c.Value) > most) {
		d.Fail(n, "%s must be from %s to %s, found %s", what, strict.Size(least), strict.Size(most), c)
	}
	return v
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
	return random.DecodeNumber(&d.Decoder, n, what, least, float64(max(1, most)))
}

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
