package workloads

import (
	"math"
	"reflect"
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
	w    *Workload
	base Keys // values of keys that are left out
}

// Parse reads a workload file; file is its name in messages. Overrides are
// KEY=VALUE texts such as population.users=10, applied to the file before it
// is read; phases are named by kind or name (phases.measure.rate=100/s). The error, if
// there is one, is of type [strict.Errors] and holds every fault that was found.
func Parse(file string, src []byte, overrides ...string) (*Workload, error) {
	d := newDecoder(file, map[*yaml.Node]string{})
	d.w.Source = src
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
		return nil, err
	}
	return d.w, nil
}

// newDecoder returns a decoder with the defaults of the language.
func newDecoder(file string, origins map[*yaml.Node]string) *decoder {
	keys := Keys{
		Users:    random.Keys{Theta: random.DefaultTheta},
		Folders:  random.Keys{Theta: random.DefaultTheta, Latest: true},
		Messages: random.Keys{Theta: random.DefaultTheta, Latest: true},
	}
	w := &Workload{Seed: 1, Engines: map[string]*Engine{}, Keys: keys}
	w.Mail = Mail{
		Body:        random.Lognormal{Median: 6 * random.KB, P99: 200 * random.KB},
		Attachments: Attachments{Count: random.Constant{Value: 1}, Size: random.Constant{Value: 0}},
		Recipients:  random.Constant{Value: 1},
	}
	w.Population.Folders = random.Constant{Value: 1}
	return &decoder{Decoder: strict.Decoder{File: file, Origins: origins}, w: w, base: keys}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$`)

// workload reads all sections but sweep and answer, and returns all. It returns nil if there are faults.
func (d *decoder) workload(root *yaml.Node) map[string]strict.Entry {
	f := d.section(root, "the workload", d.w, sectionKeys("workload"))
	if root.Kind != yaml.MappingNode {
		return nil
	}
	if e, ok := f["version"]; ok && (e.Value.ShortTag() != "!!int" || e.Value.Value != "1") {
		d.Fail(e.Value, "version must be 1, the version of the language, found %s", strict.Found(e.Value))
	}
	d.engines(f)
	d.models(f)
	d.mail(f)
	if e, ok := f["population"]; ok && len(d.w.Patterns) == 0 && slices.Contains(strict.KeysOf(e.Value), "rows") {
		d.Errs = nil // the names of patterns are unknown for the same reason
		d.Fail(e.Value, "population has rows, which are for the access patterns of a schema; name its file with --schema FILE")
		return nil
	}
	d.population(f)
	d.base = d.w.Keys
	if _, ok := f["phases"]; !ok {
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

func (d *decoder) mail(root map[string]strict.Entry) {
	e, ok := root["mail"]
	if !ok {
		return
	}
	m := &d.w.Mail
	e, ok = d.section(e.Value, "mail", m, sectionKeys("mail"))["attachments"]
	if !ok {
		return
	}
	f := d.section(e.Value, "mail.attachments", &m.Attachments, sectionKeys("attachments"))
	if m.Attachments.Share > 0 && f["size"].Value == nil {
		d.Fail(e.Value,
			"mail.attachments has no size; expected a distribution such as {pareto: {min: 20KB, alpha: 1.2, max: 25MB}}")
	}
}

func (d *decoder) population(root map[string]strict.Entry) {
	e, ok := root["population"]
	if !ok {
		return
	}
	p := &d.w.Population
	if d.rows(e.Value) {
		return
	}
	f := d.section(e.Value, "population", p, sectionKeys("population"))
	switch folders, own := f["folders"]; {
	case p.Shared && own:
		d.Fail(folders.Key, "a shared population has one folder in common; leave folders out")
	case !p.Shared && p.Messages != nil:
		folders := float64(p.Users) * min(p.Folders.Mean(), MaxFolders)
		if err := CheckPopulation(folders, folders*min(p.Messages.Mean(), MaxFolderMessages)); err != nil {
			d.Fail(e.Value, "%s", err)
		}
	}
}

// rows reads how many rows the largest table of a schema has. It returns false if the workload is for mail.
func (d *decoder) rows(n *yaml.Node) bool {
	if len(d.w.Patterns) == 0 {
		return false
	}
	rows := key{name: "rows", need: "how many the largest table has, such as {rows: 10000}"}
	f := d.Fields(n, "population", []string{rows.name})
	if e, ok := f[rows.name]; ok {
		v := d.whole(e.Value, "population.rows", 1, MaxFolderMessages)
		d.w.Population.Users, d.w.Population.Messages = 1, random.Constant{Value: random.Size(v)}
		d.w.Mail.Body = random.Constant{Value: 0} // of a delivery, which writes row n, only n counts
	} else {
		d.Fail(n, "population has no %s; expected %s", rows.name, rows.need)
	}
	return true
}

// patterns reads the access patterns that are the operations of the workload.
func (d *decoder) patterns(n *yaml.Node) (all Patterns) {
	kinds := []string{"read", "write"}
	for _, p := range d.Mapping(n, "patterns") {
		if !slices.Contains(kinds, p.Value.Value) {
			d.Unknown(p.Value, "kind", p.Value.Value, "of pattern "+p.Name, kinds)
		}
		all = append(all, Pattern{p.Name, p.Value.Value == kinds[1]})
	}
	if most := MaxOps - NumOps; len(all) > most {
		d.Fail(n, "patterns has %d; expected up to %d", len(all), most)
		all = all[:most]
	}
	return all
}

// Values are what a column holds.
type Values struct {
	Pos      strict.Pos
	Size     random.Dist `key:"size" form:"sizes" least:"0" most:"message" doc:"bytes of a text or blob, elements of a collection (default 20 bytes, 3 elements)"`
	Distinct uint64      `key:"distinct" form:"whole" least:"1" most:"users" doc:"how many different values there are (default: as the keys of the schema need; 10 of a filter)"`
	Access   random.Keys `key:"access" form:"choice" doc:"how often rows have each value, and patterns use each value of a partition key (default: evenly): uniform, zipf or latest"`
}

// Choose returns which of so many values a draw stands for; of latest it is mostly one of the last.
func (v *Values) Choose(draw, among uint64) uint64 {
	var draws random.Rand
	draws.Seed(draw, 0, 0)
	c := v.Access.Chooser(1)
	n := uint64(c.Among(int(min(among, math.MaxInt32)), &draws))
	if v.Access.Latest {
		n = among - 1 - n
	}
	return n
}

// SizeOf returns the size of value n.
func (v *Values) SizeOf(seed uint64) func(n uint64) int64 {
	const stream = 0x73697a65 // of chance
	return func(n uint64) int64 {
		var draws random.Rand
		draws.Seed(seed, stream, n)
		return v.Size.Draw(&draws)
	}
}

// values reads the values of columns, by table.
func (d *decoder) values(n *yaml.Node) map[string]*Values {
	all := map[string]*Values{}
	for _, t := range d.Mapping(n, "values") {
		for _, c := range d.Mapping(t.Value, "values."+t.Name) {
			name := t.Name + "." + c.Name
			all[name] = &Values{Pos: d.At(c.Key)}
			f := d.section(c.Value, "values."+name, all[name], sectionKeys("values"))
			d.noLargest(f["access"], all[name].Access, "access of values."+name)
		}
	}
	return all
}

// section reads a mapping with these keys into a value of the type that declares them: see fill.
func (d *decoder) section(n *yaml.Node, where string, into any, keys []key) map[string]strict.Entry {
	f := d.Fields(n, where, names(keys))
	d.fill(n, f, where, into, keys)
	return f
}

// fill reads the plain keys of a mapping at n into the fields of a type of the language, and
// reports keys that are needed and not there. It leaves keys whose value depends on others to its caller.
func (d *decoder) fill(n *yaml.Node, f map[string]strict.Entry, where string, into any, keys []key) {
	v := reflect.ValueOf(into).Elem()
	for _, k := range keys {
		e, ok := f[k.name]
		switch {
		case ok:
			d.value(&k, e.Value, where, v.FieldByIndex(k.field))
		case k.need == "" || n.Kind != yaml.MappingNode:
		case where == "the workload":
			d.Fail(n, "no key %q; expected %s", k.name, k.need)
		case k.need == "-":
			d.Fail(n, "%s has no %s", where, k.name)
		default:
			d.Fail(n, "%s has no %s; expected %s", where, k.name, k.need)
		}
	}
}

// value reads the value of a key into its field.
func (d *decoder) value(k *key, n *yaml.Node, where string, into reflect.Value) {
	what := k.in(where)
	switch k.form {
	case "text":
		s, _ := d.Text(n, k.name+" of "+where)
		into.SetString(s)
	case "name":
		into.SetString(d.name(n, "the name of "+where))
	case "whole":
		least, most := k.within()
		v := d.whole(n, what, least, most)
		if into.CanUint() {
			into.SetUint(v)
		} else {
			into.SetInt(int64(v))
		}
	case "share":
		v := d.number(n, what, 0, 1)
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.ValueOf(&v))
		} else {
			into.SetFloat(v)
		}
	case "weight":
		least, _ := strconv.ParseFloat(k.least, 64)
		_, most := k.within()
		into.SetFloat(d.number(n, what, least, float64(most)))
	case "truth":
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.Fail(n, "%s must be true or false, found %s", what, strict.Found(n))
		}
		into.SetBool(strings.EqualFold(n.Value, "true"))
	case "time":
		into.SetInt(int64(d.duration(n, what)))
	case "times":
		if v := random.DecodeTimes(&d.Decoder, n, what); v != nil {
			into.Set(reflect.ValueOf(v))
		}
	case "sizes":
		if v := d.dist(k, n, what); v != nil {
			into.Set(reflect.ValueOf(v))
		}
	case "size":
		into.SetInt(d.size(k, n, what))
	case "keys":
		v := d.ownKeys(n, what)
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.ValueOf(v))
		} else {
			into.Set(reflect.ValueOf(*v))
		}
	case "choice":
		into.Set(reflect.ValueOf(random.DecodeKeys(&d.Decoder, n, what)))
	case "patterns":
		into.Set(reflect.ValueOf(d.patterns(n)))
	case "values":
		into.Set(reflect.ValueOf(d.values(n)))
	case "arrivals", "missing":
		words := forms[k.form].words
		if i := slices.Index(words, n.Value); i >= 0 {
			into.SetUint(uint64(i))
		} else {
			d.Unknown(n, k.name, n.Value, "of "+where, words)
		}
	case "flags":
		into.Set(reflect.ValueOf(d.flags(n, where)))
	case "width":
		into.Set(reflect.ValueOf(d.width(n, what)))
	case "plain rate":
		into.Set(reflect.ValueOf(d.plainRate(n, where)))
	case "hours":
		into.Set(reflect.ValueOf(d.hours(n, where)))
	case "trials":
		d.section(n, what, into.Addr().Interface(), sectionKeys(k.form))
	}
}

// in names the key in messages: population.users, or users of keys of phase measure.
func (k *key) in(where string) string {
	switch {
	case where == "the workload":
		return k.name
	case strings.Contains(where, " "):
		return k.name + " of " + where
	}
	return where + "." + k.name
}

// ownKeys reads keys. Keys that are left out have the values of d.base.
func (d *decoder) ownKeys(n *yaml.Node, where string) *Keys {
	k, all := d.base, sectionKeys("keys")
	if len(d.w.Patterns) > 0 {
		all[2].name, all = "rows", all[2:3]
	}
	f := d.section(n, where, &k, all)
	of := map[string]random.Keys{"folders": k.Folders, "messages": k.Messages, "rows": k.Messages}
	for i := range all {
		d.noLargest(f[all[i].name], of[all[i].name], all[i].in(where))
	}
	return &k
}

func (d *decoder) noLargest(e strict.Entry, k random.Keys, what string) {
	if k.Largest && e.Value != nil {
		d.Fail(e.Value, "%s: largest is for users, whose mailboxes differ in size; expected uniform, zipf or latest", what)
	}
}

// dist reads a distribution. A value that is constant must lie within the key's bounds; others are cut
// to them when drawn.
func (d *decoder) dist(k *key, n *yaml.Node, what string) random.Dist {
	v := random.DecodeDist(&d.Decoder, n, what)
	least, most := k.within()
	if c, ok := v.(random.Constant); ok && (uint64(c.Value) < least || uint64(c.Value) > most) {
		d.Fail(n, "%s must be from %s to %s, found %s", what, random.Size(least), random.Size(most), c)
	}
	return v
}

// size reads a place in a message, or a length.
func (d *decoder) size(k *key, n *yaml.Node, what string) int64 {
	least, most := k.within()
	size, err := random.ParseSize(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode || uint64(size) < least || uint64(size) > most {
		d.Fail(n, "%s must be a size from %s to %s, found %s", what, random.Size(least), random.Size(most), strict.Found(n))
	}
	return int64(size)
}

func (d *decoder) number(n *yaml.Node, what string, least, most float64) float64 {
	v, err := random.DecodeNumber(n, least, most)
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

func (d *decoder) flags(n *yaml.Node, where string) (all []Mark) {
	for _, item := range d.List(n, "flags of "+where) {
		if i := slices.Index(flagNames, item.Value); i >= 0 {
			all = append(all, Mark(i))
		} else {
			d.Unknown(item, "flag", item.Value, "in "+where, flagNames)
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.Fail(n, "flags of %s is empty; expected some of %s", where, strings.Join(flagNames, ", "))
	}
	return all
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

// mix reads operations with their weights, and how they are executed.
func (d *decoder) mix(p *Phase, n *yaml.Node, where string) {
	var sum float64
	faults := len(d.Errs)
	for name, e := range d.Fields(n, "mix of "+where, d.w.Patterns.Names()) {
		op, _ := d.w.Patterns.Op(name)
		what, weight := name+" in mix of "+where, e.Value
		if e.Value.Kind == yaml.MappingNode {
			f := d.Fields(e.Value, what, append([]string{weightKey.name}, names(howOf(op))...))
			if weight = f[weightKey.name].Value; weight == nil {
				d.Fail(e.Value, "%s has no %s", what, weightKey.name)
				continue
			}
			d.fill(e.Value, f, what, &p.How[op], howOf(op))
		}
		p.Mix[op] = d.number(weight, what, 0, maxWeight)
		sum += p.Mix[op]
	}
	if sum == 0 && len(d.Errs) == faults {
		d.Fail(n, "mix of %s is all zero; at least one operation needs a weight, as in {list: 50, open: 25, deliver: 10}",
			where)
	}
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
	op, ok := d.w.Patterns.Op(name)
	if !ok {
		known := d.w.Patterns.Names()
		if repeats {
			known = append(slices.Clone(known), "repeat")
		}
		d.Unknown(at, "operation", name, "in "+where, known)
		return
	}
	where = name + " in " + where
	f := d.Fields(fields, where, slices.Concat(names(stepKeys()), names(howOf(op))))
	step := Step{Op: op, Chance: 1}
	d.fill(fields, f, where, &step, stepKeys())
	d.chance(f, step.Chance, where)
	if e, ok := f["keys"]; ok && e.Value.Kind == yaml.MappingNode {
		for i := 0; i < len(e.Value.Content); i += 2 {
			if k := e.Value.Content[i]; k.Value == "users" || k.Value == "folders" {
				d.Fail(k, "%s: all steps of a session are of one user and one folder; give %s to the keys of the phase or stream",
					where, k.Value)
			}
		}
	}
	d.fill(fields, f, where, &step.How, howOf(op))
	s.Steps = append(s.Steps, step)
}

// chance refuses a step that is never done.
func (d *decoder) chance(f map[string]strict.Entry, chance float64, where string) {
	if e, ok := f["chance"]; ok && chance == 0 {
		d.Fail(e.Value, "chance of %s is 0; leave the step out instead", where)
	}
}

func (d *decoder) repeat(s *Session, n *yaml.Node, where string) {
	where = "repeat in " + where
	r := repetition{Chance: 1}
	f := d.section(n, where, &r, sectionKeys("repeat"))
	list, steps := f["steps"]
	if _, times := f["times"]; !times || !steps {
		return
	}
	d.chance(f, r.Chance, where)
	first := len(s.Steps)
	s.Steps = append(s.Steps, Step{Kind: StepRepeat, Times: r.Times, Chance: r.Chance})
	if list.Value.Kind != yaml.SequenceNode || len(list.Value.Content) == 0 {
		d.Fail(list.Value, "steps of %s must be a list of steps, such as [open, flag], found %s", where,
			strict.Found(list.Value))
	}
	for _, item := range list.Value.Content {
		d.step(s, item, where, false)
	}
	s.Steps[first].Until = len(s.Steps)
	s.Steps = append(s.Steps, Step{Kind: StepEnd, Back: first, Chance: 1})
}
