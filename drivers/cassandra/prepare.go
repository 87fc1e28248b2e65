package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern. It has a query for each set of bounds that a
// call may give.
type statement struct {
	plan.Plan
	store *Store
	shape *schemas.Pattern // the pattern in CQL's terms: with all selected columns, and an index as a filter
	table *table
	args  []schemas.Arg

	queries variants     // one query for each set of bounds that a call may give
	chains  [2][]*query  // pages over columns of mixed direction: see compileChain
	timed   *query       // a write as part of a batch, with its own timestamp
	keys    int          // the first arguments are this many key columns, which must not be null
	out     int          // the first columns selected are this many to yield
	inAt    int          // position among the selected columns of the one that in binds; -1 if not needed
	rowAt   int          // position of a clustering column that is null if there is no row; -1 if not needed
	someOf  []int        // positions of static columns: there is no row if all are null
	limited bool         // the query has a LIMIT; if not, the driver counts the rows
	tokens  tokenRange   // the tokens of a part of a scan
	parts   []*statement // the parts of a batch
	counter bool         // it writes counters
	// unlogged is true if the parts of a batch that is not atomic are sent as one request.
	unlogged bool
}

// variants are the queries of a statement, by the bounds that a call gives.
type variants [(withFrom | withTo | withAfter) + 1]*query

// setsTimestamp reports whether the write gets its timestamp from the store's
// clock. If some pattern writes to the table conditionally, nodes set the
// timestamps of all its writes. The reason: a Paxos write gets the clock of the
// node that ran it, cut to milliseconds, so a plain write just before it with this
// clock's microseconds would win over it. All writes of a partition go to the same
// node as long as that is up.
func (st *statement) setsTimestamp() bool {
	return !st.counter && !st.table.conditional
}

// Prepare implements drivers.Store. The cluster prepares the queries too, so that
// Prepare fails if the cluster refuses one.
func (s *Store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if s.readOnly && !p.Kind.Reads() {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, drivers.ErrReadOnly)
	}
	st, err := s.compile(p)
	if err == nil {
		err = s.prepare(ctx, st)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
	}
	return st, nil
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
	}
	return nil
}

// all returns the statement's queries, without those of its parts.
func (st *statement) all() []*query {
	var all []*query
	for _, qs := range [][]*query{st.queries[:], {st.timed}, st.chains[0], st.chains[1]} {
		for _, q := range qs {
			if q != nil {
				all = append(all, q)
			}
		}
	}
	return all
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, drivers.ErrUnsupported)...)
}

func (s *Store) compile(p *schemas.Pattern) (*statement, error) {
	if p.Kind == schemas.Batch {
		return s.compileBatch(p)
	}
	p, table, err := s.applied.Find(p)
	if err != nil {
		return nil, err
	}
	st := &statement{
		store: s, Plan: plan.Of(p), shape: p, table: table, args: p.Args(), keys: len(p.By), inAt: -1, rowAt: -1,
	}
	if p.Kind.Reads() {
		err = st.compileRead()
	} else {
		err = st.compileWrite()
	}
	return st, err
}

// add gives a query its number.
func (s *Store) add(q *query) *query {
	q.id = int(s.statements.Add(1)) - 1
	return q
}

// partition returns the binds of the partition key, or nil if by does not bind all
// of it.
func (st *statement) partition() []bind {
	n := len(st.table.Partition)
	if len(st.shape.By) < n {
		return nil
	}
	key := make([]bind, n)
	for i := range key {
		key[i] = bind(i)
	}
	return key
}

func (s *Store) compileBatch(p *schemas.Pattern) (*statement, error) {
	parts, err := plan.Compile(p, s.compile)
	if err != nil {
		return nil, err
	}
	counters := 0
	for _, part := range parts {
		if part.counter {
			counters++
		}
	}
	st := &statement{store: s, Plan: plan.Of(p), parts: parts, counter: counters > 0}
	switch {
	case p.Atomic == schemas.AtomicNone:
		if st.unlogged, err = unloggedBatches(p.Parts[0].Pattern.Table); err != nil {
			return nil, err
		}
		st.unlogged = st.unlogged && p.Parallel == 0 && counters == 0
	case counters > 0 && counters < len(st.parts):
		return nil, unsupported("a batch cannot mix counters with other columns")
	case counters > 0 && p.Atomic == schemas.AtomicAll:
		return nil,
			unsupported("counters of several partitions cannot be changed together: a batch of counters is not logged")
	}
	return st, nil
}
