package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// query is a statement of SQL with its external variables.
type query struct {
	text  string
	binds []bind
	note  string // what explain says of it, or ""
	// prepared is what the server prepared. Each request gives its variables to a copy: the copies
	// would share the map of the variables of this one.
	prepared *nosqldb.PreparedStatement
	plan     *queryPlan // nil if the server reports none
	bounded  bool       // it has a bound, which must be a range of the index
}

// bind is an external variable of a query, and where its value comes from.
type bind struct {
	name  string // "$userID"
	from  int    // position of the argument, or one of the constants below
	field field
	// mapKey: the value is the key of a map's element, which is a string for Oracle.
	mapKey bool
}

// Sources of values that are no argument.
const (
	bindElement   = -1 - iota // an element of the list that in binds
	bindLimit                 // how many rows are still wanted
	bindLow                   // the first key of a part of a scan
	bindHigh                  // the key that follows a part of a scan
	bindList                  // several elements of the list that in binds
	bindPartition             // the partition that has their rows
)

// declared returns the text with the declarations of its variables, as the server wants it.
func (q *query) declared() string {
	if len(q.binds) == 0 {
		return q.text
	}
	var b strings.Builder
	b.WriteString("DECLARE ")
	for _, v := range q.binds {
		typ := v.field.sqlType()
		if v.mapKey {
			typ = "STRING"
		}
		if v.from == bindList {
			typ = "ARRAY(" + typ + ")"
		}
		fmt.Fprintf(&b, "%s %s; ", v.name, typ)
	}
	return b.String() + q.text
}

// sqlType returns the type of a field's variable.
func (f field) sqlType() string {
	role := schemas.Plain
	if f.key {
		role = schemas.Clustering
	}
	typ, _ := columnType(&schemas.Column{Type: f.typ, Role: role})
	return strings.TrimSuffix(typ, " AS UUID")
}

// builder writes a query.
type builder struct {
	strings.Builder
	query query
	conds int // the number of conditions so far
}

// implicit lists the variables that SQL itself or a query sets, whose names others must not have.
var implicit = []string{"$key", "$value", "$element", "$pos", rowVariable}

// variable returns the name of a variable for an argument. A variable that has the
// same argument is used again.
func (b *builder) variable(name string, from int, f field) string {
	name = "$" + name
	if slices.Contains(implicit, strings.ToLower(name)) {
		name += "_"
	}
	for {
		at := slices.IndexFunc(b.query.binds, func(v bind) bool { return v.name == name })
		if at < 0 {
			b.query.binds = append(b.query.binds, bind{name: name, from: from, field: f})
			return name
		}
		if b.query.binds[at].from == from {
			return name
		}
		name += "_"
	}
}

// where writes a condition.
func (b *builder) where(format string, args ...any) {
	fmt.Fprintf(b, []string{" WHERE ", " AND "}[min(b.conds, 1)]+format, args...)
	b.conds++
}

// whereEqual writes the conditions that columns equal the arguments from position at on.
func (b *builder) whereEqual(cs []*schemas.Column, at int, name func(*schemas.Column) string) {
	for i, c := range cs {
		b.where("%s = %s", name(c), b.variable(identifier(c.Name), at+i, fieldOf(c)))
	}
}

func (b *builder) done() *query {
	b.query.text = b.String()
	return &b.query
}

// inputs are the sources of the values that a query binds.
type inputs struct {
	args      []drivers.Value
	element   drivers.Value
	list      []drivers.Value // several elements
	partition int             // that has their rows
	limit     int64           // -1: none
	low, high any
}

// maxLimit is the largest LIMIT: it is an INTEGER.
const maxLimit = 1<<31 - 1

// value returns the value of a variable as the SDK takes it.
func (v *bind) value(in *inputs) any {
	if v.mapKey {
		return mapKey(v.field.typ, in.args[v.from])
	}
	switch v.from {
	case bindElement:
		return v.field.encode(in.element)
	case bindLimit:
		if in.limit < 0 {
			return maxLimit
		}
		return int(min(in.limit, maxLimit))
	case bindLow:
		return in.low
	case bindHigh:
		return in.high
	case bindPartition:
		return in.partition
	case bindList:
		all := make([]types.FieldValue, len(in.list))
		for i, e := range in.list {
			all[i] = v.field.encode(e)
		}
		return all
	}
	return v.field.encode(in.args[v.from])
}
