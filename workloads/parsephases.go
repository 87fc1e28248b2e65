package workloads

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// phaseKeys are the keys of a kind of phase. A warm-up has those of a measure phase.
func phaseKeys(k PhaseKind) []string {
	if k == Warmup {
		k = Measure
	}
	return keysIn(k.String())
}

// phases reads the list of phases and checks that each finds what it needs.
func (d *decoder) phases(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		d.Fail(n, "phases must be a list such as [load: {}, settle: {}, measure: {…}], found %s", strict.Found(n))
		return
	}
	faults := len(d.Errs)
	places := make([]*yaml.Node, 0, len(n.Content))
	for _, item := range n.Content {
		if place := d.phase(item); place != nil {
			places = append(places, place)
		}
	}
	if len(d.Errs) > faults {
		return // a phase that seems to be missing may only be misspelt
	}
	for i := range d.w.Phases {
		d.possible(&d.w.Phases[i], places[i])
	}
	d.inherit(places)
	measured, named := false, map[string]int{}
	for i, p := range d.w.Phases {
		measured = measured || p.Kind == Measure
		if (p.Kind == Load) != (i == 0) {
			d.Fail(places[i], "phase %s: the first phase, and no other, must be load: the mail that the others work on", p.Name)
			return
		}
		if named[p.Name] == 1 && (p.Kind == Measure || p.Kind == Interrupt) {
			d.Fail(places[i], "two phases have the name %s; give this one another name (name: …)", p.Name)
		}
		named[p.Name]++
	}
	if !measured {
		d.Fail(n, "no phase measures anything; expected a phase measure: {duration: 30s, rate: 2000/s, mix: {…}}")
	}
}

// An interrupt is about so many messages: about as many accounts as each of its operations has writes
// get them.
const (
	defaultInterrupt = 5
	maxInterrupt     = 100
)

// phase reads one phase and returns its place, or nil if it has faults.
func (d *decoder) phase(n *yaml.Node) *yaml.Node {
	faults := len(d.Errs)
	key, value := n, &yaml.Node{Kind: yaml.MappingNode}
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		key, value = n.Content[0], n.Content[1]
	case n.Kind != yaml.ScalarNode:
		d.Fail(n, "a phase must be one key, such as measure: {…}, found %s", strict.Found(n))
		return nil
	}
	i := slices.Index(phaseNames[:], key.Value)
	if i < 0 {
		d.Unknown(key, "phase", key.Value, "in phases", phaseNames[:])
		return nil
	}
	p := Phase{Kind: PhaseKind(i), Name: key.Value}
	where := "phase " + p.Name
	f := d.Fields(value, where, phaseKeys(p.Kind))
	if e, ok := f["name"]; ok {
		p.Name = d.name(e.Value, "the name of "+where)
		where = "phase " + p.Name
	}
	switch {
	case p.Runs():
		d.bound(&p, key, f, where)
		d.operations(&p, key, f, where)
		if e, ok := f["workers"]; ok {
			p.Workers = int(d.whole(e.Value, "workers of "+where, 1, maxClients))
			if p.Arrivals == Closed {
				d.Fail(e.Key, "%s has both workers and clients; workers are those of an open loop (rate)", where)
			}
		}
		if e, ok := f["missing"]; ok {
			p.Missing = Missing(d.oneOf(e.Value, "missing", where, missingNames[:]))
		}
	case p.Kind == Load:
		d.clients(&p, f, where)
	case p.Kind == Interrupt:
		p.Messages = defaultInterrupt
		if e, ok := f["messages"]; ok {
			p.Messages = int(d.whole(e.Value, "messages of "+where, 1, maxInterrupt))
		}
	}
	if len(d.Errs) > faults {
		return nil
	}
	p.Number = len(d.w.Phases)
	d.w.Phases = append(d.w.Phases, p)
	return key
}

// oneOf reads one of several words.
func (d *decoder) oneOf(n *yaml.Node, key, where string, words []string) int {
	i := slices.Index(words, n.Value)
	if i < 0 {
		d.Unknown(n, key, n.Value, "of "+where, words)
	}
	return max(i, 0)
}

// bound reads duration or operations.
func (d *decoder) bound(p *Phase, at *yaml.Node, f map[string]strict.Entry, where string) {
	duration, timed := f["duration"]
	operations, counted := f["operations"]
	switch {
	case timed && counted:
		d.Fail(operations.Key, "%s has both duration and operations; keep one of them", where)
	case timed:
		p.Duration = d.duration(duration.Value, "duration of "+where)
	case counted:
		p.Operations = d.whole(operations.Value, "operations of "+where, 1, PhaseMessages)
	case f["replay"].Value != nil: // the trace has an end
	default:
		d.Fail(at, "%s has neither duration nor operations; expected how long it runs, such as duration: 30s", where)
	}
}

// inherit gives a measure phase that leaves its mix out that of the measure phase before it, and a warmup the mix and
// pace of the measure phase that follows.
func (d *decoder) inherit(places []*yaml.Node) {
	var last, next *Phase
	for i := range d.w.Phases {
		if p := &d.w.Phases[i]; p.Kind == Measure {
			if p.Mix == (Mix{}) && p.Replay == nil && last != nil && last.Replay == nil {
				d.prepare(p, last, places[i])
			}
			last = p
		}
	}
	for i, p := range slices.Backward(d.w.Phases) {
		switch {
		case p.Kind == Measure && p.Mix == Mix{} && p.Replay == nil:
			d.Fail(places[i], "phase %s has no mix; expected the operations and their weights, as in {list: 50, open: 25, "+
				"deliver: 10}", p.Name)
		case p.Kind == Warmup && next == nil:
			d.Fail(places[i], "phase %s: no measure phase follows that it could prepare", p.Name)
		case p.Kind == Warmup:
			d.prepare(&d.w.Phases[i], next, places[i])
		}
		if p.Kind == Measure {
			next = &d.w.Phases[i]
		}
	}
}

// possible refuses a mix whose operations can find nothing to work on.
func (d *decoder) possible(p *Phase, at *yaml.Node) {
	w := d.w
	var faults []string
	needs := func(op Op, met bool, what string) {
		if p.Mix.Has(op) && !met {
			faults = append(faults, op.String()+" needs "+what)
		}
	}
	folders := !w.Population.Shared && w.Population.Folders.Max() > 1
	needs(Move, folders, "users with two folders or more (population.folders)")
	needs(Label, folders, "users with two folders or more (population.folders)")
	needs(Attachment, w.Mail.Attachments.Share > 0, "messages with attachments (mail.attachments.share)")
	needs(Restore, p.Mix.Has(Delete), "delete in the same mix")
	if len(faults) > 0 {
		d.Fail(at, "impossible mix of phase %s: %s", p.Name, strings.Join(faults, "; "))
	}
}
