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

// Description is what there is to say of one model.
type Description struct {
	schema  *schemas.Schema
	engines []compiled
	calls   bool
	labels  map[*schemas.Pattern]string
}

type compiled struct {
	engine  string
	compile drivers.Compiler
}

// Make describes a schema on the engines. The text shows the calls of engines if calls is set. If
// not, it only shows which patterns an engine cannot run as they are. JSON always has the calls.
func Make(s *schemas.Schema, engines []drivers.Engine, calls bool) (*Description, error) {
	d := &Description{schema: s, calls: calls, labels: make(map[*schemas.Pattern]string)}
	for _, e := range engines {
		compile, err := e.Compile(s, drivers.Options{})
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", e.Name, err)
		}
		d.engines = append(d.engines, compiled{e.Name, compile})
	}
	if len(s.Workflow) > 0 {
		for _, q := range diagram.Queries(s) {
			d.labels[q.Pattern] = q.Label
		}
	}
	return d, nil
}

// Model is the JSON of a Description: what the text says, and the calls of engines.
type (
	Model struct {
		Name     string    `json:"name"`
		Doc      string    `json:"doc"`
		Native   string    `json:"native,omitempty"` // the engine that its document was written for
		Tables   []Table   `json:"tables"`
		Patterns []Pattern `json:"patterns"`

		Parameters []Parameter `json:"parameters,omitempty"`
	}
	Parameter struct {
		Name  string   `json:"name"`
		Value string   `json:"value"`
		Least string   `json:"least"`
		Most  string   `json:"most"`
		Words []string `json:"words,omitempty"` // it is one of these
		Doc   string   `json:"doc"`
	}
	Table struct {
		Name       string                       `json:"name"`
		Parent     string                       `json:"parent,omitempty"` // the table that it is nested in
		Doc        string                       `json:"doc,omitempty"`
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
		Doc      string   `json:"doc,omitempty"`
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

// JSON returns the description in the form that is printed as JSON.
func (d *Description) JSON() (*Model, error) {
	s := d.schema
	m := &Model{Name: s.Name, Doc: s.Doc, Native: s.Native}
	for _, q := range s.Parameters {
		m.Parameters = append(m.Parameters,
			Parameter{q.Name, q.Text(q.Value), q.Text(q.Least), q.Text(q.Most), q.Words, q.Doc})
	}
	for _, t := range s.Tables {
		m.Tables = append(m.Tables, describeTable(t))
	}
	for _, p := range s.Patterns {
		one := Pattern{Name: p.Name, Label: d.labels[p], Doc: p.Doc, Request: diagram.Request(p), Addition: p.Addition}
		for _, e := range d.engines {
			x, err := e.compile.Explain(p)
			if err != nil {
				return nil, fmt.Errorf("engine %s: %w", e.engine, err)
			}
			on := Engine{Engine: e.engine, Calls: x.Calls}
			if x.Runs != nil {
				on.Runs = x.Runs.Name
			}
			if x.Refused != nil {
				on.Refused = x.Refused.Error()
			}
			one.Engines = append(one.Engines, on)
		}
		m.Patterns = append(m.Patterns, one)
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

// WriteText writes the description in lines of at most width columns. Name is what the user calls
// the model: its name, or the file of its schema.
func (d *Description) WriteText(w io.Writer, name string, width int) error {
	return (&text{Description: d, w: w, width: width}).print(name)
}

// text writes the description of one model.
type text struct {
	*Description
	w     io.Writer
	width int
}

func (d *text) print(name string) error {
	s := d.schema
	d.say("", s.Name+": "+s.Doc)
	if s.Native != "" {
		d.say("", "Target engine: "+s.Native)
	}
	d.say("", "Diagram: mailbench schema diagram "+name+" -o "+s.Name+".svg")
	fmt.Fprintln(d.w, "\nTABLES")
	for _, t := range s.Tables {
		d.table(t)
	}
	if len(s.Parameters) > 0 {
		fmt.Fprintln(d.w, "\nPARAMETERS")
	}
	for _, q := range s.Parameters {
		choice := q.Text(q.Least) + " to " + q.Text(q.Most)
		if len(q.Words) > 0 {
			choice = strings.Join(q.Words, ", ")
		}
		d.say("  ", fmt.Sprintf("models.%s.%s: %s (%s); %s", cmp.Or(schemas.BaseOf(s.Name), s.Name), q.Name,
			q.Text(q.Value), choice, q.Doc))
	}
	fmt.Fprintln(d.w, "\nACCESS PATTERNS")
	for _, p := range s.Patterns {
		if err := d.pattern(p); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(d.w)
	return err
}

func (d *text) table(t *schemas.Table) {
	head := t.Name
	if t.Parent != nil {
		head += ", nested in " + t.Parent.Name
	}
	fmt.Fprintf(d.w, "\n  %s\n", head)
	d.say("    ", t.Doc)
	d.field("extension", t.Addition)
	d.field("partition", columnWords(t.Partition))
	d.field("clustering", columnWords(t.Clustering))
	d.field("static", columnWords(t.Static))
	d.field("columns", columnWords(t.Columns))
	for _, x := range t.Indexes {
		var parts []string
		for _, c := range x.Columns {
			parts = append(parts, c.Column.Name+order(c.Desc))
		}
		d.field("index", x.Name+": "+strings.Join(parts, ", "))
		d.field("extension", x.Addition)
	}
	for _, c := range append(append([]*schemas.Column(nil), t.Static...), t.Columns...) {
		if c.Addition != "" {
			d.field("extension", c.Name+": "+c.Addition)
		}
	}
	for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(t.Hints[engine])) {
			parts = append(parts, name+" "+t.Hints[engine][name])
		}
		d.field(engine, strings.Join(parts, ", "))
	}
}

func columnWords(cs []*schemas.Column) string {
	var parts []string
	for _, c := range cs {
		parts = append(parts, c.Name+" "+c.Type.String()+order(c.Desc))
	}
	return strings.Join(parts, ", ")
}

func order(desc bool) string {
	if desc {
		return " desc"
	}
	return ""
}

func (d *text) pattern(p *schemas.Pattern) error {
	head := p.Name
	if label := d.labels[p]; label != "" {
		head = label + " " + head
	}
	fmt.Fprintf(d.w, "\n  %s\n", head)
	d.say("    ", p.Doc)
	d.field("request", diagram.Request(p))
	d.field("extension", p.Addition)
	for _, e := range d.engines {
		x, err := e.compile.Explain(p)
		if err != nil {
			return fmt.Errorf("engine %s: %w", e.engine, err)
		}
		switch {
		case x.Runs == nil:
			d.field(e.engine, "cannot run it: "+x.Refused.Error())
		case x.Refused != nil:
			d.field(e.engine, "runs "+x.Runs.Name+" instead")
		}
		if d.calls && x.Runs != nil {
			for _, call := range x.Calls {
				d.field(e.engine, call)
			}
		}
	}
	return nil
}

// field prints a named text, or nothing if it is empty.
func (d *text) field(name, text string) {
	if text != "" {
		d.wrap(fmt.Sprintf("    %-10s  ", name), text)
	}
}

func (d *text) say(indent, text string) {
	if text != "" {
		d.wrap(indent, text)
	}
}

// wrap prints a text after lead. Further lines begin below the first word.
func (d *text) wrap(lead, text string) {
	for _, line := range words.Wrap(lead, text, utf8.RuneCountInString(lead), d.width) {
		fmt.Fprintln(d.w, line)
	}
}
