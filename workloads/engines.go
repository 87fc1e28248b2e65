package workloads

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
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
	d.w.Engines = map[string]*Engine{}
	section, ok := root["engines"]
	if !ok {
		return
	}
	for _, e := range d.Mapping(section.Value, "engines") {
		engine := &Engine{Settings: map[string]string{}, name: d.word(e.Key)}
		for _, s := range d.Mapping(e.Value, "engine "+e.Name) {
			engine.words = append(engine.words, d.word(s.Key))
			if s.Value.Line < 0 { // nodes of overrides have such lines
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
	at := &strict.Error{File: d.File, Pos: d.At(n)}
	d.places = append(d.places, at)
	return word{n.Value, at}
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
		return errors.New("an address holds no user and no password; those come from the environment")
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
		return w.fault("", "engine %s runs in this process; there is no node to contact", engine)
	}
	if v := w.variable(words.Environment); v != "" {
		f := w.fault("", "%s of engine %s must not be in a workload or a flag; set the environment variable %s", w.text,
			engine, v)
		if key, _, overridden := strings.Cut(f.File, "="); overridden {
			f.File = key + `=…"` // nor is it shown in a message
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

// lastPart is the part behind the last _: password for MAILBENCH_CASSANDRA_PASSWORD.
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
