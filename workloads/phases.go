package workloads

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

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
	named := map[string]int{}
	for i, p := range d.w.Phases {
		if (p.Kind == Load) != (i == 0) {
			d.Fail(places[i], "phase %s: the first phase, and no other, must be load: the mail that the others work on", p.Name)
			return
		}
		d.Check(named[p.Name] != 1 || p.Kind != Measure && p.Kind != Interrupt, places[i],
			"two phases have the name %s; give this one another name (name: …)", p.Name)
		named[p.Name]++
	}
	d.Check(len(d.w.measured("")) > 0, n, "no phase measures anything; expected a phase measure: {duration: 30s, rate: 2000/s, mix: {…}}")
}

// phase reads one phase and returns its place, or nil if it has faults.
func (d *decoder) phase(n *yaml.Node) *yaml.Node {
	faults := len(d.Errs)
	key, value := strict.Word(n)
	if !d.Check(key != nil, n, "a phase must be one key, such as measure: {…}, found %s", strict.Found(n)) {
		return nil
	}
	i := slices.Index(phaseNames[:], key.Value)
	if i < 0 {
		d.Unknown(key, "phase", key.Value, "in phases", phaseNames[:])
		return nil
	}
	p := Phase{
		Kind: PhaseKind(i), Name: nameOf(value, key.Value), Patterns: d.w.Patterns, Number: len(d.w.Phases), Messages: 5,
	}
	d.base = &d.w.Keys
	where := "phase " + p.Name
	f := d.section(value, where, &p, language[key.Value])
	if p.Runs() && value.Kind == yaml.MappingNode { // anything else is a fault already
		ends := f["duration"].Value != nil || f["operations"].Value != nil || f["replay"].Value != nil
		d.Check(ends, key, "%s has neither duration nor operations; expected how long it runs, such as duration: 30s", where)
		switch {
		case p.Replay != nil:
			p.Replay.Speed = cmp.Or(p.Replay.Speed, 1)
		case f["streams"].Value != nil:
			d.streams(&p, f["streams"].Value, where)
			d.Check(p.Workers == 0 || p.Arrivals != Closed, f["concurrency"].Key,
				"%s has both clients and concurrency; keep one of them", where)
		default:
			if d.stream(&p, key, f, where); p.Session != nil { // the only stream of the phase, without a name
				one := p
				one.Name = ""
				p.Session, p.Shape, p.Streams = nil, nil, []Phase{one}
				p.sum()
			}
		}
	}
	if len(d.Errs) > faults {
		return nil
	}
	d.w.Phases = append(d.w.Phases, p)
	return key
}

// inherit gives a measure phase that leaves its mix out that of the measure phase before it, and a warmup the mix and
// pace of the measure phase that follows.
func (d *decoder) inherit(places []*yaml.Node) {
	var last, next *Phase
	for _, p := range d.w.measured("") {
		if p.Mix == (Mix{}) && p.Replay == nil && last != nil && last.Replay == nil {
			d.prepare(p, last, places[p.Number])
		}
		last = p
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
	w, faults := d.w, len(d.Errs)
	needs := func(op Op, met bool, what string) {
		d.Check(!p.Mix.Has(op) || met, at, "impossible mix of phase %s: %s needs %s", p.Name, op, what)
	}
	needs(Attachment, w.Mail.Attachments.Share > 0 || w.NoFiles != nil,
		"messages with attachments (mail.attachments.share, or --mail)")
	if len(d.Errs) > faults {
		w.NoFiles, d.Errs = slices.Clone(d.Errs[faults:]), d.Errs[:faults]
	}
	folders := !w.Population.Shared && w.Population.Folders != random.Dist(random.Constant{Value: 1})
	needs(Move, folders, "users with two folders or more (population.folders)")
	needs(Label, folders, "users with two folders or more (population.folders)")
	needs(Restore, p.Mix.Has(Delete), "delete in the same mix")
}

// stream reads the pace of a phase or stream and its mix or session.
func (d *decoder) stream(p *Phase, at *yaml.Node, f map[string]strict.Entry, where string) {
	d.base = cmp.Or(p.Keys, &d.w.Keys)
	rate, open := f["rate"]
	_, closed := f["clients"]
	_, named := f["arrivals"]
	if closed {
		p.Arrivals = Closed
	}
	d.Check(open || closed || p.Kind != Measure && !named, at,
		"%s has neither rate nor clients; expected rate: 2000/s (open loop) or clients: 32 (closed loop)", where)
	if open && rate.Value.Kind != yaml.ScalarNode {
		d.shape(p, rate.Value, where)
	}
	if e, ok := f["remote_rate"]; ok && (!open || p.Shape != nil) {
		d.Fail(e.Key, "%s: remote_rate takes the place of a constant rate; expected both, as in rate: 2000/s, remote_rate: 300/s", where)
	}
	if e, ok := f["mix"]; ok {
		d.mix(p, e.Value, where)
	}
	think, thinks := f["think_time"]
	session, visits := f["session"]
	if visits {
		p.Session = &Session{}
		d.steps(p.Session, session.Value, "session of "+where, "repeat")
		for _, step := range p.Session.Steps {
			d.Check(step.Probability >= 1, session.Value.Content[0],
				"the first step of session of %s must always be done; give the probability to a later one", where)
			if step.Kind == StepOp {
				break
			}
		}
		d.Check(thinks || closed, at,
			"%s has no think_time; expected the time between steps, such as think_time: {lognormal: {median: 2s, p99: 30s}}", where)
		d.Check(open || closed || p.Kind != Warmup, at, "%s: a session needs a rate or clients", where)
	} else if thinks {
		d.Check(closed, think.Key,
			"%s: think_time needs clients or a session; with a rate operations do not wait for each other", where)
	}
}

// streams reads the streams of a phase.
func (d *decoder) streams(p *Phase, n *yaml.Node, where string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > MaxStreams {
		d.Fail(n, "streams of %s must be a list of 1 to %d, as in [{rate: 200/s, mix: {deliver: 1}}, {rate: 2000/s, mix: "+
			"{list: 1}}], found %s", where, MaxStreams, strict.Found(n))
		return
	}
	named := map[string]bool{}
	for i, item := range n.Content {
		one := Phase{
			Kind: Measure, Name: nameOf(item, strconv.Itoa(i+1)), Duration: p.Duration, Operations: p.Operations,
			Keys: p.Keys, Timeout: p.Timeout, Stream: i, Patterns: p.Patterns,
		}
		d.base = cmp.Or(p.Keys, &d.w.Keys)
		what := "stream " + one.Name + " of " + where
		f := d.section(item, what, &one, language["stream"])
		d.Check(!named[one.Name], item, "two streams of %s have the name %s; give this one another name (name: …)", where, one.Name)
		named[one.Name] = true
		if item.Kind == yaml.MappingNode { // anything else is a fault already
			d.stream(&one, item, f, what)
			d.Check(one.Session != nil || f["mix"].Value != nil, item,
				"%s has neither mix nor session; expected the operations and their weights, as in {list: 50, open: 25}", what)
			d.Check(i == 0 || (one.Arrivals == Closed) == (p.Streams[0].Arrivals == Closed), item,
				"%s: one stream has clients and another a rate; a phase is an open loop or a closed one", what)
		}
		p.Streams = append(p.Streams, one)
	}
	p.sum()
}

// sum fills in the Rate, Clients, Arrivals and Mix of a phase from its streams. The mix is
// each operation's share of all operations.
func (p *Phase) sum() {
	p.Mix, p.Clients, p.Arrivals, p.Rate = Mix{}, 0, p.Streams[0].Arrivals, Rate{}
	for i := range p.Streams {
		s := &p.Streams[i]
		p.Clients += s.Clients
		mix, pace := s.perUnit(), s.Rate.PerSecond()
		switch s.Arrivals {
		case Poisson:
			p.Arrivals = Poisson
		case Closed:
			pace = float64(s.Clients) / max(mix.sum(), 1e-9) // as if all operations took equally long
		}
		for op, n := range mix {
			p.Mix[op] += n * pace
		}
	}
	all := p.Mix.sum()
	for op := range p.Mix {
		p.Mix[op] /= max(all, 1e-300)
	}
	if p.Arrivals != Closed {
		p.Rate = RateOf(all)
	}
}

// HasStreams reports whether the workload gives the phase streams, each of which has
// figures of its own.
func (p *Phase) HasStreams() bool {
	return len(p.Streams) > 1 || len(p.Streams) == 1 && p.Streams[0].Name != ""
}

// PerSecond returns how many operations of each kind the stream has in a second; of a
// closed loop, their shares.
func (p *Phase) PerSecond() Mix {
	mix := p.perUnit()
	if rate := p.Rate.PerSecond(); rate > 0 {
		for op := range mix {
			mix[op] *= rate
		}
	}
	return mix
}

// perUnit returns how many operations of each kind one unit of the stream's rate
// brings: a session has several, and an operation is one.
func (p *Phase) perUnit() (mix Mix) {
	if p.Session == nil {
		for op := range mix {
			if p.Mix[op] > 0 {
				mix[op] = p.Mix.Share(Op(op))
			}
		}
		return mix
	}
	rounds := 1.0
	for i := range p.Session.Steps {
		switch step := &p.Session.Steps[i]; step.Kind {
		case StepRepeat:
			rounds = step.mean()
		case StepEnd:
			rounds = 1
		default:
			mix[step.Op] += rounds * step.mean()
		}
	}
	return mix
}

// UseRemoteRates gives the phases the rates that they have if an engine of the run is reached over a network.
func (w *Workload) UseRemoteRates() {
	for i := range w.Phases {
		if p := &w.Phases[i]; p.RemoteRate.Count > 0 {
			p.Rate, p.RemoteRate = p.RemoteRate, Rate{}
			if len(p.Streams) > 0 { // of a session: the rate is that of sessions
				p.Streams[0].Rate = p.Rate
				p.sum()
			}
		}
	}
	if w.Sweep != nil {
		for _, p := range w.Sweep.Points {
			p.Workload.UseRemoteRates()
		}
	}
}

// RateOf returns a rate of so many a second, to a thousandth.
func RateOf(perSecond float64) Rate {
	return Rate{max(1, uint64(math.Round(perSecond*1000))), 1000 * time.Second}
}

// prepare gives a phase what it leaves out: the operations, keys and pace of another one, for a warm-up those
// of the measure phase that follows. If that phase's rate changes, this one has its mean.
func (d *decoder) prepare(w, next *Phase, at *yaml.Node) {
	paced, mixed := w.Rate.Count > 0 || w.Clients > 0, w.Mix != (Mix{})
	switch {
	case w.Replay != nil || paced && mixed:
		return
	case next.Replay != nil:
		d.Fail(at, "phase %s: the next phase replays a trace; set a mix and a rate for this one", w.Name)
		return
	case paced && len(next.Streams) > 0:
		d.Fail(at, "phase %s: phase %s has streams with their own rates; leave rate and clients out, or set a mix", w.Name,
			next.Name)
		return
	}
	if !mixed {
		w.Mix, w.How, w.Streams = next.Mix, next.How, slices.Clone(next.Streams)
		for i := range w.Streams {
			w.Streams[i].Shape = nil
		}
		w.Keys, w.Timeout = cmp.Or(w.Keys, next.Keys), cmp.Or(w.Timeout, next.Timeout)
	}
	if !paced {
		w.Arrivals, w.Rate, w.Clients, w.Think = next.Arrivals, next.Rate, next.Clients, next.Think
		w.RemoteRate, w.Workers = next.RemoteRate, cmp.Or(w.Workers, next.Workers)
	}
}
