package workloads

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// decoder reads one workload file.
type decoder struct {
	strict.Decoder
	known Known
	w     *Workload
	base  *Keys // values of keys that are left out
}

// Parse reads a workload file as [Known.Parse] does, and checks no names.
func Parse(file string, src []byte, overrides ...string) (*Workload, error) {
	return Known{}.Parse(file, src, overrides)
}

// Parse reads a workload file, but for the sections that it is to be without, and refuses names that are not known;
// file is its name in messages. Overrides are KEY=VALUE texts such as population.users=10, applied to the file before
// it is decoded, so that both are checked alike; phases are named by kind or name (phases.measure.rate=100/s). The
// error, if there is one, is of type [strict.Errors] and holds every fault that was found.
func (known Known) Parse(file string, src []byte, overrides []string, without ...string) (*Workload, error) {
	w := defaults
	w.Source = src
	d := decoder{strict.Decoder{File: file}, known, &w, &w.Keys}
	root := d.Document(src, "a workload (version, name, population, phases)")
	if root == nil {
		return nil, d.Errs.Sorted()
	}
	for _, text := range overrides {
		d.override(root, text)
	}
	for _, name := range without {
		if i := strict.Find(root, name); i >= 0 {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	if len(overrides) > 0 && len(d.Errs) == 0 {
		var err error
		if d.w.Source, err = yaml.Marshal(root); err != nil {
			d.Fail(root, "the overridden workload cannot be written: %s", err)
		}
	}
	d.workload(root, src, overrides)
	if err := d.Errs.Sorted(); err != nil {
		return nil, err
	}
	return &w, nil
}

// defaults are those of the language.
var defaults = Workload{
	Seed: 1,
	Mail: Mail{
		Body:        random.Lognormal{Median: 6 * strict.KB, P99: 200 * strict.KB},
		Attachments: Attachments{Count: random.Constant{Value: 1}, Size: random.Constant{Value: 0}},
		Recipients:  random.Constant{Value: 1},
	},
	Population: Population{Folders: random.Constant{Value: 1}},
	Keys: Keys{
		Users:    random.Keys{Theta: random.DefaultTheta},
		Folders:  random.Keys{Theta: random.DefaultTheta, Latest: true},
		Messages: random.Keys{Theta: random.DefaultTheta, Latest: true},
	},
}

// override applies a text KEY=VALUE to the file. The text is the origin of its nodes, with their columns in it.
func (d *decoder) override(root *yaml.Node, text string) {
	at := strict.Pos{Line: 1, Column: 1, File: "--set " + strconv.Quote(text)}
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		d.FailAt(at, "expected KEY=VALUE, such as population.users=10")
		return
	}
	if strings.ContainsAny(value[:min(1, len(value))], "><%@`") {
		value = strconv.Quote(value) // for a file, YAML wants quotes around such a text
	}
	before := strings.Repeat(" ", len(path)+len("="))
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(before+strings.ReplaceAll(value, "\n", "\n"+before)), &doc)
	if err != nil || len(doc.Content) == 0 {
		at.Column += len(before)
		d.FailAt(at, "%q is not a value; expected a number, text or YAML such as {constant: 8KB}", value)
		return
	}
	keys := strings.Split(path, ".")
	for last := len(keys) - 1; keys[0] == "values" && last > 3; last-- {
		if slices.Contains(language["values"].names, keys[last]) { // a table's name is one key: values.posts.notes.body.size
			keys = slices.Concat(keys[:1], []string{strings.Join(keys[1:last-1], ".")}, keys[last-1:])
			break
		}
	}
	d.set(root, keys, at, d.From(at.File, doc.Content[0]))
}

// set puts v at the path below n; at is the place of the path. It makes the mappings that are missing on the way. Below
// the list of phases it is put into every phase of a name or, if none has it, of a kind.
func (d *decoder) set(n *yaml.Node, path []string, at strict.Pos, v *yaml.Node) {
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0], Line: at.Line, Column: at.Column}
	d.From(at.File, key)
	at.Column += len(path[0]) + len(".")
	rest := path[1:]
	switch n.Kind {
	case yaml.SequenceNode:
		if !d.Check(len(rest) > 0, key, "expected phases.PHASE.KEY=VALUE, such as phases.measure.rate=100/s") {
			return
		}
		for _, body := range d.phasesOf(n, key) {
			for _, other := range instead[rest[0]] {
				// That of another override stays, and is an error; but the last rate is that of all engines.
				if i := strict.Find(body, other); i >= 0 && len(rest) == 1 &&
					(other == "remote_rate" || d.Origins[body.Content[i+1]] == "") {
					body.Content = slices.Delete(body.Content, i, i+2)
				}
			}
			d.set(body, rest, at, v)
		}
	case yaml.MappingNode:
		i := strict.Find(n, key.Value)
		if i < 0 {
			i = len(n.Content)
			n.Content = append(n.Content, key, v)
		}
		if len(rest) == 0 {
			n.Content[i+1] = v
			return
		}
		if below := n.Content[i+1]; below == v || below.Kind == yaml.ScalarNode { // the path goes on below a plain value
			empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: key.Line, Column: key.Column}
			n.Content[i+1] = d.From(at.File, empty)
		}
		d.set(n.Content[i+1], rest, at, v)
	default:
		d.Fail(key, "%s cannot be set below %s", key.Value, strict.Found(n))
	}
}

// instead has the keys of a phase in a file that a key of an override replaces: no phase has both.
var instead = map[string][]string{
	"clients": {"rate", "arrivals", "remote_rate"}, "rate": {"clients", "think_time", "remote_rate"},
	"operations": {"duration"}, "duration": {"operations"},
}

// phasesOf are the phases whose name a key has or, if none has it, whose kind. The name of a phase without one is its
// kind.
func (d *decoder) phasesOf(list, of *yaml.Node) []*yaml.Node {
	var known []string
	var named, kinds []*yaml.Node
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode || len(item.Content) != 2 {
			continue
		}
		kind, body := item.Content[0].Value, item.Content[1]
		name := nameOf(body, kind)
		for _, one := range []string{kind, name} {
			if !slices.Contains(known, one) {
				known = append(known, one)
			}
		}
		switch of.Value {
		case name:
			named = append(named, body)
		case kind:
			kinds = append(kinds, body)
		}
	}
	if len(named) == 0 {
		named = kinds
	}
	if len(named) == 0 {
		d.Unknown(of, "phase", of.Value, "in phases", known)
	}
	return named
}

// nameOf is the name that a phase or stream gives itself, or the other one.
func nameOf(n *yaml.Node, other string) string {
	if i := strict.Find(n, "name"); i >= 0 {
		return n.Content[i+1].Value
	}
	return other
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,47}$`)

// workload reads all sections. A sweep needs a workload without faults, and bounds of expect phases without any.
func (d *decoder) workload(root *yaml.Node, src []byte, overrides []string) {
	f := d.section(root, "the workload", d.w, language["workload"])
	if e, ok := f["version"]; ok && (e.Value.ShortTag() != "!!int" || e.Value.Value != "1") {
		d.Fail(e.Value, "version must be 1, the version of the language, found %s", strict.Found(e.Value))
	}
	n := f["population"].Value
	if keys := strict.KeysOf(n); keys != nil && slices.Contains(keys, "rows") != (len(d.w.Patterns) > 0) {
		d.Errs = nil // the names of patterns are unknown for the same reason
		d.Fail(n, "population has rows in a workload of a schema (--schema FILE), and users in one for mail; found %s",
			strings.Join(keys, ", "))
		return
	}
	most := MaxOps - NumOps
	few := d.Check(len(d.w.Patterns) <= most, root, "patterns has %d; expected up to %d", len(d.w.Patterns), most)
	if _, ok := f["phases"]; !ok || !few {
		return
	}
	faults := len(d.Errs)
	d.phases(f["phases"].Value)
	if e, ok := f["expect"]; ok && len(d.Errs) == faults {
		d.expect(e.Value)
	}
	if e, ok := f["sweep"]; ok && len(d.Errs) == 0 {
		d.sweep(e.Value, src, overrides)
	}
}

// attachments reads which messages carry files.
func (d *decoder) attachments(_ *key, n *yaml.Node, what string) any {
	a := d.w.Mail.Attachments
	f := d.section(n, what, &a, language["attachments"])
	d.Check(a.Share == 0 || f["size"].Value != nil, n,
		"%s has no size; expected a distribution such as {pareto: {min: 20KB, alpha: 1.2, max: 25MB}}", what)
	return a
}

// population reads who has how much mail, or how many rows a schema has.
func (d *decoder) population(_ *key, n *yaml.Node, what string) any {
	p := d.w.Population
	if len(d.w.Patterns) > 0 {
		d.section(n, what, &p, language["rows"])
		p.Users, p.Messages = 1, random.Constant{Value: strict.Size(p.Rows)}
		d.w.Mail.Body = random.Constant{Value: 0} // of a delivery, which writes row n, only n counts
		return p
	}
	f := d.section(n, what, &p, language["population"])
	switch folders, own := f["folders"]; {
	case p.Shared && own:
		d.Fail(folders.Key, "a shared population has one folder in common; leave folders out")
	case !p.Shared && p.Messages != nil:
		folders := float64(p.Users) * min(p.Folders.Mean(), MaxFolders)
		err := CheckPopulation(folders, folders*min(p.Messages.Mean(), MaxFolderMessages))
		d.Check(err == nil, n, "%v", err)
	}
	return p
}

// section reads a mapping into the fields of a value that declare its keys, and returns its entries. A key whose form
// has no reader, as its value depends on others, is left to the caller.
func (d *decoder) section(n *yaml.Node, where string, into any, s section) map[string]strict.Entry {
	f, v := d.Fields(n, where, s.names), reflect.ValueOf(into).Elem()
	for i := range s.keys {
		k := &s.keys[i]
		e, ok := f[k.name]
		if !ok {
			d.Check(k.need == "" || n.Kind != yaml.MappingNode, n, "%s has no %s; expected %s", where, k.name, k.need)
			continue
		}
		for _, other := range k.not {
			d.Check(f[other].Key == nil, e.Key, "%s has both %s and %s; keep one of them", where, other, k.name)
		}
		what := where + "." + k.name
		if where == "the workload" {
			what = k.name
		} else if strings.Contains(where, " ") {
			what = k.name + " of " + where
		}
		form := forms[k.form]
		if form.read == nil && form.below == "" {
			continue
		}
		field := v.FieldByIndex(k.field)
		if field.Kind() == reflect.Pointer { // to a value of its own: a stream begins with the pointers of its phase
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		if form.read == nil {
			d.section(e.Value, what, field.Addr().Interface(), language[form.below])
		} else if value := reflect.ValueOf(form.read(d, k, e.Value, what)); value.IsValid() {
			field.Set(value.Convert(field.Type()))
		}
	}
	return f
}
