package workloads

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

// Engine is what a workload says of one engine: where its nodes are, and which
// settings of its driver differ from their defaults.
type Engine struct {
	Contact  []string // host or host:port; none is the engine's usual port on loopback
	Named    []string // the keys, contact among them, that come from an override and not from a file
	Settings map[string]string

	name  word
	words []word // its keys
}

// word is a word of the file that only CheckEngines can check.
type word struct {
	text string
	at   *strict.Error // its place
}

func (w word) fault(near string, format string, args ...any) *strict.Error {
	return &strict.Error{File: w.at.File, Pos: w.at.Pos, Msg: fmt.Sprintf(format, args...), Near: near}
}

const contactKey = "contact"

// engines reads the config of each engine. Names of engines and settings are
// left to CheckEngines.
func (d *decoder) engines(root map[string]strict.Entry) {
	section, ok := root["engines"]
	if !ok {
		return
	}
	for _, e := range d.Mapping(section.Value, "engines") {
		engine := &Engine{Settings: map[string]string{}, name: d.word(e.Key)}
		for _, s := range d.Mapping(e.Value, "engine "+e.Name) {
			engine.words = append(engine.words, d.word(s.Key))
			if d.Origins[s.Value] != "" { // of an override
				engine.Named = append(engine.Named, s.Name)
			}
			switch {
			case s.Name == contactKey:
				engine.Contact = d.contact(s.Value, e.Name)
			case s.Value.Kind != yaml.ScalarNode || s.Value.ShortTag() == "!!null":
				d.Fail(s.Value, "%s of engine %s must be one value, found %s", s.Name, e.Name, strict.Found(s.Value))
			default:
				engine.Settings[s.Name] = s.Value.Value
			}
		}
		d.w.Engines[e.Name] = engine
	}
}

func (d *decoder) word(n *yaml.Node) word {
	return word{n.Value, &strict.Error{File: d.File, Pos: d.At(n)}}
}

func (d *decoder) contact(n *yaml.Node, engine string) []string {
	var hosts []string
	for _, item := range d.List(n, "contact of engine "+engine) {
		host, ok := d.Text(item, "a contact of engine "+engine)
		if !ok {
			continue
		}
		if err := CheckContact(host); err != nil {
			d.Fail(item, "contact of engine %s: %s", engine, err)
		}
		hosts = append(hosts, host)
	}
	if len(hosts) == 0 {
		d.Fail(n, "contact of engine %s names no node; expected addresses such as [10.0.0.1, 10.0.0.2:9042]", engine)
	}
	return hosts
}

// CheckContact says what is wrong with the address of a node, which is a host,
// or a host and a port.
func CheckContact(s string) error {
	if strings.Contains(s, "@") {
		return errors.New("an address has no user and no password; set them in the environment")
	}
	host, port := s, ""
	bare := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		bare = s[1 : len(s)-1]
	}
	_, noIP := netip.ParseAddr(bare)
	if noIP != nil && strings.Contains(s, ":") {
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return fmt.Errorf("%q is not an address; expected host or host:port", s)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%q has the port %q; expected a number from 1 to 65535", s, port)
		}
	}
	if host == "" || strings.ContainsAny(host, "/, \t") || noIP != nil && strings.ContainsAny(host, "[]") {
		return fmt.Errorf("%q is not an address; expected host or host:port", s)
	}
	return nil
}

// EngineWords are the keys that a workload may have for one engine.
type EngineWords struct {
	Remote   bool     // it has nodes to contact
	Settings []string // names of its driver's settings
	// Environment are the variables that its secrets come from. Each ends with the name
	// that a setting for it would have, such as PASSWORD.
	Environment []string
}

// CheckEngines compares the names of engines and settings with those that there
// are, by engine. The error is of type [strict.Errors].
func (w *Workload) CheckEngines(known map[string]EngineWords) error {
	var faults strict.Errors
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for name, e := range w.Engines {
		words, ok := known[name]
		if !ok {
			faults = append(faults, e.name.unknown(fmt.Sprintf("unknown engine %q", name), names))
			continue
		}
		for _, s := range e.words {
			if f := s.check(name, &words); f != nil {
				faults = append(faults, f)
			}
		}
	}
	if len(faults) == 0 && w.Sweep != nil {
		for _, p := range w.Sweep.Points {
			if err := p.Workload.CheckEngines(known); err != nil {
				return err
			}
		}
	}
	return faults.Sorted()
}

// check returns what is wrong with a key of an engine's section, or nil.
func (w word) check(engine string, words *EngineWords) *strict.Error {
	switch {
	case w.text == contactKey && words.Remote, slices.Contains(words.Settings, w.text):
		return nil
	case w.text == contactKey:
		return w.fault("", "engine %s runs in this process and has no node to contact", engine)
	}
	if v := w.variable(words.Environment); v != "" {
		f := w.fault("", "%s of engine %s must not be in a workload or a flag; set the environment variable %s", w.text,
			engine, v)
		if key, _, overridden := strings.Cut(f.Pos.File, "="); overridden {
			f.Pos.File = key + `=…"` // nor is it shown in a message
		}
		return f
	}
	expected := words.Settings
	if words.Remote {
		expected = append([]string{contactKey}, expected...)
	}
	return w.unknown(fmt.Sprintf("unknown setting %q of engine %s", w.text, engine), expected)
}

// variable is the environment variable to use in place of a setting; "": none is like it.
func (w word) variable(environment []string) string {
	known := make([]string, len(environment))
	for i, v := range environment {
		known[i] = lastPart(v)
	}
	if i := slices.Index(known, strict.Nearest(lastPart(w.text), known)); i >= 0 {
		return environment[i]
	}
	return ""
}

// lastPart is the part after the last _: password for MAILBENCH_CASSANDRA_PASSWORD.
func lastPart(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, '_')+1:]) }

func (w word) unknown(msg string, known []string) *strict.Error {
	f := w.fault(strict.Nearest(w.text, known), "%s", msg)
	switch {
	case f.Near != "":
	case len(known) == 0:
		f.Msg += "; it has none"
	default:
		f.Msg += "; expected one of " + strings.Join(known, ", ")
	}
	return f
}

// Model is what a workload says of one model: values of the parameters that its schema declares.
type Model struct {
	Values map[string]int // of a parameter with words, once CheckModels has found its word

	name  word
	words []word // its keys
	at    []word // its values
}

// models reads the parameters of each model. Their names and bounds are left to CheckModels.
func (d *decoder) models(root map[string]strict.Entry) {
	section, ok := root["models"]
	if !ok {
		return
	}
	d.w.Models = map[string]*Model{}
	for _, e := range d.Mapping(section.Value, "models") {
		m := &Model{Values: map[string]int{}, name: d.word(e.Key)}
		for _, v := range d.Mapping(e.Value, "model "+e.Name) {
			size, err := random.ParseSize(v.Value.Value)
			number := err == nil
			if v.Value.Kind != yaml.ScalarNode || !number && !parameterWord.MatchString(v.Value.Value) {
				d.Fail(v.Value, "models.%s.%s must be a number, a size such as 128KiB or a word, found %s", e.Name, v.Name,
					strict.Found(v.Value))
				continue
			}
			if number {
				m.Values[v.Name] = int(size)
			}
			m.words, m.at = append(m.words, d.word(v.Key)), append(m.at, d.word(v.Value))
		}
		d.w.Models[e.Name] = m
	}
}

const mustBeNumber = "models.%s.%s must be a number, or a size such as 128KiB, found %s"

var parameterWord = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Parameter is one parameter that a model has.
type Parameter struct {
	Name  string
	Check func(value int) error // says what a value must be
	Words []string              // its value is the number of one of these, from 1 on; nil: any number
}

// take finds the value that a model gives to the parameter, whose words are at position i.
func (p *Parameter) take(model string, m *Model, i int) (fault *strict.Error) {
	key, at := m.words[i].text, m.at[i]
	if len(p.Words) > 0 {
		n := slices.Index(p.Words, at.text)
		if n < 0 {
			return at.unknown(fmt.Sprintf("models.%s.%s: unknown word %q", model, key, at.text), p.Words)
		}
		m.Values[key] = n + 1
		return nil
	}
	v, ok := m.Values[key]
	if !ok {
		return at.fault("", mustBeNumber, model, key, strconv.Quote(at.text))
	}
	if err := p.Check(v); err != nil {
		return at.fault("", "models.%s.%v", model, err)
	}
	return nil
}

// CheckModels compares the names of models and parameters with those that there are, and values
// with their bounds. A variant has the parameters of its model. The error is of type
// [strict.Errors].
func (w *Workload) CheckModels(known map[string][]Parameter) error {
	var faults strict.Errors
	for name, m := range w.Models {
		of, ok := known[baseOf(name)]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			faults = append(faults, m.name.unknown(fmt.Sprintf("unknown model %q", name), names))
			continue
		}
		var keys []string
		for _, p := range of {
			keys = append(keys, p.Name)
		}
		for i, key := range m.words {
			at := slices.Index(keys, key.text)
			if at < 0 {
				faults = append(faults, key.unknown(fmt.Sprintf("unknown parameter %q of model %s", key.text, name), keys))
			} else if fault := of[at].take(name, m, i); fault != nil {
				faults = append(faults, fault)
			}
		}
	}
	if len(faults) == 0 && w.Sweep != nil {
		for _, p := range w.Sweep.Points {
			if err := p.Workload.CheckModels(known); err != nil {
				return err
			}
		}
	}
	return faults.Sorted()
}

// ValuesOf are the parameters that the workload sets for a model: those of a variant, and of its
// model where the variant has none of its own.
func (w *Workload) ValuesOf(model string) map[string]int {
	values := map[string]int{}
	for _, name := range []string{baseOf(model), model} {
		if m := w.Models[name]; m != nil {
			maps.Copy(values, m.Values)
		}
	}
	return values
}

// baseOf is the name of the model of a variant, or of a model itself.
func baseOf(name string) string {
	base, _, _ := strings.Cut(name, "@")
	return base
}
