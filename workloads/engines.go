package workloads

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
)

// Engine is what a workload says of one engine: where its nodes are, and which
// settings of its driver differ from their defaults.
type Engine struct {
	Contact  []string // host or host:port; none is the engine's usual port on loopback
	Named    []string // the keys, contact among them, that come from an override and not from a file
	Settings map[string]string
}

// Known are the names of engines and models that there are. Names whose list is nil are not checked.
type Known struct {
	Engines      map[string]EngineWords
	Models       map[string][]*schemas.Parameter
	ExpectModels []string // that expect may have: models and their variants
}

// EngineWords are the keys that a workload may have for one engine.
type EngineWords struct {
	Settings []string // names of its driver's settings, and "contact" if it has nodes
	// Environment are the variables that its secrets come from. Each ends with the name
	// that a setting for it would have, such as PASSWORD.
	Environment []string
	// Check says what is wrong with the value of a setting; nil: no value is checked.
	Check func(setting, value string) error
}

// engines reads the config of each engine.
func (d *decoder) engines(_ *key, n *yaml.Node, what string) any {
	all := map[string]*Engine{}
	for _, e := range d.Mapping(n, what) {
		words, ok := d.known.Engines[e.Name]
		if !ok && d.known.Engines != nil {
			d.Meant(e.Key, slices.Sorted(maps.Keys(d.known.Engines)), "unknown engine %q", e.Name)
		}
		engine := &Engine{Settings: map[string]string{}}
		for _, s := range d.Mapping(e.Value, "engine "+e.Name) {
			if d.Origins[s.Value] != "" { // of an override
				engine.Named = append(engine.Named, s.Name)
			}
			faults := len(d.Errs)
			switch {
			case s.Name == "contact":
				engine.Contact, _ = d.lines(&key{name: s.Name}, s.Value, "contact of engine "+e.Name).([]string)
				d.Check(len(engine.Contact) > 0, s.Value,
					"contact of engine %s names no node; expected addresses such as [10.0.0.1, 10.0.0.2:9042]", e.Name)
			case s.Value.Kind != yaml.ScalarNode || s.Value.ShortTag() == "!!null":
				d.Fail(s.Value, "%s of engine %s must be one value, found %s", s.Name, e.Name, strict.Found(s.Value))
			default:
				engine.Settings[s.Name] = s.Value.Value
			}
			if ok && len(d.Errs) == faults {
				d.setting(s, e.Name, &words)
			}
		}
		all[e.Name] = engine
	}
	return all
}

// setting checks a key of an engine's section, and its value.
func (d *decoder) setting(s strict.Entry, engine string, words *EngineWords) {
	if slices.Contains(words.Settings, s.Name) {
		if words.Check != nil && s.Name != "contact" {
			err := words.Check(s.Name, s.Value.Value)
			d.Check(err == nil, s.Value, "engine %s: %v", engine, err)
		}
		return
	}
	for _, variable := range words.Environment { // to use in place of a setting that is like it
		if strict.Nearest(lastPart(s.Name), []string{lastPart(variable)}) == "" {
			continue
		}
		d.Fail(s.Key, "%s of engine %s must not be in a workload or a flag; set the environment variable %s", s.Name, engine,
			variable)
		at := &d.Errs[len(d.Errs)-1].Pos
		if key, _, overridden := strings.Cut(at.File, "="); overridden {
			at.File = key + `=…"` // nor is it shown in a message
		}
		return
	}
	d.Meant(s.Key, words.Settings, "unknown setting %q of engine %s", s.Name, engine)
}

// lastPart is the part after the last _: password for MAILBENCH_CASSANDRA_PASSWORD.
func lastPart(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, '_')+1:]) }

// CheckContact says what is wrong with the address of a node, which is a host,
// or a host and a port.
func CheckContact(s string) error {
	if strings.Contains(s, "@") {
		return errors.New("an address has no user and no password; set them in the environment")
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port, err = net.SplitHostPort(s + ":1") // of a host alone
	}
	if err != nil {
		host, port = s, "1" // an IPv6 address without brackets
	}
	if _, err := netip.ParseAddr(host); err != nil && (host == "" || strings.ContainsAny(host, ":[]/, \t")) {
		return fmt.Errorf("%q is not an address; expected host or host:port", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q has the port %q; expected a number from 1 to 65535", s, port)
	}
	return nil
}

// models reads the parameters of each model. Of a parameter with words the value is the place of its word, from 1.
func (d *decoder) models(_ *key, n *yaml.Node, what string) any {
	all := map[string]map[string]int{}
	for _, e := range d.Mapping(n, what) {
		base, _, _ := strings.Cut(e.Name, "@")
		parameters, ok := d.known.Models[base]
		if !ok && d.known.Models != nil {
			d.Meant(e.Key, slices.Sorted(maps.Keys(d.known.Models)), "unknown model %q", e.Name)
		}
		values := map[string]int{}
		for _, v := range d.Mapping(e.Value, "model "+e.Name) {
			at := slices.IndexFunc(parameters, func(p *schemas.Parameter) bool { return p.Name == v.Name })
			switch {
			case v.Value.Kind != yaml.ScalarNode:
				d.Fail(v.Value, "models.%s.%s must be a number, a size such as 128KiB or a word, found %s", e.Name, v.Name,
					strict.Found(v.Value))
			case !ok: // a word has no place then
				if size, err := strict.ParseSize(v.Value.Value); err == nil {
					values[v.Name] = int(size)
				}
			case at < 0:
				d.Meant(v.Key, schemas.Names(parameters), "unknown parameter %q of model %s", v.Name, e.Name)
			default:
				value, err := parameters[at].Parse(v.Value.Value)
				d.Check(err == nil, v.Value, "models.%s.%v", e.Name, err)
				values[v.Name] = value
			}
		}
		all[e.Name] = values
	}
	return all
}

// ValuesOf are the parameters that the workload sets for a model: those of a variant, and of its
// model where the variant has none of its own.
func (w *Workload) ValuesOf(model string) map[string]int {
	values := map[string]int{}
	base, _, _ := strings.Cut(model, "@")
	for _, name := range []string{base, model} {
		maps.Copy(values, w.Models[name])
	}
	return values
}
