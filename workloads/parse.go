package workloads

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// decoder reads one workload file.
type decoder struct {
	strict.Decoder
	w      *Workload
	places strict.Errors // places of words that CheckEngines and CheckExpect check
	base   Keys          // values of keys that are left out
}

// Parse reads a workload file; file is its name in messages. Overrides are
// KEY=VALUE texts such as population.users=10, applied to the file before it
// is read; phases are named by kind or name (phases.measure.rate=100/s). The error, if
// there is one, is of type [strict.Errors] and holds every fault that was found.
func Parse(file string, src []byte, overrides ...string) (*Workload, error) {
	d := &decoder{Decoder: strict.Decoder{File: file}, w: &Workload{Source: src}}
	root := d.Document(src, "a workload (version, name, population, phases)")
	if root == nil {
		return nil, d.Errs.Sorted()
	}
	if len(overrides) > 0 {
		d.override(root, overrides)
	}
	fields := d.workload(root)
	d.sweep(root, fields)
	d.answer(fields)
	if err := d.Errs.Sorted(); err != nil {
		blame(d.Errs, overrides)
		return nil, err
	}
	blame(d.places, overrides)
	return d.w, nil
}

// MaxMessage bounds body and attachment sizes, because servers refuse larger mail.
// A larger size that is drawn is cut to it.
const MaxMessage = 50 * random.MB

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$`)

// workload reads all sections but sweep and answer, and returns all. It returns nil if there are faults.
func (d *decoder) workload(root *yaml.Node) map[string]strict.Entry {
	f := d.Fields(root, "the workload", keysIn("workload"))
	if root.Kind != yaml.MappingNode {
		return nil
	}
	if e, ok := f["version"]; !ok {
		d.Fail(root, `no key "version"; expected "version: 1", the version of the language`)
	} else if e.Value.ShortTag() != "!!int" || e.Value.Value != "1" {
		d.Fail(e.Value, "version must be 1, the version of the language, found %s", strict.Found(e.Value))
	}
	if e, ok := f["name"]; !ok {
		d.Fail(root, `no key "name"; expected the name of the workload`)
	} else {
		d.w.Name = d.name(e.Value, "the name of the workload")
	}
	d.w.Doc = d.TextOf(f, "doc", "the workload")
	d.w.Seed = 1
	if e, ok := f["seed"]; ok {
		d.w.Seed = d.whole(e.Value, "seed", 0, math.MaxUint64)
	}
	d.trials(f)
	d.engines(f)
	d.models(f)
	d.mail(f)
	d.population(root, f)
	d.keys(f)
	if _, ok := f["phases"]; !ok {
		d.Fail(root, `no key "phases"; expected a list such as [load: {}, settle: {}, measure: {…}]`)
		return nil
	}
	faults := len(d.Errs)
	if d.phases(f["phases"].Value); len(d.Errs) == faults {
		d.expect(f)
	}
	if len(d.Errs) > 0 {
		return nil
	}
	return f
}

// MaxTrials is how many trials a run may have.
const MaxTrials = 1000

func (d *decoder) trials(root map[string]strict.Entry) {
	e, ok := root["trials"]
	if !ok {
		return
	}
	f := d.Fields(e.Value, "trials", keysIn("trials"))
	if n, ok := f["count"]; ok {
		d.w.Trials.Count = int(d.whole(n.Value, "trials.count", 1, MaxTrials))
	}
	d.w.Trials.Reuse = d.Flag(f, "reuse", "trials")
}

func (d *decoder) mail(root map[string]strict.Entry) {
	m := &d.w.Mail
	*m = Mail{
		Body:        random.Lognormal{Median: 6 * random.KB, P99: 200 * random.KB},
		Attachments: Attachments{Count: random.Constant{Value: 1}, Size: random.Constant{Value: 0}},
		Recipients:  random.Constant{Value: 1},
	}
	e, ok := root["mail"]
	if !ok {
		return
	}
	f := d.Fields(e.Value, "mail", keysIn("mail"))
	d.dist(f, "body", "mail.body", &m.Body, 0, MaxMessage)
	d.dist(f, "recipients", "mail.recipients", &m.Recipients, 1, MaxRecipients)
	if e, ok := f["html"]; ok {
		m.HTML = d.share(e.Value, "mail.html")
	}
	e, ok = f["attachments"]
	if !ok {
		return
	}
	f = d.Fields(e.Value, "mail.attachments", keysIn("attachments"))
	d.dist(f, "count", "mail.attachments.count", &m.Attachments.Count, 1, maxAttachments)
	d.dist(f, "size", "mail.attachments.size", &m.Attachments.Size, 0, MaxMessage)
	if s, ok := f["share"]; !ok {
		d.Fail(e.Value, "mail.attachments has no share; expected the share of messages that have any, such as 0.15")
	} else if m.Attachments.Share = d.share(s.Value, "mail.attachments.share"); m.Attachments.Share > 0 &&
		f["size"].Value == nil {
		d.Fail(e.Value,
			"mail.attachments has no size; expected a distribution such as {pareto: {min: 20KB, alpha: 1.2, max: 25MB}}")
	}
}

const maxAttachments = 100

func (d *decoder) population(n *yaml.Node, root map[string]strict.Entry) {
	p := &d.w.Population
	p.Folders = random.Constant{Value: 1}
	e, ok := root["population"]
	if !ok {
		d.Fail(n, `no key "population"; expected {users: …, folders: …, messages: …}`)
		return
	}
	f := d.Fields(e.Value, "population", keysIn("population"))
	if u, ok := f["users"]; ok {
		p.Users = int(d.whole(u.Value, "population.users", 1, MaxUsers))
	} else {
		d.Fail(e.Value, "population has no users; expected how many there are")
	}
	d.dist(f, "folders", "population.folders", &p.Folders, 1, MaxFolders)
	if _, ok := f["messages"]; !ok {
		d.Fail(e.Value, "population has no messages; expected how many are in a folder, such as 200 or {lognormal: "+
			"{median: 200, p99: 5000}}")
	}
	d.dist(f, "messages", "population.messages", &p.Messages, 0, MaxFolderMessages)
	if p.Shared = d.Flag(f, "shared", "population"); p.Shared {
		if _, ok := f["folders"]; ok {
			d.Fail(f["folders"].Key, "a shared population has one folder in common; leave folders out")
		}
		return
	}
	if p.Messages == nil {
		return // dist has reported the fault
	}
	folders := float64(p.Users) * min(p.Folders.Mean(), MaxFolders)
	if err := CheckPopulation(folders, folders*min(p.Messages.Mean(), MaxFolderMessages)); err != nil {
		d.Fail(e.Value, "%s", err)
	}
}

func (d *decoder) keys(root map[string]strict.Entry) {
	k := &d.w.Keys
	*k = Keys{
		Users:    random.Keys{Theta: random.DefaultTheta},
		Folders:  random.Keys{Theta: random.DefaultTheta, Latest: true},
		Messages: random.Keys{Theta: random.DefaultTheta, Latest: true},
	}
	if e, ok := root["keys"]; ok {
		d.base = *k
		*k = *d.ownKeys(e.Value, "keys")
	}
	d.base = *k
}

// ownKeys reads keys. Keys that are left out have the values of d.base.
func (d *decoder) ownKeys(n *yaml.Node, what string) *Keys {
	k := d.base
	f := d.Fields(n, what, keysIn("keys"))
	of := func(name string) string {
		if what == "keys" {
			return "keys." + name
		}
		return name + " of " + what
	}
	for name, into := range map[string]*random.Keys{"users": &k.Users, "folders": &k.Folders, "messages": &k.Messages} {
		if e, ok := f[name]; ok {
			*into = random.DecodeKeys(&d.Decoder, e.Value, of(name))
			if into.Largest && name != "users" {
				d.Fail(e.Value, "%s: largest is for users, whose mailboxes differ in size; expected uniform, zipf or latest",
					of(name))
			}
		}
	}
	if e, ok := f["deep"]; ok {
		k.Deep = d.share(e.Value, of("deep"))
	}
	return &k
}

// dist reads a distribution into *into, if there is one. A value that is
// constant must lie within the bounds; others are cut to them when drawn.
func (d *decoder) dist(f map[string]strict.Entry, key, what string, into *random.Dist, least, most random.Size) {
	e, ok := f[key]
	if !ok {
		return
	}
	v := random.DecodeDist(&d.Decoder, e.Value, what)
	if v == nil {
		return
	}
	if c, ok := v.(random.Constant); ok && (c.Value < least || c.Value > most) {
		d.Fail(e.Value, "%s must be from %s to %s, found %s", what, least, most, c)
	}
	*into = v
}

func (d *decoder) share(n *yaml.Node, what string) float64 {
	v, err := random.DecodeNumber(n, 0, 1)
	if err != nil {
		d.Fail(n, "%s %s", what, err)
	}
	return v
}

func (d *decoder) whole(n *yaml.Node, what string, least, most uint64) uint64 {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		v, err := strconv.ParseUint(n.Value, 0, 64) // 0x10 is 16, and 010 is 8, as in YAML
		if err == nil && v >= least && v <= most {
			return v
		}
	}
	d.Fail(n, "%s must be a whole number from %d to %d, found %s", what, least, most, strict.Found(n))
	return least
}

// name reads a name that fits into a file name and a table.
func (d *decoder) name(n *yaml.Node, what string) string {
	s, ok := d.Text(n, what)
	if ok && !nameForm.MatchString(s) {
		d.Fail(n, "%s must be letters, digits, _ . or -, at most 48, found %q", what, s)
	}
	return s
}

func (d *decoder) duration(n *yaml.Node, what string) time.Duration {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || v < minDuration || v > maxDuration {
		d.Fail(n, "%s must be a time such as 30s or 5m, from %s to %s, found %s", what, minDuration, maxDuration, strict.Found(n))
		return 0
	}
	return v
}

// Bounds of how long a phase may last.
const (
	minDuration = time.Millisecond
	maxDuration = 30 * 24 * time.Hour
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
