package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// writes makes patterns of an INSERT, UPDATE or DELETE. Most are one. A statement that
// changes columns in several ways, or static and plain ones, is several.
func (im *importer) writes(t *schemas.Table, st cql.Statement) (all []*schemas.Pattern, err error) {
	switch base := t.View(); {
	case base != "":
		return nil, fmt.Errorf("%s is a materialized view of %s: Cassandra refuses writes", t.Name, base)
	case st.Kind == cql.Insert:
		all, err = insert(t, st)
	case st.Kind == cql.Delete && len(st.Delete) == 0:
		all, err = im.delete(t, st)
	default:
		all, err = im.update(t, st)
	}
	for _, p := range all {
		for _, u := range st.Using {
			other(p, u.Name, u.Value.Text)
		}
	}
	return all, err
}

// changes gathers the columns that a statement changes, by how.
type changes struct {
	table *schemas.Table
	all   []*schemas.Pattern
}

// add adds a column to the pattern of its kind.
func (w *changes) add(k schemas.PatternKind, c *schemas.Column) *schemas.Pattern {
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
func (w *changes) inOrder() {
	for _, p := range w.all {
		for _, columns := range [][]*schemas.Column{p.Table.Columns, p.Table.Static} {
			if len(columns) == len(p.Columns) && !slices.ContainsFunc(columns, func(c *schemas.Column) bool {
				return !slices.Contains(p.Columns, c)
			}) {
				p.Columns = columns
			}
		}
	}
}

func insert(t *schemas.Table, st cql.Statement) ([]*schemas.Pattern, error) {
	w := changes{table: t}
	given := st.Columns
	if st.JSON {
		given = append(schemas.Names(t.Key()), schemas.Names(t.Columns)...)
	}
	keys := 0
	for _, name := range given {
		c := t.Column(name)
		switch {
		case c == nil:
			return nil, fmt.Errorf("table %s has no column %s", t.Name, name)
		case c.Role == schemas.Partition || c.Role == schemas.Clustering:
			keys++
		default:
			w.add(schemas.Put, c)
		}
	}
	onlyStatic := len(w.all) == 1 && w.all[0].Static && keys == len(t.Partition)
	switch {
	case keys < len(t.Key()) && !onlyStatic:
		return nil, fmt.Errorf("it does not give the whole primary key of table %s", t.Name)
	case slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter }):
		return nil, fmt.Errorf("table %s has counters: Cassandra refuses INSERT; use UPDATE", t.Name)
	case !onlyStatic && !slices.ContainsFunc(w.all, func(p *schemas.Pattern) bool { return !p.Static }):
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
	return w.all, nil
}

func (im *importer) update(t *schemas.Table, st cql.Statement) ([]*schemas.Pattern, error) {
	c, err := im.conditions(t, st.Where)
	if err != nil {
		return nil, err
	}
	w := changes{table: t}
	for _, a := range st.Set {
		col := t.Column(a.Column)
		if col == nil {
			return nil, fmt.Errorf("table %s has no column %s", t.Name, a.Column)
		}
		p := w.add(changeOf(a, col), col)
		if a.Prepend || a.Within && (!col.Type.Collection() || col.Type.Kind == schemas.List) {
			other(p, "set", a.Text)
		}
	}
	var removed []string
	for _, x := range st.Delete {
		col := t.Column(cmp.Or(x.Column, strings.Join(x.Columns, " ")))
		if col == nil {
			return nil, fmt.Errorf("table %s has no column %s", t.Name, x.Text)
		}
		if x.Within && col.Type.Collection() {
			w.add(schemas.Remove, col)
			continue
		}
		w.add(schemas.Put, col)
		removed = append(removed, col.Name)
	}
	w.inOrder()
	by := c.key()
	for _, p := range w.all {
		if len(by) < len(p.By) {
			return nil, fmt.Errorf("it does not bind the whole key of table %s", t.Name)
		}
		other(p, "where", strings.Join(c.rest, " and "))
		if p.Kind == schemas.Put {
			other(p, "delete", strings.Join(removed, ", "))
		}
		condition(p, st)
	}
	for _, a := range st.Set {
		if t.Column(a.Column).Type.Kind == schemas.Counter && !a.Add && !a.Remove {
			return nil, fmt.Errorf("SET %s: Cassandra only adds to a counter, or subtracts from it", a.Text)
		}
	}
	return w.all, nil
}

// changeOf says in which way an assignment changes a column.
func changeOf(a cql.Assignment, c *schemas.Column) schemas.PatternKind {
	switch {
	case c.Type.Kind == schemas.Counter:
		return schemas.Add
	case c.Type.Collection() && a.Remove:
		return schemas.Remove
	case c.Type.Collection() && (a.Add || a.Within):
		return schemas.Append
	}
	return schemas.Put
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

func (im *importer) delete(t *schemas.Table, st cql.Statement) ([]*schemas.Pattern, error) {
	c, err := im.conditions(t, st.Where)
	if err != nil {
		return nil, err
	}
	p := &schemas.Pattern{Kind: schemas.Delete, Table: t, By: c.key()}
	switch n := len(p.By); {
	case n < len(t.Partition):
		return nil, fmt.Errorf("it does not bind the partition key of table %s", t.Name)
	case n == len(t.Key()):
		p.Scope = schemas.ScopeRow
	case n == len(t.Partition):
		p.Scope = schemas.ScopePartition
	default:
		p.Scope = schemas.ScopePrefix
	}
	other(p, "where", strings.Join(c.rest, " and "))
	condition(p, st)
	return []*schemas.Pattern{p}, nil
}
