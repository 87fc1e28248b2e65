package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

func plainName(c *schemas.Column) string { return identifier(c.Name) }

// remove writes the deletes of a pattern. A partition's static columns are in a table of
// their own.
func (w *writer) remove(p *schemas.Pattern) []string {
	t := w.tables[p.Table]
	where := clause(equal(p.By, plainName)) + ";"
	lines := []string{"DELETE FROM " + w.name(p) + where}
	if p.Scope == schemas.ScopePartition && len(p.Table.Static) > 0 {
		lines = append(lines, fmt.Sprintf("DELETE FROM %s:%s%s", w.namespace, t.parent.path, where))
	}
	return lines
}

// write writes the statements of a pattern that changes one row.
func (w *writer) write(p *schemas.Pattern) ([]string, error) {
	where := clause(equal(p.By, plainName))
	switch {
	case p.Kind == schemas.Put && w.whole(p):
		return []string{w.insert("UPSERT", p)}, nil
	case p.Kind == schemas.PutIf && p.Absent && w.whole(p):
		return []string{w.insert("INSERT", p) + "  -- changes nothing if the row is there"}, nil
	case p.Kind == schemas.PutIf && p.Absent:
		return []string{w.insert("INSERT", p) + "  -- changes nothing if the row is there; other columns are null"}, nil
	case p.Kind == schemas.PutIf:
		where = clause(append(equal(p.By, plainName), equalExpected(p.If)...))
		return []string{w.update(p) + where + ";"}, nil
	case p.Kind == schemas.Remove:
		return []string{w.update(p) + where + ";"}, nil
	}
	if len(p.Columns) == 0 {
		return []string{w.insert("UPSERT", p)}, nil
	}
	line := w.update(p) + where
	if p.ReturnsNew {
		line += " RETURNING " + names(p.Columns)
	}
	return []string{line + ";", w.insert("INSERT", p) + "  -- if there was no row to update"}, nil
}

// whole reports whether a put sets all columns of its table.
func (w *writer) whole(p *schemas.Pattern) bool {
	t := w.tables[p.Table]
	if p.Static {
		t = t.parent
	}
	return !slices.ContainsFunc(t.columns, func(c *schemas.Column) bool { return !slices.Contains(p.Columns, c) })
}

func (w *writer) insert(verb string, p *schemas.Pattern) string {
	all := slices.Concat(p.By, p.Columns)
	var values []string
	for _, c := range all {
		values = append(values, "$"+identifier(c.Name))
	}
	return fmt.Sprintf("%s INTO %s (%s) VALUES (%s);", verb, w.name(p), names(all), strings.Join(values, ", "))
}

// equalExpected returns the conditions of a put-if.
func equalExpected(cs []*schemas.Column) (terms []string) {
	for _, c := range cs {
		terms = append(terms, fmt.Sprintf("%s = $expected_%s", plainName(c), plainName(c)))
	}
	return terms
}

// update writes an UPDATE statement up to its conditions.
func (w *writer) update(p *schemas.Pattern) string {
	var clauses []string
	for _, c := range p.Columns {
		id := identifier(c.Name)
		switch {
		case p.Kind == schemas.Add:
			clauses = append(clauses, fmt.Sprintf("SET t.%s = t.%s + $%s", id, id, id))
		case p.Kind == schemas.Append && c.Type.Kind == schemas.Map:
			clauses = append(clauses, fmt.Sprintf("PUT t.%s $%s", id, id))
		case p.Kind == schemas.Append && c.Type.Collection():
			clauses = append(clauses, fmt.Sprintf("ADD t.%s ELEMENTS $%s", id, id))
		case p.Kind == schemas.Remove && c.Type.Kind == schemas.Map:
			clauses = append(clauses, fmt.Sprintf("REMOVE t.%s.keys($key =any $%s[])", id, id))
		case p.Kind == schemas.Remove:
			clauses = append(clauses, fmt.Sprintf("REMOVE t.%s[$element =any $%s[]]", id, id))
		default:
			clauses = append(clauses, fmt.Sprintf("SET t.%s = $%s", id, id))
		}
	}
	return fmt.Sprintf("UPDATE %s t %s", w.name(p), strings.Join(clauses, ", "))
}

// batch writes a batch. An atomic batch is a WriteMultiple, which takes puts and deletes
// of whole rows of one shard key.
func (w *writer) batch(p *schemas.Pattern) ([]string, error) {
	if p.Atomic == schemas.AtomicAll {
		return nil, unsupported("WriteMultiple changes rows of one shard key together, and no others")
	}
	lines := []string{"each part by itself:"}
	if p.Atomic != schemas.AtomicNone {
		lines = []string{"one WriteMultiple, of rows of one shard key (it takes no SQL; this is what its puts and deletes do):"}
	}
	for _, part := range p.Parts {
		q := part.Pattern
		if p.Atomic != schemas.AtomicNone {
			deletes := q.Kind == schemas.Delete && len(q.By) == len(q.Table.Key()) && q.Scope == schemas.ScopeRow
			if !deletes && !(q.Kind == schemas.Put && w.whole(q)) && !(q.Kind == schemas.PutIf && q.Absent && w.whole(q)) {
				return nil, unsupported("WriteMultiple takes puts and deletes of whole rows, which " + q.Name + " is not")
			}
		}
		more, err := w.pattern(q)
		if err != nil {
			return nil, err
		}
		if part.Each != "" {
			more[0] += "  -- for each " + part.Each
		}
		for _, l := range more {
			lines = append(lines, "  "+l)
		}
	}
	return lines, nil
}
