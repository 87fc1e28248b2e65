package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

func (st *statement) compileWrite() error {
	p := st.Pattern()
	if err := st.InOneRow(); err != nil {
		return err
	}
	switch p.Kind {
	case schemas.Delete:
		st.compileDelete()
		return nil
	case schemas.Put:
		if st.whole() {
			st.action = doPut
			return nil
		}
		if len(p.Columns) == 0 { // the row is there, whatever it holds
			st.action = doPutAbsent
			return nil
		}
	case schemas.PutIf:
		if p.Absent {
			st.action = doPutAbsent
			return nil
		}
		st.action = doUpdateIf
		if len(p.If) > 4 {
			return unsupported("a condition on %d columns", len(p.If))
		}
		for nulls := range 1 << len(p.If) {
			st.queries = append(st.queries, st.update(nulls))
		}
		return nil
	}
	st.action = doUpdate
	st.queries = []*query{st.update(0)}
	return nil
}

// whole reports whether a put sets all columns of its table.
func (st *statement) whole() bool {
	return !slices.ContainsFunc(st.table.columns, func(c *schemas.Column) bool {
		return !slices.Contains(st.Pattern().Columns, c)
	})
}

func (st *statement) compileDelete() {
	p := st.Pattern()
	st.action = doDeleteAll
	if len(p.By) == len(st.table.fullKey()) {
		st.action = doDelete
		return
	}
	if p.Scope == schemas.ScopePartition && len(p.Table.Static) > 0 && !p.Static {
		st.also = st.table.parent
	}
	b := &builder{}
	fmt.Fprintf(b, "SELECT %s FROM %s", names(st.table.fullKey()), st.table.full)
	b.whereEqual(p.By, 0, plainName)
	st.listed = b.done()
}

// update writes an UPDATE statement. nulls says by bits which of the expected values are
// null: SQL compares null with IS NULL only.
func (st *statement) update(nulls int) *query {
	p, b := st.Pattern(), &builder{}
	var clauses []string
	for i, c := range p.Columns {
		clauses = append(clauses, st.change(b, c, st.Layout.Columns+i))
	}
	fmt.Fprintf(b, "UPDATE %s t %s", st.table.full, strings.Join(clauses, ", "))
	b.whereEqual(p.By, 0, plainName)
	for i, c := range p.If {
		if nulls>>i&1 != 0 {
			b.where("%s IS NULL", identifier(c.Name))
			continue
		}
		b.where("%s = %s", identifier(c.Name), b.variable("expected_"+identifier(c.Name), st.Layout.If+i, fieldOf(c)))
	}
	if p.ReturnsNew {
		b.WriteString(" RETURNING " + names(p.Columns))
	}
	return b.done()
}

// change returns the clauses of an UPDATE that change a column by the argument at that
// position. A number or list that is null counts as 0 or empty.
func (st *statement) change(b *builder, c *schemas.Column, at int) string {
	p, id := st.Pattern(), identifier(c.Name)
	v := b.variable(id, at, fieldOf(c))
	switch {
	case p.Kind == schemas.Add:
		return fmt.Sprintf("SET t.%s = CASE WHEN t.%s IS NULL THEN %s ELSE t.%s + %s END", id, id, v, id, v)
	case p.Kind == schemas.Append:
		return fmt.Sprintf("SET t.%s = [t.%s[], %s[]]", id, id, v)
	case p.Kind == schemas.Remove:
		return fmt.Sprintf("REMOVE t.%s[$element =any %s[]]", id, v)
	}
	return fmt.Sprintf("SET t.%s = %s", id, v)
}
