package oraclenosql

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// action is the request that a statement sends.
type action uint8

const (
	doSelect    action = iota // a prepared query
	doGet                     // Get, by the whole key
	doPut                     // Put
	doPutAbsent               // Put if there is no such row
	doUpdate                  // a prepared UPDATE, and if it finds no row, Put if absent
	doUpdateIf                // a prepared UPDATE with a condition
	doDelete                  // Delete of one row
	doDeleteAll               // MultiDelete of the rows below a key
	doBatch                   // the parts one by one, or WriteMultiple
)

// statement is a compiled pattern.
type statement struct {
	plan.Plan
	store  *Store // nil if a compiler made it
	action action
	table  *table // that of Oracle's tables which is read or written
	args   []schemas.Arg
	keys   int // the first arguments are so many key columns, which must not be null

	queries []*query // by the bounds that a call gives, or by which expected values are null
	// inList selects the rows of several keys, and partition tells where they are; nil if each
	// key has its own request.
	inList, partition *query
	out               []field // what a read yields of a row
	key               []field // the columns that by and in bind
	// sorts: the client sorts all rows of the range, because no index has their order.
	sorts bool
	// drops: the engine reads rows that it does not return.
	drops bool
	// listed is for a delete in an atomic batch: it selects the keys of the rows.
	listed *query
	also   *table // a delete also removes the rows of this table: a partition's static columns
	write  []field
	parts  []*statement
	// low and high bound a part of a scan: low <= first key column < high.
	low, high any
	// reads: rows must be read before the batch can be written.
	reads bool
}

// layoutOf is the layout of a schema: its namespace and Oracle's table of each of its tables.
type layoutOf struct {
	namespace string
	all       []*table
	tables    map[*schemas.Table]*table // the table of rows; its parent has the static columns
}

func newLayout(s *schemas.Schema, namespace string) (*layoutOf, error) {
	all, err := layout(s)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	l := &layoutOf{namespace, all, make(map[*schemas.Table]*table)}
	for _, t := range all {
		t.full = namespace + ":" + t.path
		l.tables[t.of] = t // the table of rows, which follows that of their static columns
	}
	return l, nil
}

// compiler compiles patterns without an engine.
func compiler(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	if _, err := readSettings(o.Settings); err != nil {
		return nil, err
	}
	l, err := newLayout(s, namespaceOf(o.Namespace, s.Name))
	if err != nil {
		return nil, err
	}
	return func(p *schemas.Pattern) (drivers.Statement, error) {
		st, err := l.compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		return st, nil
	}, nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, drivers.ErrUnsupported)...)
}

// compile compiles a pattern, which must be one of the layout's schema.
func (l *layoutOf) compile(p *schemas.Pattern) (*statement, error) {
	if p.Kind == schemas.Batch {
		return l.compileBatch(p)
	}
	t := l.tables[p.Table]
	if p.Static {
		t = t.parent
	}
	return t.compile(p)
}

func (l *layoutOf) compileBatch(p *schemas.Pattern) (*statement, error) {
	parts, err := plan.Compile(p, l.compile)
	if err != nil {
		return nil, err
	}
	return batchOf(p, parts)
}

// batchOf compiles a batch of compiled parts.
func batchOf(p *schemas.Pattern, parts []*statement) (*statement, error) {
	st := &statement{Plan: plan.Of(p), action: doBatch, parts: parts}
	switch p.Atomic {
	case schemas.AtomicNone:
		return st, nil
	case schemas.AtomicAll:
		return nil, unsupported("WriteMultiple changes rows of one shard key together, and no others")
	}
	for _, part := range parts {
		st.reads = st.reads || part.action == doUpdate || part.action == doDeleteAll ||
			part.action == doPutAbsent
	}
	if st.reads {
		st.Emulate(p)
	}
	return st, nil
}

func (t *table) compile(p *schemas.Pattern) (st *statement, err error) {
	st = &statement{Plan: plan.Of(p), table: t, args: p.Args(), keys: len(p.By)}
	for _, c := range p.By {
		st.key = append(st.key, fieldOf(c))
	}
	if p.In != nil {
		st.key = append(st.key, fieldOf(p.In))
	}
	if p.Kind.Reads() {
		return st, st.compileRead()
	}
	for _, c := range p.Columns {
		st.write = append(st.write, fieldOf(c))
	}
	return st, st.compileWrite()
}

// fullKey returns the columns of the table's primary key.
func (t *table) fullKey() []*schemas.Column {
	if t.parent == nil {
		return slices.Concat(t.shard, t.key)
	}
	return t.of.Key()
}
