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

// statement is a compiled pattern: its CQL for each set of bounds that a call
// may give, ready to be run.
type statement struct {
	plan.Plan
	store *Store
	shape *schemas.Pattern // the pattern as CQL takes it: what is selected beside its columns, an index as a filter
	table *table
	args  []schemas.Arg

	queries variants     // by the bounds that are given
	chains  [2][]*query  // a page over columns of both directions: see compileChain
	timed   *query       // a write as a part of a batch, with a timestamp of its own
	keys    int          // so many arguments are key columns, which are never null
	out     int          // how many of the selected columns are yielded
	inAt    int          // the column that in binds, among those selected; -1: no list, or not here
	rowAt   int          // a clustering column: null is no row, but a partition's statics; -1: always a row
	someOf  []int        // static columns: if all are null, there is no row
	limited bool         // the statement has the limit; else it is counted here
	parts   []*statement // of a batch
	counter bool         // writes counters
}

// variants are the queries of a statement by the bounds that a call gives.
type variants [(withFrom | withTo | withAfter) + 1]*query

// stamps reports whether the write carries a timestamp of the store's clock.
// Paxos stamps what it writes with the clock of the node that ran it, cut to
// milliseconds: a plain write just before it, with the microseconds of this
// clock, would win over it. So all writes of a table that some pattern writes
// to conditionally are stamped by the node: one and the same for all rows of a
// partition, as long as it is up.
func (st *statement) setsTimestamp() bool {
	return !st.counter && !st.table.conditional
}

// Prepare implements drivers.Store. The cluster prepares the statements too, so
// that what it refuses is known here.
func (s *Store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	st, err := s.compile(p)
	if err == nil {
		err = s.prepare(ctx, st)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
	}
	return st, nil
}

// errPrepared ends a statement's execution once it is prepared.
var errPrepared = errors.New("prepared")

func (s *Store) prepare(ctx context.Context, st *statement) error {
	for _, q := range st.all() {
		err := s.session.Bind(q.text, func(*gocql.QueryInfo) ([]any, error) { return nil, errPrepared }).WithContext(ctx).Exec()
		if !errors.Is(err, errPrepared) {
			return fmt.Errorf("prepare %s: %w", q.text, err)
		}
	}
	return nil
}

// all returns the statement's queries, but for those of its parts.
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
	st := &statement{store: s, Plan: plan.Of(p), shape: p, args: p.Args(), keys: len(p.By), inAt: -1, rowAt: -1}
	var err error
	if st.table, err = s.tableOf(p.Table); err != nil {
		return nil, err
	}
	if p.Kind.Reads() {
		err = st.compileRead()
	} else {
		err = st.compileWrite()
	}
	return st, err
}

// add numbers a query.
func (s *Store) add(q *query) *query {
	q.id = int(s.statements.Add(1)) - 1
	return q
}

// partition returns the binds that are the partition key, if by binds it whole.
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
	st := &statement{store: s, Plan: plan.Of(p)}
	counters := 0
	for _, part := range p.Parts {
		sub, err := s.compile(part.Pattern)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern.Name, err)
		}
		if sub.counter {
			counters++
		}
		st.parts = append(st.parts, sub)
	}
	st.counter = counters > 0
	switch {
	case p.Atomic == schemas.AtomicNone:
	case counters > 0 && counters < len(st.parts):
		return nil, unsupported("counters are in batches of their own")
	case counters > 0 && p.Atomic == schemas.AtomicAll:
		return nil, unsupported("counters of several partitions cannot be changed together: their batches are not logged")
	}
	return st, nil
}
