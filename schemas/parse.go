package schemas

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var schemaKeys = []string{
	"schema", "name", "doc", "native", "types", "parameters", "other", "tables", "patterns", "variants may add",
	"workflow",
}

// parser holds what is known while one file is read.
type parser struct {
	strict.Decoder
	schema *Schema
	broken map[*Table]bool // tables with faults: patterns and joins of them are not checked
	types  []string        // the names of the types that the file defines
	lax    bool            // any name can be that of a type
	frozen bool            // inside frozen, tuple or vector, where elements of collections can be collections
	values map[string]int  // values of parameters, in place of their defaults
}

// Parse reads a schema file; file is its name in messages. The error, if there
// is one, is of type [Errors] and holds every fault that was found. The base of a
// variant is a schema that mailbench brings along.
func Parse(file string, src []byte) (*Schema, error) { return ParseWith(file, src, Bundled) }

// ParseWith is Parse of a file that may be a variant of other schemas: find returns
// the schema that "variant of" names.
func ParseWith(file string, src []byte, find func(name string) (*Schema, error)) (*Schema, error) {
	return parse(file, src, find, nil)
}

// parse reads a schema file with these values of parameters.
func parse(
	file string, src []byte, find func(name string) (*Schema, error), values map[string]int,
) (*Schema, error) {
	p := &parser{
		Decoder: strict.Decoder{File: file},
		schema:  &Schema{File: file, Source: src},
		broken:  make(map[*Table]bool),
		values:  values,
	}
	if root := p.Document(src, "a schema (schema, name, tables, patterns)"); root != nil {
		if of := variantOf(root); of != nil {
			p.variant(root, of, find)
		} else {
			p.parse(root)
		}
	}
	if err := p.Errs.Sorted(); err != nil {
		return nil, err
	}
	return p.schema, nil
}

func (p *parser) parse(root *yaml.Node) {
	f := p.section(root, "the schema", schemaKeys...)
	if root.Kind != yaml.MappingNode {
		return
	}
	for _, need := range [][2]string{
		{"schema", `"schema: 1", the version of the language`}, {"name", "the name of the schema"},
		{"tables", "the tables of the schema"},
	} {
		if !f.has(need[0]) {
			p.Fail(root, "no key %q; expected %s", need[0], need[1])
		}
	}
	if n := f.at("schema"); f.has("schema") && (n.ShortTag() != "!!int" || n.Value != "1") {
		p.Fail(n, "schema must be 1, the version of the language, found %s", strict.Found(n))
	}
	if n := f.at("name"); f.has("name") {
		if name, ok := p.Text(n, "the name of a schema"); ok && p.checkName(n, name, "schema") {
			p.schema.Name = name
		}
	}
	p.schema.Doc = f.text("doc")
	if p.schema.Native = f.text("native"); p.schema.Native != "" {
		p.engine(f.at("native"), p.schema.Native, "in native")
	}
	p.schema.Other = f.other()
	p.userTypes(f.entries("types"))
	p.parameters(f.entries("parameters"))
	p.tables(f)
	p.patterns(f.entries("patterns"))
	p.schema.Additions = f.words("variants may add", "pattern", nil)
	p.workflow(f.entries("workflow"))
}

// maxName is how many characters of a name every engine takes (Cassandra: 48).
const maxName = 48

var (
	nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
	// variantForm is the name of a variant: its base, @ and a word.
	variantForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// checkName reports a name that cannot be given to a schema, table, column, index or pattern.
func (p *parser) checkName(n *yaml.Node, s, what string) bool {
	form := nameForm
	if what == "schema" && strings.Contains(s, "@") {
		form = variantForm
	}
	if form.MatchString(s) && len(s) <= maxName {
		return true
	}
	p.Fail(n, "%s name %q must be a letter, then letters, digits, _ . or -, %d characters at most", what, s, maxName)
	return false
}

// engine records an engine that the file names. CheckEngines checks the name later.
func (p *parser) engine(n *yaml.Node, name, where string) {
	p.schema.engines = append(p.schema.engines, engineName{name, where, &yaml.Node{Line: n.Line, Column: n.Column}})
}

// workflow reads which access pattern uses what another one yields.
func (p *parser) workflow(entries []strict.Entry) {
	for _, e := range entries {
		s := Step{Pattern: p.read(e.Key, e.Name, "in workflow")}
		for _, next := range p.List(e.Value, "workflow of "+e.Name) {
			name, ok := p.Text(next, "a pattern in workflow of "+e.Name)
			if !ok {
				continue
			}
			q := p.read(next, name, "in workflow of "+e.Name)
			switch {
			case q == nil || s.Pattern == nil:
			case slices.Contains(s.Next, q):
				p.Fail(next, "duplicate pattern %q in workflow of %s", name, e.Name)
			case p.schema.leads(q, s.Pattern):
				p.Fail(next, "workflow: %s leads back to %s; expected no cycle through %s", name, e.Name, e.Name)
			default:
				s.Next = append(s.Next, q)
			}
		}
		if s.Pattern != nil {
			p.schema.Workflow = append(p.schema.Workflow, s)
		}
	}
}

// read finds a pattern that yields rows.
func (p *parser) read(n *yaml.Node, name, where string) *Pattern {
	if q := p.schema.Pattern(name); q != nil && !q.Kind.Reads() {
		p.Fail(n, "%s is %s, which yields no rows; a workflow has patterns of the kinds get, slice and scan", name, a(q.Kind))
		return nil
	}
	reads := slices.DeleteFunc(slices.Clone(p.schema.Patterns), func(q *Pattern) bool { return !q.Kind.Reads() })
	return pick(p, n, "pattern", name, where, reads)
}

// leads reports whether the workflow goes from one pattern to the other, or both
// are the same.
func (s *Schema) leads(from, to *Pattern) bool {
	reached := []*Pattern{from}
	for i := 0; i < len(reached); i++ {
		if reached[i] == to {
			return true
		}
		for _, step := range s.Workflow {
			if step.Pattern != reached[i] {
				continue
			}
			for _, q := range step.Next {
				if !slices.Contains(reached, q) {
					reached = append(reached, q)
				}
			}
		}
	}
	return false
}
