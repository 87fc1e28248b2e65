package workloads

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/random"
)

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
