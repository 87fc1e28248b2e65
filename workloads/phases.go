package workloads

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
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
	measured, named := false, map[string]int{}
	for i, p := range d.w.Phases {
		measured = measured || p.Kind == Measure
		if (p.Kind == Load) != (i == 0) {
			d.Fail(places[i], "phase %s: the first phase, and no other, must be load: the mail that the others work on", p.Name)
			return
		}
		d.Check(named[p.Name] != 1 || p.Kind != Measure && p.Kind != Interrupt, places[i],
			"two phases have the name %s; give this one another name (name: …)", p.Name)
		named[p.Name]++
	}
	d.Check(measured, n, "no phase measures anything; expected a phase measure: {duration: 30s, rate: 2000/s, mix: {…}}")
}

// defaultInterrupt is how many messages an interrupt is about.
const defaultInterrupt = 5

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
	p := Phase{Kind: PhaseKind(i), Name: key.Value, Patterns: d.w.Patterns}
	if p.Kind == Interrupt {
		p.Messages = defaultInterrupt
	}
	keys, where := sectionKeys(key.Value), "phase "+p.Name
	d.base = &d.w.Keys
	f := d.Fields(value, where, names(keys))
	if e, ok := f["name"]; ok {
		p.Name = d.name(e.Value, where)
		where = "phase " + p.Name
		delete(f, "name")
	}
	d.fill(value, f, where, &p, keys)
	if p.Runs() {
		_, timed := f["duration"]
		operations, counted := f["operations"]
		switch {
		case timed && counted:
			d.Fail(operations.Key, "%s has both duration and operations; keep one of them", where)
		case !timed && !counted && f["replay"].Value == nil: // a trace has an end
			d.Fail(key, "%s has neither duration nor operations; expected how long it runs, such as duration: 30s", where)
		}
		_, streams := f["streams"]
		if _, replay := f["replay"]; streams || replay {
			d.apart(&p, f, where)
		} else if d.stream(&p, key, f, where); p.Session != nil { // the only stream of the phase, without a name
			one := p
			one.Name = ""
			p.Session, p.Shape, p.Streams = nil, nil, []Phase{one}
			p.sum()
		}
		if e, ok := f["concurrency"]; ok && p.Arrivals == Closed {
			d.Fail(e.Key, "%s has both concurrency and clients; concurrency is that of an open loop (rate)", where)
		}
	}
	if len(d.Errs) > faults {
		return nil
	}
	p.Number = len(d.w.Phases)
	d.w.Phases = append(d.w.Phases, p)
	return key
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
	needs(Restore, p.Mix.Has(Delete), "delete in the same mix")
	d.Check(len(faults) == 0, at, "impossible mix of phase %s: %s", p.Name, strings.Join(faults, "; "))
	if p.Mix.Has(Attachment) && w.Mail.Attachments.Share == 0 && w.NoFiles == nil {
		n := len(d.Errs)
		d.Fail(at, "impossible mix of phase %s: attachment needs messages with attachments (mail.attachments.share, or --mail)",
			p.Name)
		w.NoFiles, d.Errs = slices.Clone(d.Errs[n:]), d.Errs[:n]
	}
}

// apart reads what a phase has in place of a pace and a mix of its own: several streams, or a file of operations.
func (d *decoder) apart(p *Phase, f map[string]strict.Entry, where string) {
	what, e := "streams", f["streams"]
	if r, ok := f["replay"]; ok {
		what, e = "replay", r
	}
	for _, k := range append(names(sectionKeys("stream")), "remote_rate", "streams", "replay") {
		if other, ok := f[k]; ok && k != what && !(k == "access" || k == "timeout") {
			d.Fail(other.Key, "%s has %s and %s; %s replaces the other", where, what, k, what)
		}
	}
	if what == "replay" {
		p.Replay = &Replay{Speed: 1}
		d.section(e.Value, "replay of "+where, p.Replay, sectionKeys("replay"))
	} else {
		d.streams(p, e.Value, where)
	}
}

// stream reads the pace of a phase or stream and its mix or session.
func (d *decoder) stream(p *Phase, at *yaml.Node, f map[string]strict.Entry, where string) {
	d.base = cmp.Or(p.Keys, &d.w.Keys)
	rate, open := f["rate"]
	_, closed := f["clients"]
	arrivals, named := f["arrivals"]
	switch {
	case open && closed:
		d.Fail(f["clients"].Key, "%s has both rate and clients; rate is an open loop, clients a closed one: keep one of them",
			where)
	case closed && named:
		d.Fail(arrivals.Key, "%s: arrivals need a rate; a closed loop (clients) has none", where)
	case closed:
		p.Arrivals = Closed
	case !open && (p.Kind == Measure || named):
		d.Fail(at, "%s has neither rate nor clients; expected rate: 2000/s (open loop) or clients: 32 (closed loop)", where)
	}
	if open && rate.Value.Kind != yaml.ScalarNode {
		d.shape(p, rate.Value, where)
	}
	if e, ok := f["remote_rate"]; ok && (!open || p.Shape != nil) {
		d.Fail(e.Key, "%s: remote_rate takes the place of a constant rate; expected both, as in rate: 2000/s, remote_rate: 300/s", where)
	}
	mix, mixed := f["mix"]
	session, visits := f["session"]
	switch {
	case mixed && visits:
		d.Fail(session.Key, "%s has both mix and session; keep one of them", where)
	case mixed:
		d.mix(p, mix.Value, where)
	case visits:
		p.Session = d.session(session.Value, where)
	}
	switch open := p.Arrivals != Closed; {
	case open && p.Think != nil && !visits:
		d.Fail(f["think_time"].Key, "%s: think_time needs clients or a session; with a rate operations do not wait for each other",
			where)
	case open && visits && f["think_time"].Value == nil:
		d.Fail(at,
			"%s has no think_time; expected the time between steps, such as think_time: {lognormal: {median: 2s, p99: 30s}}",
			where)
	case visits && p.Rate.Count == 0 && p.Clients == 0 && p.Kind == Warmup:
		d.Fail(at, "%s: a session needs a rate or clients", where)
	}
}

// streams reads the streams of a phase.
func (d *decoder) streams(p *Phase, n *yaml.Node, where string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > MaxStreams {
		d.Fail(n, "streams of %s must be a list of 1 to %d, as in [{rate: 200/s, mix: {deliver: 1}}, {rate: 2000/s, mix: "+
			"{list: 1}}], found %s",
			where, MaxStreams, strict.Found(n))
		return
	}
	keys, named := sectionKeys("stream"), map[string]int{}
	for i, item := range n.Content {
		one := Phase{
			Kind: Measure, Duration: p.Duration, Operations: p.Operations, Keys: p.Keys,
			Timeout: p.Timeout, Stream: i, Patterns: p.Patterns,
		}
		one.Name = strconv.Itoa(i + 1)
		f := d.Fields(item, "a stream of "+where, names(keys))
		if e, ok := f["name"]; ok {
			one.Name = d.name(e.Value, "a stream of "+where)
			delete(f, "name")
		}
		if named[one.Name]++; named[one.Name] == 2 {
			d.Fail(item, "two streams of %s have the name %s; give this one another name (name: …)", where, one.Name)
		}
		what := "stream " + one.Name + " of " + where
		d.base = cmp.Or(p.Keys, &d.w.Keys)
		d.fill(item, f, what, &one, keys)
		d.stream(&one, item, f, what)
		d.Check(one.Session != nil || one.Mix != (Mix{}) || f["mix"].Value != nil || item.Kind != yaml.MappingNode, item,
			"%s has neither mix nor session; expected the operations and their weights, as in {list: 50, open: 25}", what)
		d.Check(i == 0 || (one.Arrivals == Closed) == (p.Streams[0].Arrivals == Closed), item,
			"%s: one stream has clients and another a rate; a phase is an open loop or a closed one", what)
		p.Streams = append(p.Streams, one)
	}
	p.sum()
}

// sum fills in the Rate, Clients, Arrivals and Mix of a phase from its streams. The mix is
// each operation's share of all operations.
func (p *Phase) sum() {
	p.Mix, p.Clients, p.Arrivals = Mix{}, 0, p.Streams[0].Arrivals
	rate, total := 0.0, 0.0
	for i := range p.Streams {
		s := &p.Streams[i]
		if s.Arrivals == Poisson {
			p.Arrivals = Poisson
		}
		p.Clients += s.Clients
		mix, each := s.perOperation()
		pace := s.Rate.PerSecond()
		if s.Arrivals == Closed {
			pace = float64(s.Clients) / each // as if all operations took equally long
		}
		rate += pace * each
		for op, n := range mix {
			p.Mix[op] += n * pace
			total += n * pace
		}
	}
	for op := range p.Mix {
		p.Mix[op] /= max(total, 1e-300)
	}
	if p.Rate = (Rate{}); p.Arrivals != Closed {
		p.Rate = RateOf(rate)
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
	mix, _ := p.perOperation()
	if rate := p.Rate.PerSecond(); rate > 0 {
		for op := range mix {
			mix[op] *= rate
		}
	}
	return mix
}

// perOperation returns how many operations of each kind one unit of the stream's rate
// brings: a session has several, and an operation is one.
func (p *Phase) perOperation() (mix Mix, all float64) {
	if p.Session != nil {
		mix = p.Session.Expected()
	} else {
		for op := range mix {
			if p.Mix[op] > 0 {
				mix[op] = p.Mix.Share(Op(op))
			}
		}
	}
	for _, n := range mix {
		all += n
	}
	return mix, max(all, 1e-9)
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
	if w.Replay != nil || next.Replay != nil && w.Mix != (Mix{}) && (w.Rate.Count > 0 || w.Clients > 0) {
		return
	}
	if next.Replay != nil {
		d.Fail(at, "phase %s: the next phase replays a trace; set a mix and a rate for this one", w.Name)
		return
	}
	paced := w.Rate.Count > 0 || w.Clients > 0
	if w.Mix == (Mix{}) {
		if !d.Check(!paced || len(next.Streams) == 0, at,
			"phase %s: phase %s has streams with their own rates; leave rate and clients out, or set a mix", w.Name, next.Name) {
			return
		}
		w.Mix, w.How, w.Missing = next.Mix, next.How, max(w.Missing, next.Missing)
		w.Streams = slices.Clone(next.Streams)
		for i := range w.Streams {
			w.Streams[i].Shape = nil
		}
		if w.Keys == nil {
			w.Keys = next.Keys
		}
		if w.Timeout == 0 {
			w.Timeout = next.Timeout
		}
	}
	if !paced {
		w.Arrivals, w.Rate, w.Clients, w.Think = next.Arrivals, next.Rate, next.Clients, next.Think
		w.RemoteRate = next.RemoteRate
		if w.Workers == 0 {
			w.Workers = next.Workers
		}
	}
}

// Rows are the phases and streams of a workload in words: name, load, length and operations.
func (w *Workload) Rows() (rows [][]string) {
	for i := range w.Phases {
		p := &w.Phases[i]
		if !p.HasStreams() {
			rows = append(rows, []string{p.Name, p.pace(), p.length(), p.operations()})
			continue
		}
		for k := range p.Streams {
			s := &p.Streams[k]
			rows = append(rows, []string{p.Name + ": " + s.Name, s.pace(), p.length(), s.operations()})
		}
	}
	return rows
}

// pace is the rate or the number of clients.
func (p *Phase) pace() string {
	switch {
	case !p.Runs():
		return "-"
	case p.Replay != nil:
		return "as recorded"
	case p.RemoteRate.Count > 0:
		return p.Rate.String() + ", remote " + p.RemoteRate.String()
	case p.Rate.Count > 0 && p.Session != nil:
		return p.Rate.String() + " sessions"
	case p.Rate.Count > 0:
		return p.Rate.String()
	}
	return words.Plural(p.Clients, "client")
}

func (p *Phase) length() string {
	switch {
	case p.Duration > 0:
		return p.Duration.String()
	case p.Operations > 0:
		return words.Plural(int64(p.Operations), "operation")
	}
	return "-"
}

// operations lists the operations of a phase, the most frequent first.
func (p *Phase) operations() string {
	if p.Kind == Interrupt {
		return fmt.Sprintf("move, delete of %s, interrupted", words.Plural(p.Messages, "message"))
	}
	if !p.Runs() || p.Replay != nil {
		return "-"
	}
	mix := p.PerSecond()
	var ops []Op
	for i := range mix {
		if op := Op(i); mix.Has(op) {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(mix[b], mix[a]) })
	var all []string
	for _, op := range ops {
		all = append(all, fmt.Sprintf("%s %.3g", p.Patterns.Name(op), 100*mix.Share(op)))
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}
