package schemas

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Parameter is a number of a schema that the user of its model may choose, such as how many
// bytes a chunk has, or one of several words. All that depends on it refers to it by name: the pieces
// and the most of rows, parallel of a pattern, and the model's code (drivers.Prepared.Parameter).
type Parameter struct {
	Name, Doc   string
	Size        bool     // bytes; it is written as a size
	Words       []string // its value is the number of one of these, from 1 on; nil: any number
	Value       int      // the default, unless With has set another
	Least, Most int
	Source      *yaml.Node // what the file says, for Format
}

// Text writes a value of the parameter as workloads do: 1MiB, 10000, fs-local.
func (q *Parameter) Text(value int) string {
	if value >= 1 && value <= len(q.Words) {
		return q.Words[value-1]
	}
	if q.Size {
		return strict.Size(value).String()
	}
	return fmt.Sprint(value)
}

// Parse reads a value as Text writes it.
func (q *Parameter) Parse(text string) (int, error) {
	if len(q.Words) > 0 {
		at := slices.Index(q.Words, text)
		if at < 0 {
			return 0, fmt.Errorf("%s: %w", q.Name, strict.Unknown("word", text, q.Words...))
		}
		return at + 1, nil
	}
	size, err := strict.ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", q.Name, err)
	}
	return int(size), q.Check(int(size))
}

// Check returns an error that says what a value must be.
func (q *Parameter) Check(value int) error {
	if value < q.Least || value > q.Most {
		return fmt.Errorf("%s must be from %s to %s, found %s", q.Name, q.Text(q.Least), q.Text(q.Most), q.Text(value))
	}
	return nil
}

// Parameter returns the parameter of that name, or nil.
func (s *Schema) Parameter(name string) *Parameter { return find(s.Parameters, name) }

// Values are the values of all parameters; nil if there are none.
func (s *Schema) Values() map[string]int {
	if len(s.Parameters) == 0 {
		return nil
	}
	values := make(map[string]int, len(s.Parameters))
	for _, q := range s.Parameters {
		values[q.Name] = q.Value
	}
	return values
}

// With returns the schema with other values of parameters. Its text stays that of the file. The
// error says which parameter there is not, or what is wrong with a value.
func (s *Schema) With(values map[string]int) (*Schema, error) {
	if len(values) == 0 {
		return s, nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q := s.Parameter(name)
		if q == nil {
			return nil, strict.Unknown("parameter of "+s.Name, name, Names(s.Parameters)...)
		}
		if err := q.Check(values[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return parse(strict.Decoder{File: s.File, Stored: true}, s.Source, Bundled, values)
}

var (
	parameterForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	wordForm      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,47}$`)
)

// parameters reads the parameters of a schema.
func (p *parser) parameters(entries []strict.Entry) {
	for _, e := range entries {
		where := "parameter " + e.Name
		if !p.Check(parameterForm.MatchString(e.Name), e.Key,
			"%s: a name must be a small letter, then small letters, digits or _, 48 characters at most", where) {
			continue
		}
		f := p.section(e.Value, where, "default", "min", "max", "enum", "description")
		q := &Parameter{Name: e.Name, Doc: f.text("description"), Source: e.Value}
		if f.has("enum") && !q.words(f) || !f.has("enum") && !q.numbers(f, e.Key) {
			continue
		}
		if v, ok := p.values[q.Name]; ok { // that With has set
			q.Value, f.at("default").Value, f.at("default").Tag = v, q.Text(v), ""
		}
		p.schema.Parameters = append(p.schema.Parameters, q)
	}
}

// words reads {default: WORD, enum: [WORD, …]}. It reports whether the default is one of the words.
func (q *Parameter) words(f section) bool {
	f.list("enum", "a word", func(n *yaml.Node, word string) {
		f.Check(wordForm.MatchString(word) && !slices.Contains(q.Words, word), n,
			"enum of %s: each must begin with a letter, contain only lower-case letters, digits or -, and be unique", f.where)
		q.Words = append(q.Words, word)
	})
	q.Value, q.Least, q.Most = slices.Index(q.Words, f.text("default"))+1, 1, len(q.Words)
	return f.rule(q.Value > 0 && !f.has("min") && !f.has("max"), f.at("enum"),
		"expected {default: …, enum: […], description: …}, with the default among the words")
}

// numbers reads {default: NUMBER, min: NUMBER, max: NUMBER}. It reports whether there are three.
func (q *Parameter) numbers(f section, at *yaml.Node) bool {
	before := len(f.Errs)
	for i, to := range []*int{&q.Value, &q.Least, &q.Most} {
		key := []string{"default", "min", "max"}[i]
		n := f.at(key)
		size, err := strict.ParseSize(n.Value)
		if f.rule(f.has(key), at, "no key %q; expected {default: …, min: …, max: …, description: …}", key) &&
			f.Check(err == nil && n.Kind == yaml.ScalarNode && size > 0 && size < 1<<31, n,
				"%s of %s must be a number from 1 up, or a size such as 128KiB, found %s", key, f.where, strict.Found(n)) {
			*to, q.Size = int(size), q.Size || n.ShortTag() == "!!str"
		}
	}
	if len(f.Errs) > before {
		return false
	}
	err := q.Check(q.Value)
	f.Check(err == nil, f.at("default"), "default of %s: %v", f.where, err)
	return true
}
