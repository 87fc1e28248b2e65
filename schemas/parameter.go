package schemas

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Parameter is a number of a schema that the user of its model may choose, such as how many
// bytes a chunk has, or one of several words. What depends on it refers to it by name: the pieces
// and the most of rows, parallel of a pattern, and the model's code (drivers.Prepared.Parameter).
type Parameter struct {
	Name, Doc   string
	Size        bool     // bytes; it is written as a size
	Words       []string // its value is the number of one of these, from 1 on; nil: any number
	Value       int      // the default, unless With has set another
	Least, Most int
	Pos         Pos
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

// Check returns an error that says what a value must be.
func (q *Parameter) Check(value int) error {
	if len(q.Words) > 0 && (value < 1 || value > len(q.Words)) {
		return fmt.Errorf("%s must be one of %s", q.Name, strings.Join(q.Words, ", "))
	}
	if value < q.Least || value > q.Most {
		return fmt.Errorf("%s must be from %s to %s, found %s", q.Name, q.Text(q.Least), q.Text(q.Most), q.Text(value))
	}
	return nil
}

// Parameter returns the parameter of that name, or nil.
func (s *Schema) Parameter(name string) *Parameter {
	for _, q := range s.Parameters {
		if q.Name == name {
			return q
		}
	}
	return nil
}

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
			var known []string
			for _, q := range s.Parameters {
				known = append(known, q.Name)
			}
			return nil, strict.Unknown("parameter of "+s.Name, name, known...)
		}
		if err := q.Check(values[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return parse(s.File, s.Source, Bundled, values)
}

var (
	parameterForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	wordForm      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,47}$`)
)

// parameters reads the parameters of a schema.
func (p *parser) parameters(n *yaml.Node) {
	for _, e := range p.Mapping(n, "parameters") {
		where := "parameter " + e.Name
		if !parameterForm.MatchString(e.Name) {
			p.Fail(e.Key, "%s: a name must be a small letter, then small letters, digits or _, 48 characters at most", where)
			continue
		}
		f := p.Fields(e.Value, where, []string{"default", "least", "most", "words", "doc"})
		q := &Parameter{Name: e.Name, Doc: p.TextOf(f, "doc", where), Pos: p.At(e.Key)}
		if words, ok := f["words"]; ok {
			p.wordParameter(q, f, words.Value)
			continue
		}
		whole := true
		for _, number := range []struct {
			key string
			to  *int
		}{{"default", &q.Value}, {"least", &q.Least}, {"most", &q.Most}} {
			v, ok := f[number.key]
			if !ok {
				p.Fail(e.Key, "%s: no key %q; expected {default: …, least: …, most: …, doc: …}", where, number.key)
				whole = false
				continue
			}
			size, err := strict.ParseSize(v.Value.Value)
			if err != nil || v.Value.Kind != yaml.ScalarNode || size < 1 || size > 1<<31-1 {
				p.Fail(v.Value, "%s of %s must be a number from 1 up, or a size such as 128KiB, found %s", number.key,
					where, strict.Found(v.Value))
				whole = false
				continue
			}
			*number.to = int(size)
			q.Size = q.Size || v.Value.ShortTag() == "!!str"
		}
		if !whole {
			continue
		}
		if err := q.Check(q.Value); err != nil {
			p.Fail(f["default"].Value, "default of %s: %v", where, err)
		}
		p.add(q)
	}
}

// add adds a parameter with the value that With has set.
func (p *parser) add(q *Parameter) {
	if v, ok := p.values[q.Name]; ok {
		q.Value = v
	}
	p.schema.Parameters = append(p.schema.Parameters, q)
}

// wordParameter reads a parameter whose value is one of several words.
func (p *parser) wordParameter(q *Parameter, f map[string]strict.Entry, words *yaml.Node) {
	where := "parameter " + q.Name
	word := p.TextOf(f, "default", where)
	for _, n := range p.List(words, "words of "+where) {
		if !wordForm.MatchString(n.Value) || slices.Contains(q.Words, n.Value) {
			p.Fail(n, "words of %s: each must begin with a letter, contain only lower-case letters, digits or -, and be unique", where)
		}
		q.Words = append(q.Words, n.Value)
	}
	q.Value, q.Least, q.Most = slices.Index(q.Words, word)+1, 1, len(q.Words)
	_, least := f["least"]
	_, most := f["most"]
	if q.Value == 0 || least || most {
		p.Fail(words, "%s: expected {default: …, words: […], doc: …}, with the default among the words", where)
		return
	}
	p.add(q)
}

// number reads a number from 1 up, or the name of a parameter, which it returns too.
func (p *parser) number(n *yaml.Node, what string) (int, *Parameter) {
	if len(p.schema.Parameters) == 0 || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return p.Count(n, what), nil
	}
	if q := p.schema.Parameter(n.Value); q != nil {
		return q.Value, q
	}
	var known []string
	for _, q := range p.schema.Parameters {
		known = append(known, q.Name)
	}
	p.Unknown(n, "parameter", n.Value, "in "+what, known)
	return 0, nil
}

// number adds a number, or the name of the parameter that it comes from.
func (b *block) number(key string, n int, by *Parameter) {
	if by != nil {
		b.text(key, by.Name)
		return
	}
	b.count(key, n)
}

// parameters adds the parameters of a schema, unless there are none.
func (b *block) parameters(all []*Parameter) {
	if len(all) == 0 {
		return
	}
	section := newBlock()
	for _, q := range all {
		one := newBlock()
		one.Style = yaml.FlowStyle
		if len(q.Words) > 0 {
			one.text("default", q.Text(q.Value))
			one.add("words", textList(q.Words))
			one.text("doc", q.Doc)
			section.add(q.Name, one.node())
			continue
		}
		for _, number := range []struct {
			key   string
			value int
		}{{"default", q.Value}, {"least", q.Least}, {"most", q.Most}} {
			if text := q.Text(number.value); q.Size && text != fmt.Sprint(number.value) {
				one.text(number.key, text)
			} else {
				one.count(number.key, number.value)
			}
		}
		one.text("doc", q.Doc)
		section.add(q.Name, one.node())
	}
	b.add("parameters", section.node())
}
