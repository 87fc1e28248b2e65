package schemas

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var (
	referenceKeys = []string{"doc", "to", "by", "from", "at", "leftover"}
	countKeys     = []string{"doc", "column", "of", "by", "from", "at", "sum"}
)

// references reads "NAME: {to: TABLE, …}". It runs after all tables are read.
func (r *tableReader) references(t *Table, n *yaml.Node) {
	for _, e := range r.Mapping(n, "refers of table "+t.Name) {
		where := "reference " + e.Name + " of table " + t.Name
		ref := &Reference{Name: e.Name, Pos: r.At(e.Key)}
		r.checkName(e.Key, e.Name, "reference")
		f := r.Fields(e.Value, where, referenceKeys)
		ref.Doc = r.TextOf(f, "doc", where)
		ref.Leftover = r.Flag(f, "leftover", where)
		if r.join(t, &ref.Join, e, "to", f, where) {
			t.Refers = append(t.Refers, ref)
		}
	}
}

// counts reads "NAME: {column: COLUMN, of: TABLE, …}". It runs after all tables are read.
func (r *tableReader) counts(t *Table, n *yaml.Node) {
	for _, e := range r.Mapping(n, "counts of table "+t.Name) {
		where := "count " + e.Name + " of table " + t.Name
		c := &Count{Name: e.Name, Pos: r.At(e.Key)}
		r.checkName(e.Key, e.Name, "count")
		f := r.Fields(e.Value, where, countKeys)
		c.Doc = r.TextOf(f, "doc", where)
		if !r.join(t, &c.Join, e, "of", f, where) {
			continue
		}
		column, ok := f["column"]
		if !ok {
			r.Fail(e.Value, "%s has no column; expected column: the one with the number", where)
			continue
		}
		if c.Column = r.columnOf(t, column.Value, where); c.Column != nil && !counts(c.Column.Type) {
			r.Fail(column.Value, "column %s of %s is %s; expected a number, a map of numbers, or a text or blob that contains one",
				c.Column.Name, where, c.Column.Type)
		}
		if sum, ok := f["sum"]; ok {
			if c.Sum = r.columnOf(c.To, sum.Value, where); c.Sum != nil && !sums(c.Sum.Type) {
				r.Fail(sum.Value, "column %s of %s is %s; expected a text, a blob, a number, or a map of them",
					c.Sum.Name, where, c.Sum.Type)
			}
		}
		r.mapKeys(e.Value, c, where)
		t.Counts = append(t.Counts, c)
	}
}

// counts reports whether a column of the type can hold the number of a Count.
func counts(t Type) bool {
	return sums(t) && (t.Kind != Map || t.Elem.Kind == Int || t.Elem.Kind == Bigint)
}

// sums reports whether a column of the type can be added up.
func sums(t Type) bool {
	if t.Kind == Map {
		return !t.Elem.Collection() && sums(*t.Elem)
	}
	return slices.Contains([]Kind{Text, Blob, Int, Bigint, Counter}, t.Kind)
}

// mapKeys reports a map if no template says which of its keys is meant.
func (r *tableReader) mapKeys(n *yaml.Node, c *Count, where string) {
	for _, side := range []struct {
		column *Column
		by     []Match
		key    string
	}{{c.Column, c.From, "from"}, {c.Sum, c.At, "at"}} {
		if side.column == nil || side.column.Type.Kind != Map {
			continue
		}
		if !slices.ContainsFunc(side.by, func(m Match) bool { return m.Column == side.column }) {
			r.Fail(n, "column %s of %s is a map; expected %s: {%s: …} to select its keys",
				side.column.Name, where, side.key, side.column.Name)
		}
	}
}

// join reads the other table and which rows belong together. It reports whether
// there was no fault.
func (r *tableReader) join(t *Table, j *Join, e strict.Entry, toKey string, f map[string]strict.Entry,
	where string,
) bool {
	before := len(r.Errs)
	to, ok := f[toKey]
	if !ok {
		if e.Value.Kind == yaml.MappingNode {
			r.Fail(e.Value, "%s names no table; expected %s: TABLE", where, toKey)
		}
		return false
	}
	name, ok := r.Text(to.Value, toKey+" of "+where)
	if !ok {
		return false
	}
	if j.To = r.read[name]; j.To == nil {
		r.Unknown(to.Value, "table", name, "in "+where, r.names)
		return false
	}
	if r.broken[t] || r.broken[j.To] {
		return false
	}
	by, hasBy := f["by"]
	from, hasFrom := f["from"]
	at, hasAt := f["at"]
	switch {
	case hasBy && !hasFrom && !hasAt:
		for _, item := range r.List(by.Value, "by of "+where) {
			r.sameNames(t, j, item, where)
		}
	case !hasBy && hasFrom && hasAt:
		j.From = r.matches(t, from.Value, "from of "+where)
		j.At = r.matches(j.To, at.Value, "at of "+where)
		if len(r.Errs) == before {
			r.sameVariables(from.Key, j, "from", "at", where)
			r.sameVariables(at.Key, &Join{From: j.At, At: j.From}, "at", "from", where)
		}
	default:
		r.Fail(e.Value, "%s has no columns that match; expected by: [column, …], or both from and at", where)
	}
	if len(r.Errs) == before && len(j.Names()) == 0 {
		r.Fail(e.Value, "%s has no variable; expected at least one, such as {id}, in both from and at", where)
	}
	return len(r.Errs) == before
}

// sameNames reads a column that has the same name in both tables.
func (r *tableReader) sameNames(t *Table, j *Join, n *yaml.Node, where string) {
	c, other := r.columnOf(t, n, where), r.columnOf(j.To, n, where)
	if c == nil || other == nil {
		return
	}
	if slices.Contains(j.By, c.Name) {
		r.Fail(n, "duplicate column %q in by of %s", c.Name, where)
		return
	}
	same, err := parseTemplate("{" + c.Name + "}")
	if err != nil {
		panic(err) // a column's name can be a variable's
	}
	j.By = append(j.By, c.Name)
	j.From, j.At = append(j.From, Match{c, same}), append(j.At, Match{other, same})
}

// matches reads "column: template".
func (r *tableReader) matches(t *Table, n *yaml.Node, where string) []Match {
	var ms []Match
	for _, e := range r.Mapping(n, where) {
		m := Match{Column: r.columnOf(t, e.Key, where)}
		if e.Value.Kind != yaml.ScalarNode || e.Value.ShortTag() != "!!str" {
			r.Fail(e.Value, "%s in %s must be text such as \"{%s}\", found %s", e.Name, where, e.Name, strict.Found(e.Value))
			continue
		}
		if m.Column == nil {
			continue
		}
		var err error
		if m.Template, err = parseTemplate(e.Value.Value); err != nil {
			r.Fail(e.Value, "%s in %s has %v", e.Name, where, err)
			continue
		}
		for _, name := range m.Template.Names() {
			if slices.Contains(variables(ms), name) {
				r.Fail(e.Value, "{%s} is twice in %s", name, where)
			}
		}
		ms = append(ms, m)
	}
	return ms
}

// sameVariables reports variables of From that At lacks.
func (r *tableReader) sameVariables(n *yaml.Node, j *Join, side, other, where string) {
	known := variables(j.At)
	for _, name := range variables(j.From) {
		if slices.Contains(known, name) {
			continue
		}
		r.Fail(n, "{%s} is in %s of %s, but not in %s; write {} for text that does not matter", name, side, where, other)
		r.Errs[len(r.Errs)-1].Near = strict.Nearest(name, known)
	}
}

// columnOf returns the column of a table that a node names, or nil.
func (r *tableReader) columnOf(t *Table, n *yaml.Node, where string) *Column {
	name, ok := r.Text(n, "a column in "+where)
	if !ok {
		return nil
	}
	c := t.Column(name)
	if c == nil {
		r.Unknown(n, "column", name, "of table "+t.Name+" in "+where, columnNames(t))
	}
	return c
}
