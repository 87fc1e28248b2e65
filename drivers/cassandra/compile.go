package cassandra

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// compiler compiles the patterns of applied schemas to statements. It needs no cluster.
type compiler struct {
	applied plan.Tables[ddl.TableDefinition]
}

func (k *compiler) compile(p *schemas.Pattern) (*statement, error) {
	return plan.Compile(p, k.applied.Find, compileOne, compileBatch)
}

func compileOne(p *schemas.Pattern, t *ddl.TableDefinition) (*statement, error) {
	if why := p.CassandraOnly(); why != "" {
		return nil, unsupported("only a separate statement can execute it: it %s", why)
	}
	st := &statement{Plan: plan.Of(p), shape: p, table: t, keys: len(p.By), inAt: -1, rowAt: -1}
	if p.Kind.Reads() {
		return st, st.compileRead()
	}
	return st, st.compileWrite()
}

func compileBatch(p *schemas.Pattern, parts []*statement) (*statement, error) {
	counters := 0
	st := &statement{Plan: plan.Of(p), parts: parts}
	for i, part := range parts {
		if part.counter {
			counters++
		} else if !part.setsTimestamp() {
			st.stamped = append(st.stamped, p.Parts[i].Pattern.Table)
		}
	}
	st.counter = counters > 0
	switch {
	case p.Atomic == schemas.AtomicNone:
		st.unlogged = ddl.UnloggedBatches(p.Parts[0].Pattern.Table) && p.Parallel == 0 && counters == 0
	case counters > 0 && counters < len(st.parts):
		return nil, unsupported("a batch cannot mix counters with other columns")
	case counters > 0 && p.Atomic == schemas.AtomicAll:
		return nil,
			unsupported("counters of several partitions cannot be changed together: a batch of counters is not logged")
	}
	return st, nil
}

// statement is a compiled pattern. It has a query for each set of bounds that a
// call may give.
type statement struct {
	plan.Plan
	shape *schemas.Pattern // the pattern in CQL's terms: with all selected columns, and an index as a filter
	table *ddl.TableDefinition

	reads   variants     // of a read
	writes  [2]forms     // of a write; the second are those of a put of new rows with elements of sets or maps
	keys    int          // the first arguments are this many key columns, which must not be null
	out     int          // the first columns selected are this many to yield
	inAt    int          // position among the selected columns of the one that in binds; -1 if not needed
	rowAt   int          // position of a clustering column that is null if there is no row; -1 if not needed
	someOf  []int        // positions of static columns: there is no row if all are null
	limited bool         // the query has a LIMIT; if not, the driver counts the rows
	parts   []*statement // the parts of a batch
	counter bool         // it writes counters
	// unlogged is true if the parts of a batch that is not atomic are sent as one request.
	unlogged bool
	stamped  []*schemas.Table // the tables of a batch's parts whose timestamps nodes set
}

// variants are the queries of a read, by the bounds that a call gives. They are several only for a page over columns of
// mixed direction: see chain.
type variants [(plan.WithFrom | plan.WithTo | plan.WithAfter) + 1][]*query

// forms are the queries of a write: as a request of its own, which has the timestamp, and as part of a batch, with a
// timestamp of its own.
type forms [2]*query

const (
	single = iota
	inBatch
)

// setsTimestamp reports whether the write gets its timestamp from the store's
// clock. If some pattern writes to the table conditionally, nodes set the
// timestamps of all its writes. The reason: a Paxos write gets the clock of the
// node that ran it, cut to milliseconds, so a plain write just before it with this
// clock's microseconds would win over it. All writes of a partition go to the same
// node as long as that is up.
func (st *statement) setsTimestamp() bool {
	return !st.counter && !st.table.Conditional
}

// timeOf returns the timestamp of part i of a batch whose first part has the timestamp first, or
// 0 if the node sets it.
func (st *statement) timeOf(first int64, i int) int64 {
	if !st.setsTimestamp() {
		return 0
	}
	return first + int64(i)
}

// all returns the statement's queries, without those of its parts.
func (st *statement) all() []*query {
	all := slices.Concat(st.writes[0][:], st.writes[1][:], slices.Concat(st.reads[:]...))
	return slices.DeleteFunc(all, func(q *query) bool { return q == nil })
}

// partition returns the binds of the partition key, or nil if by does not bind all
// of it.
func (st *statement) partition() []bind {
	if len(st.shape.By) < len(st.table.Partition) {
		return nil
	}
	return bindsFrom(0, len(st.table.Partition))
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, drivers.ErrUnsupported)...)
}

// Prepare implements drivers.Store. The cluster prepares the queries too, so that
// Prepare fails if the cluster refuses one.
func (s *Store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return plan.Prepare(s.Gate, p, func(p *schemas.Pattern) (*statement, error) {
		st, err := s.compile(p)
		if err == nil {
			err = s.prepare(ctx, st)
		}
		return st, err
	})
}

// errPrepared stops gocql after it has prepared a query, before it executes it.
var errPrepared = errors.New("prepared")

func (s *Store) prepare(ctx context.Context, st *statement) error {
	for _, q := range st.all() {
		stop := func(*gocql.QueryInfo) ([]any, error) { return nil, errPrepared }
		err := s.session.Bind(q.text, stop).WithContext(ctx).Exec()
		if !errors.Is(err, errPrepared) {
			return fmt.Errorf("prepare %s: %w", q.text, err)
		}
		s.nodes.learn(q.text, st.table.In.Keyspace)
	}
	return nil
}

// compileRead writes one SELECT for each set of bounds that a call may give.
func (st *statement) compileRead() error {
	p := st.Pattern()
	if p.Nested {
		return unsupported("a read of rows and of those around them, which are in other tables")
	}
	if p.Index != nil {
		if err := st.useIndex(); err != nil {
			return err
		}
	}
	for _, c := range st.shape.Filter {
		if p.Reverse && st.table.Indexed(c.Name) {
			return unsupported("Cassandra would use the index on %s, and cannot read in reverse order through an index", c.Name)
		}
	}
	st.chooseColumns()
	// In a scan, a partition with static columns and no row counts towards a
	// LIMIT, so the driver counts the rows itself. A slice of such a partition
	// returns nothing else, so there LIMIT is correct.
	pseudo := p.Kind == schemas.Scan && (st.rowAt >= 0 || st.someOf != nil)
	st.limited = (p.Limit > 0 || p.LimitArg) && p.In == nil && !pseudo
	// One comparison of tuples selects the rows after a row only if all columns are sorted the same way.
	mixed := slices.ContainsFunc(p.After, func(c *schemas.Column) bool { return c.Desc != p.After[0].Desc })
	for with := range plan.Bounds(len(st.reads)) {
		switch after := with&plan.WithAfter != 0; {
		case !st.possible(with):
		case after && mixed:
			st.reads[with] = st.chain(with)
		default:
			st.reads[with] = []*query{st.selection(func(b *writer) {
				b.ends(p, with, st.Layout.From, st.Layout.To, after && len(p.After) > 1)
				if after {
					b.after(p, st.Layout.After)
				}
			})}
		}
	}
	return nil
}

// useIndex turns a slice through an index into its form in CQL: the columns of the
// primary key are bound, and the index's last column is a filter.
func (st *statement) useIndex() error {
	p, x := st.Pattern(), st.Pattern().Index
	if !st.table.Table.OneColumn(x) {
		return unsupported("index %s: a Cassandra index finds equal values of one plain column, and has no order", x.Name)
	}
	last := len(x.Columns) - 1
	switch {
	case len(p.By) <= last:
		return unsupported("index %s: by must bind its last column, %s", x.Name, x.Columns[last].Column.Name)
	case p.Reverse:
		return unsupported("Cassandra cannot read in reverse order through an index")
	case last == 0 && (p.From != nil || p.To != nil || len(p.After) > 0 || p.In != nil):
		return unsupported("index %s without the partition key returns rows in no order, so a read cannot continue after one",
			x.Name)
	}
	// The positions of the arguments stay the same: the filter's argument is the
	// last of those for by.
	bound := *p
	bound.By, bound.Filter = p.By[:last], append([]*schemas.Column{p.By[last]}, p.Filter...)
	if p.In != nil || len(p.Filter) > 0 {
		return unsupported("index %s together with a list or a filter", x.Name)
	}
	st.shape, st.Layout.Filter = &bound, last
	return nil
}

// possible reports whether a call can give exactly these bounds. Of after and the
// bound at which reading begins, only the closer one is used.
func (st *statement) possible(with plan.Bounds) bool {
	return with&^st.Possible() == 0 && (with&plan.WithAfter == 0 || with&st.startBound() == 0)
}

// startBound returns the bound at which reading begins in a pattern with after.
func (st *statement) startBound() plan.Bounds {
	if ascending(st.Pattern().After[0], st.Pattern().Reverse) {
		return plan.WithFrom
	}
	return plan.WithTo
}

// chain compiles a page that continues after a row in columns of mixed
// direction. CQL has no comparison for it, so the page is a chain of reads, run
// one after another until the limit is reached. The first one reads the rows that
// agree with that row in all columns but the last, the next in one column less,
// and so on.
func (st *statement) chain(with plan.Bounds) (all []*query) {
	p := st.Pattern()
	for i := len(p.After) - 1; i >= 0; i-- {
		all = append(all, st.selection(func(b *writer) {
			b.equal(p.After[:i], st.Layout.After)
			b.cond(cql.Quote(p.After[i].Name)+" "+relation(p.After[i], p.Reverse)+" ?", bind(st.Layout.After+i))
			if i == 0 {
				b.ends(p, with, st.Layout.From, st.Layout.To, false)
			}
		}))
	}
	return all
}

// chooseColumns sets the columns to select: first those of the pattern, then those
// that the driver needs to order rows or to see whether a row exists.
func (st *statement) chooseColumns() {
	p := st.shape
	if p.Element != nil {
		st.out = 1
		return
	}
	st.out = len(p.Columns)
	columns := slices.Clone(p.Columns)
	at := func(c *schemas.Column) int {
		if i := slices.Index(columns, c); i >= 0 {
			return i
		}
		columns = append(columns, c)
		return len(columns) - 1
	}
	if p.Static {
		// SELECT DISTINCT must name the whole partition key.
		for _, c := range st.table.Partition {
			at(c)
		}
		for _, c := range st.table.Static {
			st.someOf = append(st.someOf, at(c))
		}
	} else if len(st.table.Static) > 0 && len(p.Filter) == 0 && p.In == nil && len(p.By) <= len(st.table.Partition) {
		st.rowAt = at(st.table.Clustering[0])
	}
	if p.In != nil && !st.readsEach() {
		st.inAt = at(p.In)
	}
	selected := *p
	selected.Columns = columns
	st.shape = &selected
}

// readsEach reports whether each element of the list is read by its own SELECT, as
// the elements are partitions.
func (st *statement) readsEach() bool {
	return st.Pattern().In != nil && st.Pattern().Parallel > 0
}

// selection writes a SELECT. The function more adds the conditions of the bounds.
func (st *statement) selection(more func(b *writer)) *query {
	p, t := st.shape, st.table
	b, columns := new(writer), p.Columns
	b.write("SELECT ")
	switch {
	case p.Element != nil:
		b.write(cql.Quote(p.Element.Name), "[?]")
		b.binds = append(b.binds, bind(st.Layout.Element))
		columns = []*schemas.Column{{Name: p.Element.Name, Type: *p.Element.Type.Elem}}
	case p.Static:
		b.write("DISTINCT ", ddl.Quoted(columns))
	default:
		b.write(ddl.Quoted(columns))
	}
	b.write(" FROM ", t.Qualified())
	b.equal(p.By, 0)
	key := st.partition()
	switch {
	case st.readsEach():
		b.cond(cql.Quote(p.In.Name)+" = ?", bindElement)
		key = append(bindsFrom(0, len(p.By)), bindElement)
	case p.In != nil:
		b.cond(cql.Quote(p.In.Name)+" IN ?", bind(st.Layout.In))
	}
	b.equal(p.Filter, st.Layout.Filter)
	more(b)
	if p.Reverse && len(t.Clustering) > 0 {
		b.write(" ORDER BY ", cql.Quote(t.Clustering[0].Name), ddl.Direction(!t.Clustering[0].Desc))
	}
	if st.limited {
		b.write(" LIMIT ?")
		b.binds = append(b.binds, bindLimit)
	}
	if len(p.Filter) > 1 || len(p.Filter) == 1 && !t.Indexed(p.Filter[0].Name) {
		b.write(" ALLOW FILTERING")
	}
	q := b.query(key)
	q.idempotent, q.columns = true, columns
	return q
}

// divide returns the keys at which n parts of a scan begin, except the first. They divide the ring of
// Murmur3Partitioner, whose tokens are the whole numbers above -2^63, into parts of equal length. A key is a token in
// eight bytes that sort as tokens do.
func divide(_ context.Context, _ *statement, n int) (at [][]byte, err error) {
	for i := 1; i < n; i++ {
		last, _ := bits.Div64(uint64(i), 0, uint64(n)) // 2^64 i / n, of the part before
		at = append(at, binary.BigEndian.AppendUint64(nil, last+1))
	}
	return at, nil
}

// tokens returns the token before the first one of a part of a scan, and the last one.
func tokens(from, end []byte) (after, to int64) {
	before := func(key []byte) int64 {
		var b [8]byte // of a key that another engine has written
		copy(b[:], key)
		return int64(binary.BigEndian.Uint64(b[:]) - 1 - 1<<63)
	}
	after, to = math.MinInt64, math.MaxInt64
	if from != nil {
		after = before(from)
	}
	if end != nil {
		to = before(end)
	}
	return after, to
}

// part returns a copy of a scan that reads only the partitions of some tokens.
func part(_ context.Context, scan *statement, _, _ []byte) (*statement, error) {
	part := *scan
	part.reads[0] = []*query{part.selection(func(b *writer) {
		token := "token(" + ddl.Quoted(part.table.Partition) + ")"
		b.cond(token+" > ?", bindAfterToken)
		b.cond(token+" <= ?", bindToToken)
	})}
	return &part, nil
}
