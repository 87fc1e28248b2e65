package describe

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
)

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
		d.say("", "Its document was written for "+s.Native+".")
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
	d.field("addition", t.Addition)
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
		d.field("addition", x.Addition)
	}
	for _, c := range append(append([]*schemas.Column(nil), t.Static...), t.Columns...) {
		if c.Addition != "" {
			d.field("addition", c.Name+": "+c.Addition)
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
	d.field("asks", diagram.Asks(p))
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

// wrap prints a text behind lead. Further lines begin below the first word.
func (d *text) wrap(lead, text string) {
	for _, line := range words.Wrap(lead, text, utf8.RuneCountInString(lead), d.width) {
		fmt.Fprintln(d.w, line)
	}
}
