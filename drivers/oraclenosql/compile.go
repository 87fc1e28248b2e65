package oraclenosql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// action is the request that a statement sends.
type action uint8

const (
	doSelect    action = iota // a prepared query
	doGet                     // Get, by the whole key
	doPut                     // Put, with an option if there must be no such row
	doUpdate                  // a prepared UPDATE, and if it finds no row, Put if absent
	doDelete                  // Delete of one row
	doDeleteAll               // MultiDelete of the rows below a key
	doBatch                   // the parts one by one, or WriteMultiple
)

// statement is a compiled pattern.
type statement struct {
	plan.Plan
	action action
	option types.PutOption // of doPut
	table  *table          // that of Oracle's tables which is read or written

	queries []*query // by the bounds that a call gives, or by which expected values are null
	// inList selects the rows of several keys, and partition has their place; nil if each
	// key has its own request.
	inList, partition *query
	out               []field // what a read yields of a row
	key               []field // the columns that by and in bind
	// sorts: the client sorts all rows of the range, because no index has their order.
	sorts bool
	// listed is for a delete in an atomic batch: it selects the keys of the rows.
	listed *query
	also   *table // a delete also removes the rows of this table: a partition's static columns
	write  []field
	parts  []*statement
	// reads: rows must be read before the batch can be written.
	reads bool
}

// layoutOf is the layout of a schema: its namespace and Oracle's table of each of its tables.
type layoutOf struct {
	schema    *schemas.Schema
	run       string // the store's namespace, which marks name
	namespace string
	all       []*table                  // parents first
	tables    map[*schemas.Table]*table // the table of rows; its parent has the static columns
}

// newLayout returns the layout of a schema in a namespace; "" is that of the run.
func newLayout(s *schemas.Schema, run, namespace string) (*layoutOf, error) {
	if err := drivers.Portable(s); err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	namespace = cmp.Or(namespace, plan.PlaceName(run, plan.Identifier(s.Name)))
	l := &layoutOf{s, run, namespace, nil, make(map[*schemas.Table]*table)}
	paths := make(map[string]string) // keys are in lower case, since Oracle's names have no case
	add := func(t *table) error {
		if other, taken := paths[strings.ToLower(t.path)]; taken {
			return fmt.Errorf("schema %s: tables %s and %s would both be %s in Oracle, which ignores case: rename one",
				s.Name, other, t.of.Name, t.path)
		}
		paths[strings.ToLower(t.path)] = t.of.Name
		t.full, t.static, t.shardKey = l.namespace+":"+t.path, len(t.of.Static) > 0 && t.parent == nil, t.of.Root().Partition
		t.fullKey, t.ownKey = t.of.Key(), t.key
		if t.parent == nil {
			t.fullKey = slices.Concat(t.shardKey, t.key)
			t.ownKey = t.fullKey
		}
		if !t.static {
			t.kept = slices.DeleteFunc(slices.Clone(t.of.Indexes), func(x *schemas.Index) bool { return !keeps(x) })
		}
		l.all, l.tables[t.of] = append(l.all, t), t // that of rows follows that of their static columns
		return nil
	}
	for _, st := range s.Tables {
		if err := checkHints(st); err != nil {
			return nil, fmt.Errorf("schema %s: %w", s.Name, err)
		}
		t := &table{of: st, columns: st.Columns, parent: l.tables[st.Parent]}
		switch {
		case st.Parent == nil && len(st.Static) == 0:
			t.path, t.key = identifier(st.Name), st.Clustering
		case st.Parent == nil:
			t.parent = &table{of: st, path: identifier(st.Name), columns: st.Static}
			if err := add(t.parent); err != nil {
				return nil, err
			}
			t.path, t.key = t.parent.path+".rows", st.Clustering
		default: // its own name is the last part of its name
			own := st.Name[strings.LastIndexByte(st.Name, '.')+1:]
			t.path, t.key = t.parent.path+"."+identifier(own), st.Clustering[st.Inherited:]
		}
		if err := add(t); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// compiler compiles patterns without an engine.
func compiler(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	if _, err := readSettings(o.Settings); err != nil {
		return nil, err
	}
	l, err := newLayout(s, o.Namespace, "")
	if err != nil {
		return nil, err
	}
	find := func(p *schemas.Pattern) (*table, error) { return l.tables[p.Table], nil }
	return plan.Compiler(func(p *schemas.Pattern) (*statement, error) {
		return plan.Compile(p, find, compileOne, batchOf)
	}), nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, drivers.ErrUnsupported)...)
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
		st.reads = st.reads || part.action == doUpdate || part.action == doDeleteAll || part.option != 0
	}
	if st.reads {
		st.Emulate(p)
	}
	return st, nil
}

// compileOne compiles a pattern of rows of the table, or of their partitions' static columns.
func compileOne(p *schemas.Pattern, t *table) (*statement, error) {
	if p.Static {
		t = t.parent
	}
	st := &statement{Plan: plan.Of(p), table: t}
	for _, c := range p.By {
		st.key = append(st.key, fieldOf(c))
	}
	if p.In != nil {
		st.key = append(st.key, fieldOf(p.In))
	}
	if p.Kind.Reads() {
		st.compileRead()
		return st, nil
	}
	for _, c := range p.Columns {
		st.write = append(st.write, fieldOf(c))
	}
	return st, st.compileWrite()
}

// Prepare implements drivers.Store. The server prepares the queries too, so that Prepare
// fails if the server refuses one.
func (s *Store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	one := func(p *schemas.Pattern, t *table) (*statement, error) {
		if p.Index != nil && slices.Contains(t.absent, p.Index) {
			return nil, unsupported("index %s is not there", p.Index.Name)
		}
		st, err := compileOne(p, t)
		if err == nil {
			err = s.prepare(ctx, st)
		}
		return st, err
	}
	return plan.Prepare(&s.gate, p, func(p *schemas.Pattern) (*statement, error) {
		return plan.Compile(p, s.applied.Find, one, batchOf)
	})
}

// prepare has the server prepare a statement's queries. A plan that sorts, though the order is
// that of an index, or that reads a range from its beginning, though it has a bound, counts as
// emulated. A list whose plan does not read by keys of one partition is read key by key.
func (s *Store) prepare(ctx context.Context, st *statement) error {
	for _, q := range append(slices.Clone(st.queries), st.listed, st.inList, st.partition) {
		if q == nil {
			continue
		}
		r, err := onDDL(ctx, s, func(c *nosqldb.Client, left time.Duration) (*nosqldb.PrepareResult, error) {
			return c.Prepare(&nosqldb.PrepareRequest{Statement: q.declared, GetQueryPlan: true, Timeout: left})
		})
		if err != nil {
			return fmt.Errorf("prepare %s: %w", q.text, err)
		}
		q.prepared = &r.PreparedStatement
		plan, ok := readPlan(r.PreparedStatement.GetQueryPlan())
		if !ok {
			continue
		}
		q.plan = &plan
		if plan.sorts {
			st.sorts = true
		}
		if (plan.sorts || q.bounded && len(plan.ranges) == 0) && st.Emulates() == nil {
			st.Emulate(st.Pattern())
		}
	}
	if q := st.inList; q != nil && q.plan != nil {
		column := identifier(st.Pattern().In.Name)
		if p := q.plan; p.partitions != distributions["SINGLE_PARTITION"] || p.index != "primary index" ||
			!slices.Contains(p.equal, column) {
			st.inList, st.partition = nil, nil
		}
	}
	return nil
}

// table is a table of Oracle.
type table struct {
	of      *schemas.Table    // the schema's table of which it has the columns, or the static columns
	path    string            // its name, with those of its parents: users.folder
	full    string            // its name in requests: mailbench_run_oracle:users.folder
	parent  *table            // nil for a root table
	static  bool              // it has the static columns of the schema's table
	key     []*schemas.Column // its own key columns, without the shard's and without those of its parents
	columns []*schemas.Column

	shardKey []*schemas.Column // say on which shard a row lies
	fullKey  []*schemas.Column // its primary key
	ownKey   []*schemas.Column // those of it that its statement names
	kept     []*schemas.Index  // those that Oracle keeps
	absent   []*schemas.Index  // those that a namespace of somebody else's lacks
}

// The hint puts, if json, says that a row is put as a client does that has JSON: the row is written as
// JSON text, which the SDK makes a row of again. The server gets the same.
const (
	putsHint = "puts"
	asJSON   = "json"
)

// checkHints refuses hints of a table that the driver does not know. Text is the same in JSON; values of
// other types would become others.
func checkHints(t *schemas.Table) error {
	for name, value := range t.Hints[engineName] {
		if name != putsHint || value != asJSON {
			return fmt.Errorf("table %s: hint %s: %s: this engine has only puts: json", t.Name, name, value)
		}
		for _, c := range slices.Concat(t.Key(), t.Columns) {
			if c.Type.Kind != schemas.Text {
				return fmt.Errorf("table %s: hint puts: json is for tables of text; column %s is a %s", t.Name, c.Name, c.Type)
			}
		}
	}
	return nil
}

// putsJSON reports whether rows of the table are put as JSON.
func (t *table) putsJSON() bool { return t.of.Hints[engineName][putsHint] == asJSON }

func (st *statement) compileWrite() error {
	p := st.Pattern()
	if err := st.InOneRow(); err != nil {
		return err
	}
	switch p.Kind {
	case schemas.Delete:
		if len(p.By) == len(st.table.fullKey) {
			st.action = doDelete
			return nil
		}
		st.action = doDeleteAll
		if p.Scope == schemas.ScopePartition && len(p.Table.Static) > 0 && !p.Static {
			st.also = st.table.parent
		}
		b := &builder{}
		fmt.Fprintf(b, "SELECT %s FROM %s", names(st.table.fullKey), st.table.full)
		b.whereEqual(p.By, 0, plainName)
		st.listed = b.done()
		return nil
	case schemas.Put:
		part := func(c *schemas.Column) bool { return !slices.Contains(p.Columns, c) }
		if !slices.ContainsFunc(st.table.columns, part) {
			st.action = doPut
			return nil
		}
		if len(p.Columns) == 0 { // the row is there, whatever it holds
			st.action, st.option = doPut, types.PutIfAbsent
			return nil
		}
	case schemas.PutIf:
		if p.Absent {
			st.action, st.option = doPut, types.PutIfAbsent
			return nil
		}
		if len(p.If) > 4 {
			return unsupported("a condition on %d columns", len(p.If))
		}
	}
	st.action = doUpdate
	for nulls := range 1 << len(p.If) {
		st.queries = append(st.queries, st.update(nulls))
	}
	return nil
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
		b.where("%s = %s", identifier(c.Name), b.arg("expected_"+identifier(c.Name), c, st.Layout.If+i))
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
	v := b.arg(id, c, at)
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
