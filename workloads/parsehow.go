package workloads

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// mix reads operations with their weights, and how they are carried out.
func (d *decoder) mix(p *Phase, n *yaml.Node, where string) {
	var sum float64
	faults := len(d.Errs)
	for name, e := range d.Fields(n, "mix of "+where, opNames[:]) {
		op, _ := ParseOp(name)
		weight := e.Value
		if e.Value.Kind == yaml.MappingNode {
			what := name + " in mix of " + where
			f := d.Fields(e.Value, what, append([]string{"weight"}, names(howOf(op))...))
			if !d.need(e.Value, f, what, "weight") {
				continue
			}
			weight = f["weight"].Value
			d.how(&p.How[op], f, what)
		}
		w, err := random.DecodeNumber(weight, 0, maxWeight)
		if err != nil {
			d.Fail(weight, "%s in mix of %s %s", name, where, err)
		}
		p.Mix[op] = w
		sum += w
	}
	if sum == 0 && len(d.Errs) == faults {
		d.Fail(n, "mix of %s is all zero; at least one operation needs a weight, as in {list: 50, open: 25, deliver: 10}",
			where)
	}
}

// Bounds of how an operation is carried out.
const (
	maxPage = 10_000
	// maxDepth bounds the number of a page.
	maxDepth = 1_000_000
	// MaxMessages is how many messages one operation can be about.
	MaxMessages = 1000
)

// how reads how an operation is carried out.
func (d *decoder) how(h *How, f map[string]strict.Entry, where string) {
	if e, ok := f["keys"]; ok {
		h.Keys = d.ownKeys(e.Value, "keys of "+where)
	}
	if e, ok := f["timeout"]; ok {
		h.Timeout = d.duration(e.Value, "timeout of "+where)
	}
	if e, ok := f["page"]; ok {
		h.Page = int(d.whole(e.Value, "page of "+where, 1, maxPage))
	}
	if e, ok := f["depth"]; ok {
		h.Depth = int(d.whole(e.Value, "depth of "+where, 1, maxDepth))
	}
	d.dist(f, "messages", "messages of "+where, &h.Messages, 1, MaxMessages)
	d.dist(f, "recipients", "recipients of "+where, &h.Recipients, 1, MaxRecipients)
	d.dist(f, "size", "size of "+where, &h.Size, 1, MaxMessage)
	if e, ok := f["flags"]; ok {
		for _, item := range d.List(e.Value, "flags of "+where) {
			if i := slices.Index(flagNames, item.Value); i >= 0 {
				h.Flags = append(h.Flags, Mark(i))
			} else {
				d.Unknown(item, "flag", item.Value, "in "+where, flagNames)
			}
		}
		if e.Value.Kind == yaml.SequenceNode && len(e.Value.Content) == 0 {
			d.Fail(e.Value, "flags of %s is empty; expected some of %s", where, strings.Join(flagNames, ", "))
		}
	}
	if e, ok := f["on"]; ok {
		on := d.share(e.Value, "on of "+where)
		h.On = &on
	}
	if e, ok := f["width"]; ok {
		h.Width = d.width(e.Value, "width of "+where)
	}
	if e, ok := f["age"]; ok {
		h.Age = d.duration(e.Value, "age of "+where)
	}
	h.From, h.Bytes = d.bytes(f, "from", where, 0), d.bytes(f, "bytes", where, 1)
}

// bytes reads a place in a message, or a length. Without one it is 0.
func (d *decoder) bytes(f map[string]strict.Entry, name, where string, least random.Size) int64 {
	e, ok := f[name]
	if !ok {
		return 0
	}
	size, err := random.ParseSize(e.Value.Value)
	if err != nil || e.Value.Kind != yaml.ScalarNode || size < least || size > MaxMessage {
		d.Fail(e.Value, "%s of %s must be a size from %s to %s, found %s", name, where, least, random.Size(MaxMessage),
			strict.Found(e.Value))
	}
	return int64(size)
}

func (d *decoder) width(n *yaml.Node, what string) Width {
	if t, err := time.ParseDuration(n.Value); err == nil && t > 0 && t <= LoadSpan && n.ShortTag() == "!!str" {
		return Width{Time: t}
	}
	v, err := random.DecodeNumber(n, 0, 1)
	if err != nil || v == 0 {
		d.Fail(n, "%s must be a time such as 1h, or a share of all time above 0 and up to 1, found %s", what, strict.Found(n))
	}
	return Width{Share: v}
}

// session reads the steps of a session.
func (d *decoder) session(n *yaml.Node, where string) *Session {
	where = "session of " + where
	s := &Session{}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.Fail(n, "%s must be a list of steps, such as [list, {open: {times: 3}}], found %s", where, strict.Found(n))
		return s
	}
	for _, item := range n.Content {
		d.step(s, item, where, true)
	}
	for _, step := range s.Steps {
		if step.Chance < 1 {
			d.Fail(n.Content[0], "the first step of %s must always be done; give the chance to a later one", where)
		}
		if step.Kind == StepOp {
			break
		}
	}
	return s
}

// step reads one step: a word, or a word with how it is done.
func (d *decoder) step(s *Session, n *yaml.Node, where string, repeats bool) {
	name, at, fields := n.Value, n, &yaml.Node{Kind: yaml.MappingNode}
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		name, at, fields = n.Content[0].Value, n.Content[0], n.Content[1]
	case n.Kind != yaml.ScalarNode:
		d.Fail(n, "a step of %s must be an operation, as in open or {open: {times: 3}}, found %s", where, strict.Found(n))
		return
	}
	if name == "repeat" && repeats {
		d.repeat(s, fields, where)
		return
	}
	op, ok := ParseOp(name)
	if !ok {
		known := opNames[:]
		if repeats {
			known = append(slices.Clone(known), "repeat")
		}
		d.Unknown(at, "operation", name, "in "+where, known)
		return
	}
	where = name + " in " + where
	f := d.Fields(fields, where, slices.Concat(names(stepKeys), names(howOf(op))))
	step := Step{Op: op}
	d.howOften(&step, f, where)
	if e, ok := f["think"]; ok {
		step.Think = random.DecodeTimes(&d.Decoder, e.Value, "think of "+where)
	}
	if e, ok := f["keys"]; ok && e.Value.Kind == yaml.MappingNode {
		for i := 0; i < len(e.Value.Content); i += 2 {
			if k := e.Value.Content[i]; k.Value == "users" || k.Value == "folders" {
				d.Fail(k, "%s: all steps of a session are of one user and one folder; give %s to the keys of the phase or stream",
					where, k.Value)
			}
		}
	}
	d.how(&step.How, f, where)
	s.Steps = append(s.Steps, step)
}

// maxTimes bounds the constant number of times that a step is done in a row.
const maxTimes = 1000

func (d *decoder) howOften(s *Step, f map[string]strict.Entry, where string) {
	d.dist(f, "times", "times of "+where, &s.Times, 1, maxTimes)
	s.Chance = 1
	if e, ok := f["chance"]; ok {
		if s.Chance = d.share(e.Value, "chance of "+where); s.Chance == 0 {
			d.Fail(e.Value, "chance of %s is 0; leave the step out instead", where)
		}
	}
}

func (d *decoder) repeat(s *Session, n *yaml.Node, where string) {
	where = "repeat in " + where
	f := d.Fields(n, where, keysIn("repeat"))
	if !d.need(n, f, where, "times", "steps") {
		return
	}
	first := len(s.Steps)
	head := Step{Kind: StepRepeat}
	d.howOften(&head, f, where)
	s.Steps = append(s.Steps, head)
	list := f["steps"].Value
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		d.Fail(list, "steps of %s must be a list of steps, such as [open, flag], found %s", where, strict.Found(list))
	}
	for _, item := range list.Content {
		d.step(s, item, where, false)
	}
	s.Steps[first].Until = len(s.Steps)
	s.Steps = append(s.Steps, Step{Kind: StepEnd, Back: first, Chance: 1})
}
