package workloads

import (
	"math"
	"regexp"
	"strconv"
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
