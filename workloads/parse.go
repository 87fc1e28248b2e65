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
	d := newDecoder(file, known)
	d.w.Source = src
	root := d.Document(src, "a workload (version, name, population, phases)")
	if root == nil {
		return nil, d.Errs.Sorted()
	}
	for _, o := range overrides {
		at := strict.Pos{Line: 1, Column: 1, File: origin(o)}
		path, value, ok := strings.Cut(o, "=")
		if !ok || path == "" {
			d.FailAt(at, "expected KEY=VALUE, such as population.users=10")
			continue
		}
		if strings.ContainsAny(value[:min(1, len(value))], "><%@`") {
			value = strconv.Quote(value) // for a file, YAML wants quotes around such a text
		}
		before := strings.Repeat(" ", len(path)+len("=")) // places are those of the whole text
		text := before + strings.ReplaceAll(value, "\n", "\n"+before)
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
			at.Column += len(path) + len("=")
			d.FailAt(at, "%q is not a value; expected a number, text or YAML such as {constant: 8KB}", value)
			continue
		}
		d.set(root, strings.Split(path, "."), at, d.From(at.File, doc.Content[0]))
	}
	for _, name := range without {
		if i := keyIn(root, name); i >= 0 {
			root.Content = slices.Delete(root.Content, i, i+2)
		}
	}
	if len(overrides) > 0 && len(d.Errs) == 0 {
		var err error
		if d.w.Source, err = yaml.Marshal(root); err != nil {
			d.Fail(root, "the overridden workload cannot be written: %s", err)
		}
	}
	fields := d.workload(root)
	if e, ok := fields["sweep"]; ok {
		d.sweep(e.Value, src, overrides)
	}
	if e, ok := fields["conclusion"]; ok && len(d.Errs) == 0 {
		d.conclusion(e.Value)
	}
	if err := d.Errs.Sorted(); err != nil {
		d.hint(overrides)
		return nil, err
	}
	return d.w, nil
}

// hint lets a fault of an override whose key is unknown at its place name the key of another place that was probably
// meant: phases.measure.mix for mix.
func (d *decoder) hint(overrides []string) {
	for _, f := range d.Errs {
		at := slices.IndexFunc(overrides, func(o string) bool { return origin(o) == f.Pos.File })
		if at < 0 || f.Near != "" || !strings.HasPrefix(f.Msg, "unknown key") {
			continue
		}
		key, _, _ := strings.Cut(overrides[at], "=")
		if near := elsewhere(key, d.known.Paths(d.w)); near != "" && f.Pos.Column <= len(key) { // not in the value
			f.Msg, _, _ = strings.Cut(f.Msg, "; expected one of ")
			f.Near = near
		}
	}
}

// elsewhere is the first path, or section of one, whose last part is nearest to that of a key.
func elsewhere(key string, paths []string) string {
	var whole, last []string
	for _, p := range paths {
		p, _, _ = strings.Cut(p, "=")
		for _, p := range []string{p[:max(0, strings.LastIndexByte(p, '.'))], p} {
			whole, last = append(whole, p), append(last, p[strings.LastIndexByte(p, '.')+1:])
		}
	}
	if at := slices.Index(last, strict.Nearest(key[strings.LastIndexByte(key, '.')+1:], last)); at >= 0 {
		return whole[at]
	}
	return ""
}

// origin is the place of an override in messages.
func origin(override string) string { return "--set " + strconv.Quote(override) }

// set puts v at the path below n; at is the place of the path. It makes the mappings that are missing on the way. Below
// the list of phases it is put into every phase of a name or, if none has it, of a kind.
func (d *decoder) set(n *yaml.Node, path []string, at strict.Pos, v *yaml.Node) {
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path[0], Line: at.Line, Column: at.Column}
	d.Origins[key] = at.File
	at.Column += len(path[0]) + len(".")
	rest := path[1:]
	if key.Value == "values" { // a table's name is one key: values.posts.notes.body.size has posts.notes
		last := len(rest) - 1
		for last > 2 && !slices.Contains(names(sectionKeys("values")), rest[last]) {
			last--
		}
		if last > 2 {
			rest = append([]string{strings.Join(rest[:last-1], ".")}, rest[last-1:]...)
		}
	}
	switch n.Kind {
	case yaml.SequenceNode:
		if !d.Check(len(rest) > 0, key, "expected phases.PHASE.KEY=VALUE, such as phases.measure.rate=100/s") {
			return
		}
		for _, body := range d.phasesOf(n, key) {
			for _, other := range instead[rest[0]] {
				i := keyIn(body, other)
				if i < 0 || len(rest) > 1 {
					continue
				}
				// That of another override stays, and is an error; but the last rate is that of all engines.
				if other == "remote_rate" || d.Origins[body.Content[i+1]] == "" {
					body.Content = slices.Delete(body.Content, i, i+2)
				}
			}
			d.set(body, rest, at, v)
		}
	case yaml.MappingNode:
		i := keyIn(n, key.Value)
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
			n.Content[i+1], d.Origins[empty] = empty, at.File
		}
		d.set(n.Content[i+1], rest, at, v)
	default:
		d.Fail(key, "%s cannot be set below %s", key.Value, strict.Found(n))
	}
}

// keyIn is the index of a key in the contents of a mapping, or below 0.
func keyIn(n *yaml.Node, key string) int { return 2 * slices.Index(strict.KeysOf(n), key) }

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
		name := kind
		if i := keyIn(body, "name"); i >= 0 {
			name = body.Content[i+1].Value
		}
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

// newDecoder returns a decoder with the defaults of the language.
func newDecoder(file string, known Known) *decoder {
	w := &Workload{Seed: 1, Engines: map[string]*Engine{}, Keys: Keys{
		Users:    random.Keys{Theta: random.DefaultTheta},
		Folders:  random.Keys{Theta: random.DefaultTheta, Latest: true},
		Messages: random.Keys{Theta: random.DefaultTheta, Latest: true},
	}}
	w.Mail = Mail{
		Body:        random.Lognormal{Median: 6 * strict.KB, P99: 200 * strict.KB},
		Attachments: Attachments{Count: random.Constant{Value: 1}, Size: random.Constant{Value: 0}},
		Recipients:  random.Constant{Value: 1},
	}
	w.Population.Folders = random.Constant{Value: 1}
	origins := map[*yaml.Node]string{}
	return &decoder{strict.Decoder{File: file, Origins: origins}, known, w, &w.Keys}
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
	n := f["population"].Value
	if keys := strict.KeysOf(n); keys != nil && slices.Contains(keys, "rows") != (len(d.w.Patterns) > 0) {
		d.Errs = nil // the names of patterns are unknown for the same reason
		d.Fail(n, "population has rows in a workload of a schema (--schema FILE), and users in one for mail; found %s",
			strings.Join(keys, ", "))
		return nil
	}
	most := MaxOps - NumOps
	few := d.Check(len(d.w.Patterns) <= most, root, "patterns has %d; expected up to %d", len(d.w.Patterns), most)
	if _, ok := f["phases"]; !ok || !few {
		return nil
	}
	faults := len(d.Errs)
	d.phases(f["phases"].Value)
	if e, ok := f["expect"]; ok && len(d.Errs) == faults {
		d.expect(e.Value)
	}
	if len(d.Errs) > 0 {
		return nil
	}
	return f
}

// attachments reads which messages carry files.
func (d *decoder) attachments(_ *key, n *yaml.Node, what string) any {
	a := d.w.Mail.Attachments
	f := d.section(n, what, &a, sectionKeys("attachments"))
	d.Check(a.Share == 0 || f["size"].Value != nil, n,
		"%s has no size; expected a distribution such as {pareto: {min: 20KB, alpha: 1.2, max: 25MB}}", what)
	return a
}

// population reads who has how much mail, or how many rows a schema has.
func (d *decoder) population(_ *key, n *yaml.Node, what string) any {
	p := d.w.Population
	if len(d.w.Patterns) > 0 {
		d.section(n, what, &p, keysOf(p, "patterns"))
		p.Users, p.Messages = 1, random.Constant{Value: strict.Size(p.Rows)}
		d.w.Mail.Body = random.Constant{Value: 0} // of a delivery, which writes row n, only n counts
		return p
	}
	f := d.section(n, what, &p, sectionKeys("population"))
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

// section reads a mapping with these keys into a value of the type that declares them: see fill.
func (d *decoder) section(n *yaml.Node, where string, into any, keys []key) map[string]strict.Entry {
	f := d.Fields(n, where, names(keys))
	d.fill(n, f, where, into, keys)
	return f
}

// fill reads the keys of a mapping at n whose form says how, or that are sections, into the fields of a type of the
// language, and reports keys that are needed and not there. It leaves keys whose value depends on others to its caller.
func (d *decoder) fill(n *yaml.Node, f map[string]strict.Entry, where string, into any, keys []key) {
	v := reflect.ValueOf(into).Elem()
	for _, k := range keys {
		e, ok := f[k.name]
		form, what := forms[k.form], k.in(where)
		switch {
		case ok && form.read != nil:
			if value := reflect.ValueOf(form.read(d, &k, e.Value, what)); value.IsValid() {
				field := v.FieldByIndex(k.field)
				field.SetZero() // a pointer may be that of a phase, which its streams share
				to := made(field)
				to.Set(value.Convert(to.Type()))
			}
		case ok && form.below != "":
			d.section(e.Value, what, made(v.FieldByIndex(k.field)).Addr().Interface(), sectionKeys(form.below))
		case !ok && k.need != "" && n.Kind == yaml.MappingNode:
			d.Fail(n, "%s has no %s; expected %s", where, k.name, k.need)
		}
	}
}

// made is a field, or what it points to, which is made if there is nothing.
func made(field reflect.Value) reflect.Value {
	if field.Kind() != reflect.Pointer {
		return field
	}
	if field.IsNil() {
		field.Set(reflect.New(field.Type().Elem()))
	}
	return field.Elem()
}

// in names the key in messages: population.users, or users of access of phase measure.
func (k *key) in(where string) string {
	switch {
	case where == "the workload":
		return k.name
	case strings.Contains(where, " "):
		return k.name + " of " + where
	}
	return where + "." + k.name
}
