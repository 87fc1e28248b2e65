package cmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
)

// describeModel prints what a mail architect wants to know about a model, or about a schema
// file. The text shows the calls of the named engines. If none is named, it only shows which
// patterns an engine cannot run as they are. JSON has the calls of the named engines, or of all.
func (r registry) describeModel(w io.Writer, name string, engines []string, asJSON bool) error {
	s, err := r.schema(name)
	if err != nil {
		return err
	}
	shown := r.explainers()
	if len(engines) > 0 && !slices.Equal(engines, []string{"all"}) {
		if shown, err = pick("engine", engines, shown, func(e drivers.Engine) string { return e.Name }); err != nil {
			return err
		}
	}
	var parameters []models.Parameter
	if known, err := r.pickModels([]string{name}); err == nil { // a schema file has no parameters
		parameters = known[0].Parameters
	}
	d := description{
		parameters: parameters, w: w, width: min(80, width(w)), schema: s, calls: len(engines) > 0,
		labels: make(map[*schemas.Pattern]string),
	}
	for _, e := range shown {
		compile, err := e.Compile(s, drivers.Options{})
		if err != nil {
			return usage(fmt.Errorf("engine %s: %w", e.Name, err))
		}
		d.engines = append(d.engines, compiled{e.Name, compile})
	}
	if len(s.Workflow) > 0 {
		for _, q := range diagram.Queries(s) {
			d.labels[q.Pattern] = q.Label
		}
	}
	if asJSON {
		return d.json()
	}
	return d.print(name)
}

type compiled struct {
	engine  string
	compile drivers.Compiler
}

// description writes the description of one model.
type description struct {
	w       io.Writer
	width   int // columns of a line
	schema  *schemas.Schema
	engines []compiled
	calls   bool
	labels  map[*schemas.Pattern]string

	parameters []models.Parameter
}

func (d *description) print(name string) error {
	s := d.schema
	d.say("", s.Name+": "+s.Doc)
	if s.Native != "" {
		d.say("", "Its document was written for "+s.Native+".")
	}
	d.say("", "Diagram: mailbench schema diagram "+name+" -o "+s.Name+".svg")
	fmt.Fprintln(d.w, "\nTABLES")
	for _, t := range s.Tables {
		d.table(t)
	}
	if len(d.parameters) > 0 {
		fmt.Fprintln(d.w, "\nPARAMETERS")
	}
	for _, p := range d.parameters {
		d.say("  ", p.Name+": "+p.Value+"; "+p.Doc)
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

func (d *description) table(t *schemas.Table) {
	head := t.Name
	if t.Parent != nil {
		head += ", nested in " + t.Parent.Name
	}
	fmt.Fprintf(d.w, "\n  %s\n", head)
	d.say("    ", t.Doc)
	d.field("addition", t.Addition)
	d.field("partition", columnWords(t.Partition))
	d.field("clustering", columnWords(t.Clustering))
	d.field("static", columnWords(t.Static))
	d.field("columns", columnWords(t.Columns))
	for _, x := range t.Indexes {
		var words []string
		for _, c := range x.Columns {
			words = append(words, c.Column.Name+order(c.Desc))
		}
		d.field("index", x.Name+": "+strings.Join(words, ", "))
		d.field("addition", x.Addition)
	}
	for _, c := range append(append([]*schemas.Column(nil), t.Static...), t.Columns...) {
		if c.Addition != "" {
			d.field("addition", c.Name+": "+c.Addition)
		}
	}
	for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
		var words []string
		for _, name := range slices.Sorted(maps.Keys(t.Hints[engine])) {
			words = append(words, name+" "+t.Hints[engine][name])
		}
		d.field(engine, strings.Join(words, ", "))
	}
}

func columnWords(cs []*schemas.Column) string {
	var words []string
	for _, c := range cs {
		words = append(words, c.Name+" "+c.Type.String()+order(c.Desc))
	}
	return strings.Join(words, ", ")
}

func order(desc bool) string {
	if desc {
		return " desc"
	}
	return ""
}

func (d *description) pattern(p *schemas.Pattern) error {
	head := p.Name
	if label := d.labels[p]; label != "" {
		head = label + " " + head
	}
	fmt.Fprintf(d.w, "\n  %s\n", head)
	d.say("    ", p.Doc)
	d.field("asks", asks(p))
	d.field("addition", p.Addition)
	for _, e := range d.engines {
		x, err := e.compile.Explain(p)
		if err != nil {
			return fmt.Errorf("engine %s: %w", e.engine, err)
		}
		switch {
		case x.Runs == nil:
			d.field(e.engine, "cannot run it: "+x.Refused.Error())
		case x.Refused != nil:
			d.field(e.engine, "runs "+x.Runs.Name+" in its place")
		}
		if d.calls && x.Runs != nil {
			for _, call := range x.Calls {
				d.field(e.engine, call)
			}
		}
	}
	return nil
}

// asks writes what a pattern asks of its tables.
func asks(p *schemas.Pattern) string {
	switch {
	case p.Kind == schemas.Batch:
		var parts []string
		for _, part := range p.Parts {
			word := part.Pattern.Name
			if part.Each != "" {
				word += " for each " + part.Each
			}
			parts = append(parts, word)
		}
		return "batch, atomic " + p.Atomic.String() + ": " + strings.Join(parts, ", ")
	case p.Kind.Reads():
		return p.Kind.String() + " " + p.Table.Name + ": " + diagram.Predicate(p)
	}
	text := p.Kind.String() + " " + p.Table.Name
	if p.Kind == schemas.Delete {
		return text + ": " + diagram.Predicate(p)
	}
	if names := columnNames(p.Columns); names != "" {
		text += ": " + names
	}
	if p.Absent {
		text += ", if the row is absent"
	}
	if len(p.If) > 0 {
		text += ", if " + columnNames(p.If) + " are as expected"
	}
	return text
}

func columnNames(cs []*schemas.Column) string {
	var names []string
	for _, c := range cs {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// field prints a named text, or nothing if it is empty.
func (d *description) field(name, text string) {
	if text != "" {
		d.wrap(fmt.Sprintf("    %-10s  ", name), text)
	}
}

func (d *description) say(indent, text string) {
	if text != "" {
		d.wrap(indent, text)
	}
}

// wrap prints a text behind lead. Further lines begin below the first word.
func (d *description) wrap(lead, text string) {
	n := utf8.RuneCountInString(lead)
	for i, line := range lines(text, d.width-n) {
		if i > 0 {
			lead = strings.Repeat(" ", n)
		}
		fmt.Fprintln(d.w, lead+line)
	}
}
