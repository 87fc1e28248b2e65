package imports

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// writes makes patterns of an INSERT, UPDATE or DELETE. Most are one. A statement that
// changes columns in several ways, or static and plain ones, is several.
func writes(t *schemas.Table, st cql.Statement) (all []*schemas.Pattern) {
	switch {
	case st.Kind == cql.Insert:
		all = insert(t, st)
	case st.Kind == cql.Delete && len(st.Delete) == 0:
		c := conditionsOf(t, st.Where)
		p := &schemas.Pattern{Kind: schemas.Delete, Table: t, By: c.prefix(true), Scope: schemas.ScopePrefix}
		c.filters()
		switch len(p.By) {
		case len(t.Key()):
			p.Scope = schemas.ScopeRow
		case len(t.Partition):
			p.Scope = schemas.ScopePartition
		}
		other(p, "where", strings.Join(c.rest, " and "))
		condition(p, st)
		all = append(all, p)
	default:
		all = change(t, st)
	}
	for _, p := range all {
		for _, u := range st.Using {
			other(p, u.Name, u.Value.Text)
		}
	}
	return all
}

// changing gathers the columns that a statement changes, by how.
type changing struct {
	table *schemas.Table
	all   []*schemas.Pattern
}

// add adds a column to the pattern of its kind.
func (w *changing) add(k schemas.PatternKind, c *schemas.Column) *schemas.Pattern {
	static := c.Role == schemas.Static
	for _, p := range w.all {
		if p.Kind == k && p.Static == static {
			if !slices.Contains(p.Columns, c) {
				p.Columns = append(p.Columns, c)
			}
			return p
		}
	}
	p := &schemas.Pattern{Kind: k, Table: w.table, Static: static, Columns: []*schemas.Column{c}, By: w.table.Key()}
	if static {
		p.By = w.table.Partition
	}
	w.all = append(w.all, p)
	return p
}

// inOrder puts all columns of a put into the table's order.
func (w *changing) inOrder() {
	for _, p := range w.all {
		all := w.table.Columns
		if p.Static {
			all = w.table.Static
		}
		if len(p.Columns) == len(all) {
			p.Columns = all
		}
	}
}

func insert(t *schemas.Table, st cql.Statement) []*schemas.Pattern {
	w := changing{table: t}
	columns := changed(t, st)
	if st.JSON {
		columns = slices.Concat(t.Static, t.Columns) // its document may have all
	}
	for _, c := range columns {
		w.add(schemas.Put, c)
	}
	row := st.JSON || slices.Contains(st.Columns, t.Key()[len(t.Key())-1].Name) // else static columns of a partition
	if row && !slices.ContainsFunc(w.all, func(p *schemas.Pattern) bool { return !p.Static }) {
		w.all = append(w.all, &schemas.Pattern{Kind: schemas.Put, Table: t, By: t.Key(), Columns: []*schemas.Column{}})
	}
	w.inOrder()
	for _, p := range w.all {
		if st.JSON {
			other(p, "json", "true")
		}
		switch {
		case st.IfNotExists && p.Static:
			other(p, "if", "not exists")
		case st.IfNotExists:
			p.Kind, p.Absent = schemas.PutIf, true
		}
	}
	return w.all
}

func change(t *schemas.Table, st cql.Statement) []*schemas.Pattern {
	c, w := conditionsOf(t, st.Where), changing{table: t}
	for _, a := range st.Set {
		col, kind := t.Column(a.Column), schemas.Put
		switch {
		case col.Type.Kind == schemas.Counter:
			kind = schemas.Add
		case col.Type.Collection() && a.Remove:
			kind = schemas.Remove
		case col.Type.Collection() && (a.Add || a.Within):
			kind = schemas.Append
		}
		p := w.add(kind, col)
		if a.Prepend || a.Within && (!col.Type.Collection() || col.Type.Kind == schemas.List) {
			other(p, "set", a.Text)
		}
	}
	var removed []string
	for _, x := range st.Delete {
		col := t.Column(x.Columns[0])
		if x.Within && col.Type.Collection() {
			w.add(schemas.Remove, col)
			continue
		}
		w.add(schemas.Put, col)
		removed = append(removed, col.Name)
	}
	w.inOrder()
	c.prefix(true)
	c.filters()
	for _, p := range w.all {
		other(p, "where", strings.Join(c.rest, " and "))
		if p.Kind == schemas.Put {
			other(p, "delete", strings.Join(removed, ", "))
		}
		condition(p, st)
	}
	return w.all
}

// condition makes a put conditional.
func condition(p *schemas.Pattern, st cql.Statement) {
	if len(st.If) == 0 && !st.IfExists {
		return
	}
	var rest []string
	if st.IfExists {
		rest = append(rest, "exists")
	}
	for _, r := range st.If {
		c := p.Table.Column(r.Columns[0])
		plain := c != nil && c.Role == schemas.Plain && !c.Type.Collection() && c.Type.Kind != schemas.Counter
		if p.Kind == schemas.Put && r.Op == "=" && !r.Within && plain && !slices.Contains(p.If, c) {
			p.If = append(p.If, c)
		} else {
			rest = append(rest, strings.Join(r.Columns, ", ")+" "+r.Op+" ?")
		}
	}
	switch {
	case p.Kind == schemas.Put && !p.Static:
		p.Kind = schemas.PutIf
		if p.Present = len(p.If) == 0; st.IfExists {
			return
		}
	default:
		p.If = nil
	}
	other(p, "if", strings.Join(rest, " and "))
}
