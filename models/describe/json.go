package describe

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
)

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
		Addition   string                       `json:"addition,omitempty"` // why the table is not in the document
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
		Asks     string   `json:"asks"`
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
		one := Pattern{Name: p.Name, Label: d.labels[p], Doc: p.Doc, Asks: diagram.Asks(p), Addition: p.Addition}
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
