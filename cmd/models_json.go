package cmd

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
)

// "models NAME --json" prints a describedModel: what the text says, and the calls of engines.
type (
	describedModel struct {
		Name     string             `json:"name"`
		Doc      string             `json:"doc"`
		Native   string             `json:"native,omitempty"` // the engine that its document was written for
		Tables   []describedTable   `json:"tables"`
		Patterns []describedPattern `json:"patterns"`

		Parameters []describedParameter `json:"parameters,omitempty"`
	}
	describedParameter struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		Doc   string `json:"doc"`
	}
	describedTable struct {
		Name       string                       `json:"name"`
		Parent     string                       `json:"parent,omitempty"` // the table that it is nested in
		Doc        string                       `json:"doc,omitempty"`
		Addition   string                       `json:"addition,omitempty"` // why the table is not in the document
		Partition  []describedColumn            `json:"partition"`
		Clustering []describedColumn            `json:"clustering,omitempty"`
		Static     []describedColumn            `json:"static,omitempty"`
		Columns    []describedColumn            `json:"columns,omitempty"`
		Indexes    []describedIndex             `json:"indexes,omitempty"`
		Settings   map[string]map[string]string `json:"settings,omitempty"` // engine → name → value
	}
	describedColumn struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Desc     bool   `json:"descending,omitempty"`
		Addition string `json:"addition,omitempty"`
	}
	describedIndex struct {
		Name     string            `json:"name"`
		Columns  []describedColumn `json:"columns"`
		Addition string            `json:"addition,omitempty"`
	}
	describedPattern struct {
		Name     string            `json:"name"`
		Label    string            `json:"label,omitempty"` // Q1, Q2 … in the workflow of reads
		Doc      string            `json:"doc,omitempty"`
		Asks     string            `json:"asks"`
		Addition string            `json:"addition,omitempty"`
		Engines  []describedEngine `json:"engines"`
	}
	describedEngine struct {
		Engine  string   `json:"engine"`
		Runs    string   `json:"runs,omitempty"`    // the pattern or its fallback; "": the engine can run neither
		Refused string   `json:"refused,omitempty"` // why it does not run the pattern itself
		Calls   []string `json:"calls,omitempty"`
	}
)

func (d *description) json() error {
	s := d.schema
	m := describedModel{Name: s.Name, Doc: s.Doc, Native: s.Native}
	for _, p := range d.parameters {
		m.Parameters = append(m.Parameters, describedParameter(p))
	}
	for _, t := range s.Tables {
		m.Tables = append(m.Tables, describeTable(t))
	}
	for _, p := range s.Patterns {
		one := describedPattern{Name: p.Name, Label: d.labels[p], Doc: p.Doc, Asks: asks(p), Addition: p.Addition}
		for _, e := range d.engines {
			x, err := e.compile.Explain(p)
			if err != nil {
				return fmt.Errorf("engine %s: %w", e.engine, err)
			}
			on := describedEngine{Engine: e.engine, Calls: x.Calls}
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
	return printJSON(d.w, m)
}

func describeTable(t *schemas.Table) describedTable {
	one := describedTable{
		Name: t.Name, Doc: t.Doc, Addition: t.Addition, Settings: t.Hints,
		Partition: describeColumns(t.Partition), Clustering: describeColumns(t.Clustering),
		Static: describeColumns(t.Static), Columns: describeColumns(t.Columns),
	}
	if t.Parent != nil {
		one.Parent = t.Parent.Name
	}
	for _, x := range t.Indexes {
		index := describedIndex{Name: x.Name, Addition: x.Addition}
		for _, c := range x.Columns {
			index.Columns = append(index.Columns, describedColumn{Name: c.Column.Name, Desc: c.Desc})
		}
		one.Indexes = append(one.Indexes, index)
	}
	return one
}

func describeColumns(cs []*schemas.Column) (all []describedColumn) {
	for _, c := range cs {
		all = append(all, describedColumn{c.Name, c.Type.String(), c.Desc, c.Addition})
	}
	return all
}
