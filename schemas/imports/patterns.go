package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// read makes a get, slice or scan of a SELECT.
func read(t *schemas.Table, st cql.Statement) *schemas.Pattern {
	c, p := conditionsOf(t, st.Where), &schemas.Pattern{Table: t}
	computed, limited := selectColumns(p, st), st.Limit != nil
	if limited {
		n, err := strconv.Atoi(st.Limit.Text)
		if p.LimitArg = err != nil || n <= 0; !p.LimitArg {
			p.Limit = n
		}
	}
	switch {
	case c.binds(t.Partition...):
		slice(p, c, st, limited)
	default:
		at := slices.IndexFunc(t.Indexes, func(x *schemas.Index) bool { // on one of the columns that = binds
			first := x.Columns[0].Column
			return len(x.Columns) == 1 && !first.Type.Collection() && c.take(first, "=")
		})
		if p.Kind, p.Static = schemas.Scan, at < 0 && onlyPartitions(p, st); at >= 0 {
			p.Kind, p.Index, p.By = schemas.Slice, t.Indexes[at], []*schemas.Column{t.Indexes[at].Columns[0].Column}
		}
	}
	row := p.Kind == schemas.Get && !p.Static && p.In == nil && len(c.rest) == 0
	element := len(st.Select) == 1 && strings.HasSuffix(computed, "]") && !strings.Contains(computed, "..") // m[?]
	if row && element && p.Columns[0].Type.Kind == schemas.Map {
		p.Element, p.Columns = p.Columns[0], nil
	} else {
		other(p, "select", computed)
	}
	if p.Kind == schemas.Get { // it compares nothing else, and has one row
		if left := c.filters(); len(left) > 0 {
			c.rest = append(c.rest, strings.Join(schemas.Names(left), ", ")+" = ?")
		}
		if limited {
			other(p, "limit", st.Limit.Text)
			p.Limit, p.LimitArg = 0, false
		}
	} else {
		p.Filter = c.filters()
	}
	other(p, "where", strings.Join(c.rest, " and "))
	carried(p, st)
	return p
}

// selectColumns sets the columns that a SELECT yields. It returns the text of all if it computes some, else "".
func selectColumns(p *schemas.Pattern, st cql.Statement) string {
	t, computed := p.Table, false
	var texts []string
	for _, x := range st.Select {
		texts, computed = append(texts, x.Text), computed || x.Column == "" || x.Within
		for _, name := range x.Columns {
			if c := t.Column(name); !slices.Contains(p.Columns, c) {
				p.Columns = append(p.Columns, c)
			}
		}
	}
	if st.Select == nil {
		p.Columns = t.All()
	} else if len(p.Columns) == 0 { // count(*)
		p.Columns = t.Partition
	}
	if !computed {
		return ""
	}
	return strings.Join(texts, ", ")
}

// slice makes a get or slice of conditions that bind the partition key.
func slice(p *schemas.Pattern, c *conditions, st cql.Statement, limited bool) {
	t := p.Table
	p.Kind = schemas.Slice
	if st.Distinct && onlyPartitions(p, st) && len(t.Clustering) > 0 {
		p.Kind, p.Static = schemas.Get, true
	}
	p.By = c.prefix(false)
	key := t.Key()
	if len(p.By) < len(key) {
		next := key[len(p.By)]
		for _, o := range st.OrderBy {
			if c := t.Column(o.Column); c != nil && c.Role == schemas.Clustering && o.Near == nil {
				p.Reverse = o.Descending != c.Desc
				break
			}
		}
		switch {
		case c.take(next, "in"):
			p.In = next
		case after(p, c):
		default:
			p.From, p.To = c.bound(next, ">"), c.bound(next, "<")
			begin, end := &p.From, p.To
			if next.Desc != p.Reverse {
				begin, end = &p.To, p.From
			}
			if limited && *begin != nil && (*begin).Open && end == nil { // id < ? LIMIT ?, if id descends, is a page
				p.After, *begin = []*schemas.Column{next}, nil
			}
		}
	}
	bound := len(p.By)
	if p.In != nil {
		bound++
	}
	if bound == len(key) {
		p.Kind, p.Reverse = schemas.Get, false
	}
}

// onlyPartitions reports whether a SELECT DISTINCT yields static columns of partitions.
func onlyPartitions(p *schemas.Pattern, st cql.Statement) bool {
	return st.Distinct && len(p.Table.Static) > 0 && !slices.ContainsFunc(p.Columns, func(c *schemas.Column) bool {
		return c.Role != schemas.Partition && c.Role != schemas.Static
	})
}

// after makes (a, b) < (?, ?) a page after a row, if that is the reading order.
func after(p *schemas.Pattern, c *conditions) bool {
	rest := p.Table.Key()[len(p.By):]
	sign := "<"
	if rest[0].Desc == p.Reverse {
		sign = ">"
	}
	at := slices.IndexFunc(c.left, func(r cql.Relation) bool {
		return r.Tuple && len(r.Columns) > 1 && r.Op == sign && len(r.Columns) <= len(rest) &&
			slices.Equal(r.Columns, schemas.Names(rest[:len(r.Columns)]))
	})
	if at >= 0 {
		p.After = rest[:len(c.left[at].Columns)]
		c.left = slices.Delete(c.left, at, at+1)
	}
	return at >= 0
}

// carried adds the clauses of a SELECT that the language does not have.
func carried(p *schemas.Pattern, st cql.Statement) {
	if st.Distinct && !p.Static {
		other(p, "distinct", "true")
	}
	other(p, "group by", strings.Join(st.GroupBy, ", "))
	for _, o := range st.OrderBy {
		if o.Near != nil {
			other(p, "order by", o.Column+" ann of ?")
		}
	}
	if st.PerPartition != nil {
		other(p, "per partition limit", st.PerPartition.Text)
	}
	if st.AllowFiltering != (len(p.Filter) > 0) { // else a filter implies it
		other(p, "allow filtering", strconv.FormatBool(st.AllowFiltering))
	}
}

// conditions are the relations of a WHERE.
type conditions struct {
	table *schemas.Table
	left  []cql.Relation // those that nothing has taken, by their operators; none is of several columns with =, or BETWEEN
	rest  []string       // those that are carried through
}

func conditionsOf(t *schemas.Table, where []cql.Relation) *conditions {
	c := &conditions{table: t}
	for _, r := range where {
		switch {
		case r.Op == "between":
			c.left = append(c.left, cql.Relation{Columns: r.Columns, Op: ">="}, cql.Relation{Columns: r.Columns, Op: "<="})
		case r.Op == "=" && !r.Token && !r.Within:
			for _, name := range r.Columns {
				c.left = append(c.left, cql.Relation{Columns: []string{name}, Op: "="})
			}
		default:
			c.left = append(c.left, r)
		}
	}
	slices.SortStableFunc(c.left, func(a, b cql.Relation) int { return cmp.Compare(rank(a), rank(b)) })
	return c
}

// rank is the place of a relation among others: equal statements can have them in any order.
func rank(r cql.Relation) int {
	if r.Within || r.Token {
		return 0
	}
	return 1 + slices.Index([]string{"=", "in", ">", ">=", "<", "<="}, r.Op)
}

// find returns the place of the relation that compares a column alone, or -1.
func (c *conditions) find(col *schemas.Column, op string) int {
	return slices.IndexFunc(c.left, func(r cql.Relation) bool {
		return r.Op == op && r.Columns[0] == col.Name && len(r.Columns) == 1 && !r.Token && !r.Within
	})
}

// take removes the relation of a column and reports whether it was there.
func (c *conditions) take(col *schemas.Column, op string) bool {
	i := c.find(col, op)
	if i >= 0 {
		c.left = slices.Delete(c.left, i, i+1)
	}
	return i >= 0
}

// bound removes the bound of a column and returns it, or nil. The sign is < or >.
func (c *conditions) bound(col *schemas.Column, sign string) *schemas.Bound {
	if c.take(col, sign) {
		return &schemas.Bound{Column: col, Open: true}
	} else if c.take(col, sign+"=") {
		return &schemas.Bound{Column: col}
	}
	return nil
}

// binds reports whether = or IN binds all of some columns.
func (c *conditions) binds(columns ...*schemas.Column) bool {
	free := func(col *schemas.Column) bool { return c.find(col, "=") < 0 && c.find(col, "in") < 0 }
	return !slices.ContainsFunc(columns, free)
}

// prefix takes the first key columns that = binds. A list counts as one of its values, and is carried through; of a
// read not the last one of what is bound.
func (c *conditions) prefix(write bool) (by []*schemas.Column) {
	key := c.table.Key()
	for i, col := range key {
		last := !write && (i == len(key)-1 || i >= len(c.table.Partition)-1 && !c.binds(key[i+1]))
		switch {
		case c.take(col, "="):
		case !last && c.take(col, "in"):
			c.rest = append(c.rest, col.Name+" in ?")
		default:
			return by
		}
		by = append(by, col)
	}
	return by
}

// filters returns the columns of all conditions that are left, and carries through what is more than =.
func (c *conditions) filters() (all []*schemas.Column) {
	for _, r := range c.left {
		if r.Op != "=" || r.Within {
			c.rest = append(c.rest, shape(r))
		}
		for _, name := range r.Columns {
			one := !r.Token && (len(r.Columns) == 1 || r.Op == ">" || r.Op == "<")
			if col := c.table.Column(name); one && !slices.Contains(all, col) {
				all = append(all, col)
			}
		}
	}
	return all
}

// shape writes a relation with ? for its value.
func shape(r cql.Relation) string {
	text := strings.Join(r.Columns, ", ")
	switch {
	case r.Token:
		text = "token(" + text + ")"
	case r.Tuple:
		text = "(" + text + ")"
	case r.Within:
		text += "[?]"
	}
	if text += " " + r.Op; r.Op != "is not null" {
		text += " ?"
	}
	return text
}

// other adds a clause to what a pattern carries through.
func other(p *schemas.Pattern, name, text string) {
	at := slices.IndexFunc(p.Other, func(s schemas.Setting) bool { return s.Name == name })
	switch {
	case text == "":
	case at >= 0:
		p.Other[at].Text += ", " + text
	default:
		p.Other = append(p.Other, schemas.Setting{Name: name, Text: text})
	}
}

// writes makes patterns of an INSERT, UPDATE or DELETE. Most are one. A statement that
// changes columns in several ways, or static and plain ones, is several.
func writes(t *schemas.Table, st cql.Statement) (all []*schemas.Pattern) {
	c := conditionsOf(t, st.Where)
	by := c.prefix(true)
	c.filters()
	// of returns the pattern of a kind for a row, or for the static columns of its partition.
	of := func(k schemas.PatternKind, static bool) *schemas.Pattern {
		for _, p := range all {
			if p.Kind == k && p.Static == static {
				return p
			}
		}
		p := &schemas.Pattern{Kind: k, Table: t, Static: static, Columns: []*schemas.Column{}, By: t.Key()}
		if static {
			p.By = t.Partition
		}
		all = append(all, p)
		return p
	}
	var removed []string
	for _, x := range changed(t, st) {
		p := of(x.kind, x.Role == schemas.Static)
		if !slices.Contains(p.Columns, x.Column) {
			p.Columns = append(p.Columns, x.Column)
		}
		if other(p, "set", x.set); x.kind == schemas.Put && st.Kind == cql.Delete {
			removed = append(removed, x.Name)
		}
	}
	switch {
	case st.Kind == cql.Insert && (st.JSON || slices.Contains(st.Columns, t.Key()[len(t.Key())-1].Name)):
		of(schemas.Put, false) // else static columns of a partition
	case st.Kind == cql.Delete && len(st.Delete) == 0:
		p := of(schemas.Delete, false)
		p.By, p.Columns, p.Scope = by, nil, schemas.ScopePrefix
		switch len(by) {
		case len(t.Key()):
			p.Scope = schemas.ScopeRow
		case len(t.Partition):
			p.Scope = schemas.ScopePartition
		}
	}
	for _, p := range all {
		if all := map[bool][]*schemas.Column{true: t.Static, false: t.Columns}[p.Static]; len(p.Columns) == len(all) {
			p.Columns = all // in the table's order
		}
		other(p, "where", strings.Join(c.rest, " and "))
		if p.Kind == schemas.Put {
			other(p, "delete", strings.Join(removed, ", "))
		}
	}
	return all
}

// A change is a column that a write names besides those that find its row, and how the write changes it. set is the
// text of an assignment that the language does not have, or "".
type change struct {
	*schemas.Column
	kind schemas.PatternKind
	set  string
}

func changed(t *schemas.Table, st cql.Statement) (all []change) {
	for _, a := range st.Set {
		x := change{t.Column(a.Column), schemas.Put, ""}
		switch {
		case x.Type.Kind == schemas.Counter:
			x.kind = schemas.Add
		case x.Type.Collection() && a.Remove:
			x.kind = schemas.Remove
		case x.Type.Collection() && (a.Add || a.Within):
			x.kind = schemas.Append
		}
		if a.Prepend || a.Within && (!x.Type.Collection() || x.Type.Kind == schemas.List) {
			x.set = a.Text
		}
		all = append(all, x)
	}
	for _, removed := range st.Delete {
		x := change{t.Column(removed.Columns[0]), schemas.Put, ""}
		if removed.Within && x.Type.Collection() {
			x.kind = schemas.Remove
		}
		all = append(all, x)
	}
	given := st.Columns
	if st.JSON { // its document may have all
		given = schemas.Names(slices.Concat(t.Static, t.Columns))
	}
	for _, name := range given {
		if c := t.Column(name); !slices.Contains(t.Key(), c) {
			all = append(all, change{c, schemas.Put, ""})
		}
	}
	return all
}

// condition makes a put conditional, or the whole that it is a part of: a part has no condition. Clauses that the
// language does not have are carried through.
func condition(p, whole *schemas.Pattern, st cql.Statement) {
	exists := "exists"
	if st.IfNotExists {
		exists = "not exists"
	} else if len(st.If) == 0 && !st.IfExists {
		return
	}
	put := p.Kind == schemas.Put && !p.Static
	var columns []*schemas.Column
	var rest []string
	for _, r := range st.If {
		c := p.Table.Column(r.Columns[0])
		plain := c != nil && c.Role == schemas.Plain && !c.Type.Collection() && c.Type.Kind != schemas.Counter
		if put && r.Op == "=" && !r.Within && plain && !slices.Contains(columns, c) {
			columns = append(columns, c)
		} else {
			rest = append(rest, shape(r))
		}
	}
	switch {
	case put && whole == nil:
		p.Kind, p.If, p.Absent, p.Present = schemas.PutIf, columns, st.IfNotExists, len(columns) == 0 && !st.IfNotExists
	case put && len(columns) > 0:
		other(whole, "if", strings.Join(schemas.Names(columns), " = ? and ")+" = ?")
	case put:
		other(whole, "if", exists)
	case len(st.If) == 0:
		rest = append(rest, exists)
	}
	other(p, "if", strings.Join(rest, " and "))
}

// nameOf makes a name for a pattern that has none.
func nameOf(p *schemas.Pattern) string {
	words, columns := []string{verbs.Replace(p.Kind.String())}, []*schemas.Column(nil)
	for _, part := range p.Parts {
		words = append(words, part.Pattern.Table.Name)
	}
	if p.Table != nil {
		words = append(words, p.Table.Name)
	}
	switch {
	case p.Kind == schemas.Get || p.Kind == schemas.Slice:
		words, columns = []string{p.Table.Name, "by"}, slices.Clone(p.By)
		if p.In != nil {
			columns = append(columns, p.In)
		}
		columns = append(columns, p.Filter...)
	case p.Kind == schemas.Scan:
		columns = p.Filter
	case p.Kind == schemas.Put && len(p.Columns) < len(p.Table.Columns) && len(p.Columns) <= 2:
		columns = p.Columns
	case p.Absent:
		words[0] = "create"
	case p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow:
		words, columns = append(words, "by"), p.By
	}
	return strings.Join(append(words, schemas.Names(columns)...), "_")
}

// verbs are kinds of patterns as names of patterns have them.
var verbs = strings.NewReplacer("increment", "add", "remove-element", "remove", "put-if", "change", "scan", "all")

// free returns the name, or one like it that no pattern has.
func (im *importer) free(name string) string {
	name = strings.TrimRight(name[:min(len(name), maxName-4)], "_.-")
	tried := name
	for n := 2; ; n++ {
		if _, taken := im.named[tried]; !taken {
			return tried
		}
		tried = fmt.Sprintf("%s_%d", name, n)
	}
}
