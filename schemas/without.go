package schemas

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Without returns another parse of the schema without the tables and plain or static
// columns that are missing, and names what went with them: references, counts and
// patterns. It ignores other kinds of difference.
func (s *Schema) Without(missing []Difference) (own *Schema, skipped []string, err error) {
	own, err = parse(strict.Decoder{File: s.File, Stored: true}, s.Source, Bundled, s.Values())
	if err != nil {
		return nil, nil, fmt.Errorf("read schema %s again: %w", s.Name, err)
	}
	r := remover{gone: make(map[*Column]bool)}
	for _, d := range missing {
		t := own.Table(d.Table)
		switch {
		case t == nil:
		case d.Kind == MissingTable: // and the tables nested in it, which have its key
			for _, c := range t.OwnKey() {
				r.gone[c] = true
			}
			r.skip("table %s", d.Table)
		case d.Kind == MissingColumn:
			r.gone[t.Column(d.Part)] = true
			r.skip("column %s of table %s", d.Part, d.Table)
		}
	}
	own.Tables = slices.DeleteFunc(own.Tables, r.lost)
	for _, t := range own.Tables {
		t.Children = slices.DeleteFunc(t.Children, r.lost)
		// Patterns share these lists.
		t.Static = slices.DeleteFunc(slices.Clone(t.Static), r.without)
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), r.without)
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *Index) bool {
			return slices.ContainsFunc(x.Columns, func(ic IndexColumn) bool { return r.gone[ic.Column] })
		})
		for _, rows := range t.Rows {
			rows.Sizes = slices.DeleteFunc(rows.Sizes, func(size ColumnSize) bool { return r.gone[size.Column] })
		}
		t.Refers = r.relations(t.Refers, "reference", t)
		t.Counts = r.relations(t.Counts, "count", t)
	}
	r.patterns(own)
	return own, r.skipped, nil
}

// remover takes tables and columns out of a schema, with all that needs them.
type remover struct {
	gone    map[*Column]bool
	skipped []string
}

func (r *remover) without(c *Column) bool { return r.gone[c] }

// lost reports whether a table is gone: it has lost its key.
func (r *remover) lost(t *Table) bool { return t != nil && slices.ContainsFunc(t.Key(), r.without) }

func (r *remover) skip(format string, args ...any) {
	r.skipped = append(r.skipped, fmt.Sprintf(format, args...))
}

// relations removes the relations that need what is gone.
func (r *remover) relations(all []*Relation, what string, of *Table) []*Relation {
	return slices.DeleteFunc(all, func(x *Relation) bool {
		matches := slices.Concat(x.From, x.At)
		needs := r.lost(x.To) || r.gone[x.Column] || r.gone[x.Sum] ||
			slices.ContainsFunc(matches, func(m Match) bool { return r.gone[m.Column] })
		if needs {
			r.skip("%s %s of table %s", what, x.Name, of.Name)
		}
		return needs
	})
}

// patterns removes the patterns that need what is gone: their callers expect all columns.
func (r *remover) patterns(s *Schema) {
	removed := make(map[*Pattern]bool)
	lost := func(p *Pattern) bool { return removed[p] }
	for range 2 { // a batch may come before its parts
		for _, p := range s.Patterns {
			needs := r.lost(p.Table) || r.gone[p.Element] ||
				slices.ContainsFunc(slices.Concat(p.Columns, p.Filter, p.If), r.without)
			removed[p] = needs || slices.ContainsFunc(p.Parts, func(part Part) bool { return lost(part.Pattern) })
		}
	}
	for _, p := range s.Patterns {
		if removed[p] {
			r.skip("pattern %s", p.Name)
		}
		if removed[p.Fallback] {
			p.Fallback = nil
		}
	}
	s.Patterns = slices.DeleteFunc(s.Patterns, lost)
	s.Workflow = slices.DeleteFunc(s.Workflow, func(step Step) bool { return removed[step.Pattern] })
	for i := range s.Workflow {
		s.Workflow[i].Next = slices.DeleteFunc(s.Workflow[i].Next, lost)
	}
}
