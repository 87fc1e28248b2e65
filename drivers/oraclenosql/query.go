package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// query is a statement of SQL with its external variables.
type query struct {
	text      string
	declared  string // text with the declarations of its variables, as the server wants it
	variables []variable
	note      string // what explain says of it, or ""
	// prepared is what the server prepared. Each request gives its variables to a copy: the copies
	// would share the map of the variables of this one.
	prepared *nosqldb.PreparedStatement
	plan     *queryPlan // nil if the server reports none
	bounded  bool       // it has a bound, which must be a range of the index
}

// variable is an external variable of a query, and its value for a call.
type variable struct {
	name  string // "$userID"
	value func(in *inputs) any
}

// inputs are the sources of the values of variables.
type inputs struct {
	args      []drivers.Value
	element   drivers.Value   // of the list that in binds
	list      []drivers.Value // several elements of it
	partition int             // that has their rows
	limit     int64           // how many rows are still wanted; -1: all
}

// maxLimit is the largest LIMIT: it is an INTEGER.
const maxLimit = 1<<31 - 1

// sqlType returns the type of a field's variable.
func (f field) sqlType() string {
	typ, _ := f.columnType()
	return strings.TrimSuffix(typ, " AS UUID")
}

// builder writes a query.
type builder struct {
	strings.Builder
	query    query
	declares string
	conds    int // the number of conditions so far
}

// implicit lists the variables that SQL itself or a query sets, whose names others must not have.
var implicit = []string{"$key", "$value", "$element", "$pos", rowVariable}

// variable declares a variable, and returns its name, which no other has.
func (b *builder) variable(name, typ string, value func(*inputs) any) string {
	name = "$" + name
	if slices.Contains(implicit, strings.ToLower(name)) {
		name += "_"
	}
	for slices.ContainsFunc(b.query.variables, func(v variable) bool { return v.name == name }) {
		name += "_"
	}
	b.query.variables = append(b.query.variables, variable{name, value})
	b.declares += name + " " + typ + "; "
	return name
}

// arg declares a variable with the argument at that position, which is a value of the column.
func (b *builder) arg(name string, c *schemas.Column, at int) string {
	f := fieldOf(c)
	return b.variable(name, f.sqlType(), func(in *inputs) any { return f.encode(in.args[at]) })
}

// key declares a variable with a key at which a part of a scan begins or ends.
func (b *builder) key(name string, first *schemas.Column, key []byte) string {
	text := strings.ToValidUTF8(string(key), "\x7f")
	return b.variable(name, fieldOf(first).sqlType(), func(*inputs) any { return text })
}

// where writes a condition.
func (b *builder) where(format string, args ...any) {
	fmt.Fprintf(b, []string{" WHERE ", " AND "}[min(b.conds, 1)]+format, args...)
	b.conds++
}

// whereEqual writes the conditions that columns equal the arguments from position at on.
func (b *builder) whereEqual(cs []*schemas.Column, at int, name func(*schemas.Column) string) {
	for i, c := range cs {
		b.where("%s = %s", name(c), b.arg(identifier(c.Name), c, at+i))
	}
}

func (b *builder) done() *query {
	b.query.text = b.String()
	if b.query.declared = b.query.text; b.declares != "" {
		b.query.declared = "DECLARE " + b.declares + b.query.text
	}
	return &b.query
}

func (st *statement) compileRead() {
	p := st.Pattern()
	if p.Element != nil {
		st.out = []field{{"value", *p.Element.Type.Elem, false}}
	}
	for _, c := range p.Columns {
		st.out = append(st.out, fieldOf(c))
	}
	if st.getsRow() {
		st.action = doGet
	} else {
		st.queries = make([]*query, plan.WithFrom|plan.WithTo|plan.WithAfter+1)
		for with := range plan.Bounds(len(st.queries)) {
			if with&^st.Possible() == 0 {
				st.queries[with] = st.selection(with, nil, nil)
			}
		}
	}
	// The rows of several keys are one query. Patterns that declare parallel reads get those, and a limit ends a
	// read key by key.
	if p.In != nil && !slices.Contains(st.table.shardKey, p.In) && p.Parallel <= 1 && p.Limit == 0 && !p.LimitArg &&
		p.Index == nil && p.Element == nil && !st.joins() && !st.sorts {
		columns := p.Columns
		if !slices.Contains(columns, p.In) { // rows are put in the list's order by it
			columns = append(slices.Clone(columns), p.In)
		}
		b, in := &builder{}, fieldOf(p.In)
		fmt.Fprintf(b, "SELECT %s FROM %s %s", names(columns), st.table.full, rowVariable)
		partition := b.variable("partition", "INTEGER", func(in *inputs) any { return in.partition })
		b.where("partition(%s) = %s", rowVariable, partition)
		b.whereEqual(p.By, 0, plainName)
		list := b.variable(in.name, "ARRAY("+in.sqlType()+")", func(i *inputs) any { return in.encodeAll(i.list) })
		b.where("%s IN %s[]", in.name, list)
		b.whereEqual(p.Filter, st.Layout.Filter, plainName)
		st.inList = b.done()
		b = &builder{} // for the partition of a shard key
		fmt.Fprintf(b, "SELECT partition(%s) AS %s FROM %s %[1]s", rowVariable, partitionName, st.table.full)
		b.whereEqual(st.table.shardKey, 0, plainName)
		b.WriteString(" LIMIT 1")
		st.partition = b.done()
	}
}

// getsRow reports whether a read is a Get, which returns the whole row. A SELECT takes
// longer and returns no more than is requested: it is better where a text, a blob or a
// collection would be read for nothing.
func (st *statement) getsRow() bool {
	p := st.Pattern()
	if p.Kind != schemas.Get || p.Element != nil || len(p.Filter) > 0 || len(st.key) != len(st.table.fullKey) {
		return false
	}
	for _, c := range st.table.columns {
		large := c.Type.Kind == schemas.Text || c.Type.Kind == schemas.Blob || c.Type.Collection()
		if large && !slices.Contains(p.Columns, c) {
			return false
		}
	}
	return !st.joins()
}

// joins reports whether a read of rows also reads their partition's static columns.
func (st *statement) joins() bool {
	p := st.Pattern()
	return !p.Static && slices.ContainsFunc(p.Columns, func(c *schemas.Column) bool {
		return slices.Contains(p.Table.Static, c)
	})
}

// names returns the function that names the table's columns in a query, and what follows FROM.
func (st *statement) source() (name func(*schemas.Column) string, from string) {
	p := st.Pattern()
	switch {
	case p.Nested: // from the root table down to the pattern's
		var path []*table
		for t := st.table; t != nil; t = t.parent {
			path = slices.Insert(path, 0, t)
		}
		var below []string
		for i, t := range path[1:] {
			below = append(below, fmt.Sprintf("%s t%d", t.full, i+1))
		}
		return func(c *schemas.Column) string {
			at := slices.IndexFunc(path, func(t *table) bool { return t.of.Column(c.Name) == c })
			return fmt.Sprintf("t%d.%s", at, identifier(c.Name))
		}, fmt.Sprintf("NESTED TABLES(%s t0 DESCENDANTS(%s))", path[0].full, strings.Join(below, ", "))
	case st.joins():
		return func(c *schemas.Column) string {
			if slices.Contains(p.Table.Static, c) {
				return "s." + identifier(c.Name)
			}
			return "r." + identifier(c.Name)
		}, fmt.Sprintf("NESTED TABLES(%s r ANCESTORS(%s s))", st.table.full, st.table.parent.full)
	case p.Element != nil:
		return plainName, st.table.full + " t"
	}
	return plainName, st.table.full
}

func plainName(c *schemas.Column) string { return identifier(c.Name) }

// selection writes the query of a read with the bounds. The first key column is from the first key on and before the
// second one; nil is no bound.
func (st *statement) selection(with plan.Bounds, low, high []byte) *query {
	p, b := st.Pattern(), &builder{}
	name, from := st.source()
	var columns []string
	for _, c := range p.Columns {
		columns = append(columns, name(c))
	}
	if p.Element != nil {
		typ, at := *p.Element.Type.Key, st.Layout.Element // a key of Oracle's maps is a string
		key := b.variable("element", "STRING", func(in *inputs) any { return mapKey(typ, in.args[at]) })
		columns = []string{fmt.Sprintf("t.%s.%s AS value", identifier(p.Element.Name), key)}
	}
	hint := ""
	if p.Index != nil && !st.joins() {
		hint = fmt.Sprintf("/*+ FORCE_INDEX(%s %s) */ ", st.table.path, identifier(p.Index.Name))
	}
	fmt.Fprintf(b, "SELECT %s%s FROM %s", hint, strings.Join(columns, ", "), from)
	b.whereEqual(p.By, 0, name)
	if p.In != nil {
		f := fieldOf(p.In)
		element := b.variable(f.name, f.sqlType(), func(in *inputs) any { return f.encode(in.element) })
		b.where("%s = %s", name(p.In), element)
	}
	b.whereEqual(p.Filter, st.Layout.Filter, name)
	first := st.table.fullKey[0]
	if low != nil {
		b.where("%s >= %s", name(first), b.key("low", first, low))
	}
	if high != nil {
		b.where("%s < %s", name(first), b.key("high", first, high))
	}
	if with&plan.WithFrom != 0 {
		b.bound(p.From, ">", "from", st.Layout.From, name)
	}
	if with&plan.WithTo != 0 {
		b.bound(p.To, "<", "to", st.Layout.To, name)
	}
	keys := st.Pattern().Order()
	if with&plan.WithAfter != 0 {
		b.where("%s", st.behind(b, keys, 0, name))
	}
	b.query.bounded = with != 0
	st.orderBy(b, keys, name)
	switch {
	case p.LimitArg || p.Limit > 0 && p.In != nil:
		limit := b.variable("limit", "INTEGER", func(in *inputs) any {
			return int(min(uint64(in.limit), maxLimit)) // -1 is the highest uint64
		})
		fmt.Fprintf(b, " LIMIT %s", limit)
	case p.Limit > 0:
		fmt.Fprintf(b, " LIMIT %d", p.Limit)
	}
	return b.done()
}

// bound writes the condition of one end of a range. sign is that of an open end.
func (b *builder) bound(x *schemas.Bound, sign, word string, at int, name func(*schemas.Column) string) {
	if !x.Open {
		sign += "="
	}
	b.where("%s %s %s", name(x.Column), sign, b.arg(word, x.Column, at))
}

// orderBy writes the order. Oracle reads an index forwards or backwards. If some columns
// ascend and others descend, the client sorts all rows of the range. Entries of an index
// whose columns are equal lie in the order of the primary key; Oracle does not know that,
// and would sort, so those columns are left out.
func (st *statement) orderBy(b *builder, keys []schemas.IndexColumn, name func(*schemas.Column) string) {
	var words []string
	backward := 0
	for _, k := range keys {
		word := name(k.Column)
		if k.Desc != st.Pattern().Reverse {
			word += " DESC"
			backward++
		}
		words = append(words, word)
	}
	mixed := backward > 0 && backward < len(words)
	if x := st.Pattern().Index; x != nil && !mixed {
		own := 0
		for _, c := range x.Columns {
			if slices.ContainsFunc(keys, func(k schemas.IndexColumn) bool { return k.Column == c.Column }) {
				own++
			}
		}
		if own > 0 || backward == 0 {
			words = words[:own]
		}
	}
	if len(words) > 0 {
		b.WriteString(" ORDER BY " + strings.Join(words, ", "))
	}
	if mixed {
		st.sorts = true
		b.query.note = "the client sorts all rows of the range"
		if p := st.Pattern(); st.Emulates() == nil {
			st.Emulate(p)
		}
	}
}

// behind returns the condition for rows after the given one, in the order of reading:
// a <= $a AND (a < $a OR b < $b), of which Oracle takes the first part as a range of the
// index.
func (st *statement) behind(b *builder, keys []schemas.IndexColumn, i int, name func(*schemas.Column) string) string {
	c := st.Pattern().After[i]
	sign := ">"
	at := slices.IndexFunc(keys, func(k schemas.IndexColumn) bool { return k.Column == c })
	if keys[at].Desc != st.Pattern().Reverse {
		sign = "<"
	}
	v := b.arg(identifier(c.Name), c, st.Layout.After+i)
	beyond := fmt.Sprintf("%s %s %s", name(c), sign, v)
	if i == len(st.Pattern().After)-1 {
		return beyond
	}
	return fmt.Sprintf("%s %s= %s AND (%s OR %s)", name(c), sign, v, beyond, st.behind(b, keys, i+1, name))
}
