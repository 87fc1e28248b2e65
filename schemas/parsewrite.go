package schemas

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// writeColumns reads the columns that a write touches. A put or put-if writes
// all of them unless it says which.
func (r *patternReader) writeColumns() {
	role, all := Plain, r.Table.Columns
	if r.Static {
		role, all = Static, r.Table.Static
	}
	e, given := r.fields["columns"]
	switch {
	case given && e.Value.Kind == yaml.ScalarNode && e.Value.Value == "*":
		r.Fail(e.Value, `%s: "*" is for reads; %s lists its columns`, r.where, a(r.Kind))
		return
	case given:
		var ok bool
		if r.Columns, ok = r.columnsOf("columns"); !ok {
			return
		}
	case r.Kind == Put || r.Kind == PutIf:
		r.Columns = all
	}
	if len(r.Columns) == 0 && r.Kind != Put && r.Kind != PutIf {
		r.Fail(r.at("columns"), "%s: %s needs columns: the ones it changes", r.where, a(r.Kind))
	}
	for _, c := range r.Columns {
		at := r.atColumn("columns", c)
		switch {
		case c.Role == Static && r.Kind == PutIf:
			// beside the columns of a row
		case c.Role != role:
			r.Fail(at, "%s: %s writes %s columns; %s is %s",
				r.where, a(r.Kind), [...]string{Plain: "plain", Static: "static"}[role], c.Name, describe(c))
		case r.Kind == Add && c.Type.Kind != Counter && c.Type.Kind != Bigint:
			r.Fail(at, "%s: an add needs counter or bigint columns; %s is %s", r.where, c.Name, describe(c))
		case (r.Kind == Append || r.Kind == Remove) && c.Type.Kind != List && !(c.Type.Collection() && r.Imported != nil):
			r.Fail(at, "%s: %s needs list columns; %s is %s", r.where, a(r.Kind), c.Name, describe(c))
		case (r.Kind == Put || r.Kind == PutIf) && c.Type.Kind == Counter:
			r.Fail(at, "%s: counter %s cannot be put; expected an add", r.where, c.Name)
		}
	}
}

// scope sets what a delete removes, which follows from by. A scope in the file must agree.
func (r *patternReader) scope() {
	switch {
	case len(r.By) == len(r.order):
		r.Scope = ScopeRow
	case len(r.By) == len(r.Table.Partition):
		r.Scope = ScopePartition
	default:
		r.Scope = ScopePrefix
	}
	e, name, ok := r.word("scope")
	if !ok {
		return
	}
	switch named := slices.Index(scopeNames[:], name); {
	case named < 0:
		r.Unknown(e.Value, "scope", name, "in "+r.where, scopeNames[:])
	case Scope(named) == ScopePartition && r.Scope == ScopeRow && len(r.Table.Clustering) == 0:
		r.Scope = ScopePartition // the row is its whole partition
	case Scope(named) != r.Scope:
		r.Fail(e.Value, "%s: scope %s does not fit by (%s), which makes it a delete of a %s",
			r.where, name, names(r.By), r.Scope)
	}
}

// condition reads what must hold for a put-if or a delete.
func (r *patternReader) condition() {
	if e, ok := r.fields["if"]; ok && r.Kind == Delete {
		if r.Present = e.Value.Value == "present"; !r.Present || r.Scope != ScopeRow {
			r.Fail(e.Value, "%s: a delete may have if: present, and then by is the whole primary key (%s)", r.where,
				names(r.Table.Key()))
		}
	}
	if r.Kind != PutIf {
		return
	}
	e, ok := r.fields["if"]
	if !ok {
		r.Fail(r.name, "%s has no condition; expected if: absent, if: present or if: [column, …]", r.where)
		return
	}
	if e.Value.Kind == yaml.ScalarNode {
		r.Absent, r.Present = e.Value.Value == "absent", e.Value.Value == "present"
		if r.Absent || r.Present {
			return
		}
	}
	if r.If, ok = r.columnsOf("if"); !ok {
		return
	}
	if len(r.If) == 0 {
		r.Fail(e.Value, "%s: if is empty; expected absent, present or columns to compare", r.where)
	}
	for _, c := range r.If {
		if c.Role != Plain && c.Role != Static || c.Type.Collection() || c.Type.Kind == Counter {
			r.Fail(r.atColumn("if", c), "%s: if compares plain and static columns that are no collections or counters; %s is %s",
				r.where, c.Name, describe(c))
		}
	}
}

// SpansStatic reports whether a put-if writes or compares static columns beside those of its row.
func (p *Pattern) SpansStatic() bool {
	return p.Kind == PutIf && slices.ContainsFunc(slices.Concat(p.Columns, p.If),
		func(c *Column) bool { return c.Role == Static })
}

// word reads the text of a key that may be missing.
func (r *patternReader) word(key string) (e strict.Entry, text string, ok bool) {
	if e, ok = r.fields[key]; ok {
		text, ok = r.Text(e.Value, key+" of "+r.where)
	}
	return e, text, ok
}

// returns reads what an add gives back.
func (r *patternReader) returns() {
	e, ok := r.fields["returns"]
	if !ok {
		return
	}
	if name, ok := r.Text(e.Value, "returns of "+r.where); ok && name != "new" {
		r.Unknown(e.Value, "word", name, "in returns of "+r.where, []string{"new"})
		return
	}
	r.ReturnsNew = true
}
