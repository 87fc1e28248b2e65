// Package describe shows a model, or a schema file, as a mail architect wants to read it: its
// tables, its access patterns and what they become on each engine. As text and as JSON.
package describe

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
)

// Model is what there is to say of one model. Its JSON has what the text says, and the calls of engines.
type (
	Model struct {
		Name     string    `json:"name"`
		Doc      string    `json:"description"`
		Native   string    `json:"native,omitempty"` // the engine that its document was written for
		Tables   []Table   `json:"tables"`
		Patterns []Pattern `json:"patterns"`

		Parameters []Parameter `json:"parameters,omitempty"`
	}
	Parameter struct {
		Name  string   `json:"name"`
		Value string   `json:"value"`
		Least string   `json:"min"`
		Most  string   `json:"max"`
		Words []string `json:"enum,omitempty"` // it is one of these
		Doc   string   `json:"description"`
	}
	Table struct {
		Name       string                       `json:"name"`
		Parent     string                       `json:"parent,omitempty"` // the table that it is nested in
		Doc        string                       `json:"description,omitempty"`
		Addition   string                       `json:"addition,omitempty"` // why the table is not in the source design
		Partition  []Column                     `json:"partition"`
		Clustering []Column                     `json:"clustering,omitempty"`
		Static     []Column                     `json:"static,omitempty"`
		Columns    []Column                     `json:"columns,omitempty"`
		Indexes    []Index                      `json:"indexes,omitempty"`
		Settings   map[string]map[string]string `json:"settings,omitempty"` // engine → name → value
	}
	Column struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Desc     bool   `json:"descending,omitempty"`
		Addition string `json:"addition,omitempty"`
	}
	Index struct {
		Name     string   `json:"name"`
		Columns  []Column `json:"columns"`
		Addition string   `json:"addition,omitempty"`
	}
	Pattern struct {
		Name     string   `json:"name"`
		Label    string   `json:"label,omitempty"` // Q1, Q2 … in the workflow of reads
		Doc      string   `json:"description,omitempty"`
		Request  string   `json:"asks"`
		Addition string   `json:"addition,omitempty"`
		Engines  []Engine `json:"engines"`
	}
	Engine struct {
		Engine  string   `json:"engine"`
		Runs    string   `json:"runs,omitempty"`    // the pattern or its fallback; "": the engine can run neither
		Refused string   `json:"refused,omitempty"` // why it does not run the pattern itself
		Calls   []string `json:"calls,omitempty"`
	}
)

// Make describes a schema on the engines.
func Make(s *schemas.Schema, engines []drivers.Engine) (*Model, error) {
	m := &Model{Name: s.Name, Doc: s.Doc, Native: s.Native}
	for _, q := range s.Parameters {
		m.Parameters = append(m.Parameters,
			Parameter{q.Name, q.Text(q.Value), q.Text(q.Least), q.Text(q.Most), q.Words, q.Doc})
	}
	for _, t := range s.Tables {
		m.Tables = append(m.Tables, describeTable(t))
	}
	labels := make(map[*schemas.Pattern]string)
	if len(s.Workflow) > 0 {
		for _, q := range diagram.Queries(s) {
			labels[q.Pattern] = q.Label
		}
	}
	for _, p := range s.Patterns {
		m.Patterns = append(m.Patterns, Pattern{
			Name: p.Name, Label: labels[p], Doc: p.Doc, Request: diagram.Request(p), Addition: p.Addition,
		})
	}
	for _, e := range engines {
		compile, err := e.Compile(s, drivers.Options{})
		for i := 0; i < len(s.Patterns) && err == nil; i++ {
			var x drivers.Explanation
			x, err = compile.Explain(s.Patterns[i])
			on := Engine{Engine: e.Name, Calls: x.Calls}
			if x.Runs != nil {
				on.Runs = x.Runs.Name
			}
			if x.Refused != nil {
				on.Refused = x.Refused.Error()
			}
			m.Patterns[i].Engines = append(m.Patterns[i].Engines, on)
		}
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", e.Name, err)
		}
	}
	return m, nil
}

func describeTable(t *schemas.Table) Table {
	one := Table{
		Name: t.Name, Doc: t.Doc, Addition: t.Addition, Settings: t.Hints,
		Partition: describeColumns(t.Partition), Clustering: describeColumns(t.Clustering),
		Static: describeColumns(t.Static), Columns: describeColumns(t.Columns),
	}
	if t.Parent != nil {
		one.Parent = t.Parent.Name
	}
	for _, x := range t.Indexes {
		index := Index{Name: x.Name, Addition: x.Addition}
		for _, c := range x.Columns {
			index.Columns = append(index.Columns, Column{Name: c.Column.Name, Desc: c.Desc})
		}
		one.Indexes = append(one.Indexes, index)
	}
	return one
}

func describeColumns(cs []*schemas.Column) (all []Column) {
	for _, c := range cs {
		all = append(all, Column{c.Name, c.Type.String(), c.Desc, c.Addition})
	}
	return all
}

// text writes the description of one model.
type text struct {
	io.Writer
	width int
}

// WriteText writes the description in lines of at most width columns. Name is what the user calls
// the model: its name, or the file of its schema. It shows the calls of engines if calls is set. If
// not, it only shows which patterns an engine cannot run as they are.
func (m *Model) WriteText(w io.Writer, name string, calls bool, width int) error {
	d := text{w, width}
	d.say("", m.Name+": "+m.Doc)
	if m.Native != "" {
		d.say("", "Target engine: "+m.Native)
	}
	d.say("", "Diagram: mailbench schema diagram "+name+" -o "+m.Name+".svg")
	fmt.Fprintln(d, "\nTABLES")
	for i := range m.Tables {
		d.table(&m.Tables[i])
	}
	if len(m.Parameters) > 0 {
		fmt.Fprintln(d, "\nPARAMETERS")
	}
	for _, q := range m.Parameters {
		choice := q.Least + " to " + q.Most
		if len(q.Words) > 0 {
			choice = strings.Join(q.Words, ", ")
		}
		d.say("  ", fmt.Sprintf("models.%s.%s: %s (%s); %s", cmp.Or(schemas.BaseOf(m.Name), m.Name), q.Name, q.Value, choice,
			q.Doc))
	}
	fmt.Fprintln(d, "\nACCESS PATTERNS")
	for i := range m.Patterns {
		d.pattern(&m.Patterns[i], calls)
	}
	_, err := fmt.Fprintln(d)
	return err
}

func (d text) table(t *Table) {
	head := t.Name
	if t.Parent != "" {
		head += ", nested in " + t.Parent
	}
	fmt.Fprintf(d, "\n  %s\n", head)
	d.say("    ", t.Doc)
	d.field("extension", t.Addition)
	d.field("partition", columnWords(t.Partition))
	d.field("clustering", columnWords(t.Clustering))
	d.field("static", columnWords(t.Static))
	d.field("columns", columnWords(t.Columns))
	for _, x := range t.Indexes {
		d.field("index", x.Name+": "+columnWords(x.Columns))
		d.field("extension", x.Addition)
	}
	for _, c := range slices.Concat(t.Static, t.Columns) {
		if c.Addition != "" {
			d.field("extension", c.Name+": "+c.Addition)
		}
	}
	for _, engine := range slices.Sorted(maps.Keys(t.Settings)) {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(t.Settings[engine])) {
			parts = append(parts, name+" "+t.Settings[engine][name])
		}
		d.field(engine, strings.Join(parts, ", "))
	}
}

func columnWords(cs []Column) string {
	var parts []string
	for _, c := range cs {
		part := strings.TrimSuffix(c.Name+" "+c.Type, " ")
		if c.Desc {
			part += " desc"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (d text) pattern(p *Pattern, calls bool) {
	fmt.Fprintf(d, "\n  %s\n", strings.TrimPrefix(p.Label+" "+p.Name, " "))
	d.say("    ", p.Doc)
	d.field("request", p.Request)
	d.field("extension", p.Addition)
	for _, e := range p.Engines {
		switch {
		case e.Runs == "":
			d.field(e.Engine, "cannot run it: "+e.Refused)
		case e.Refused != "":
			d.field(e.Engine, "runs "+e.Runs+" instead")
		}
		if calls && e.Runs != "" {
			for _, call := range e.Calls {
				d.field(e.Engine, call)
			}
		}
	}
}

// field prints a named text, or nothing if it is empty.
func (d text) field(name, text string) { d.say(fmt.Sprintf("    %-10s  ", name), text) }

// say prints a text after lead, or nothing if it is empty. Further lines begin below the first word.
func (d text) say(lead, text string) {
	if text == "" {
		return
	}
	for _, line := range words.Wrap(lead, text, utf8.RuneCountInString(lead), d.width) {
		fmt.Fprintln(d, line)
	}
}

// Requests writes the requests that a compiler makes of each pattern.
func Requests(w io.Writer, compile drivers.Compiler, patterns []*schemas.Pattern) error {
	for i, p := range patterns {
		x, err := compile.Explain(p)
		if err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", p.Name, p.Doc)
		if x.Refused != nil {
			fmt.Fprintf(w, "  not run: %v\n", x.Refused)
			if x.Runs != nil {
				fmt.Fprintf(w, "  instead runs %s:\n", x.Runs.Name)
			}
		}
		for _, call := range x.Calls {
			fmt.Fprintf(w, "  %s\n", call)
		}
	}
	return nil
}
