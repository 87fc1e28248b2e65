package cassandra

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern. It has a query for each set of bounds that a
// call may give.
type statement struct {
	plan.Plan
	of    *compiler
	shape *schemas.Pattern // the pattern in CQL's terms: with all selected columns, and an index as a filter
	table *table
	args  []schemas.Arg

	queries variants     // one query for each set of bounds that a call may give
	chains  [2][]*query  // pages over columns of mixed direction: see compileChain
	timed   *query       // a write as part of a batch, with its own timestamp
	adding  [2]*query    // a put of new rows with elements of sets or maps: alone, and with its own timestamp
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
	stamped  []*schemas.Table // the tables of a batch's parts whose timestamps nodes set
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

// timeOf returns the timestamp of part i of a batch whose first part has the timestamp first, or
// 0 if the node sets it.
func (st *statement) timeOf(first int64, i int) int64 {
	if !st.setsTimestamp() {
		return 0
	}
	return first + int64(i)
}

// tokenRange holds the tokens above after, up to and including to.
type tokenRange struct{ after, to int64 }

// all returns the statement's queries, without those of its parts.
func (st *statement) all() []*query {
	var all []*query
	for _, qs := range [][]*query{st.queries[:], {st.timed}, st.adding[:], st.chains[0], st.chains[1]} {
		for _, q := range qs {
			if q != nil {
				all = append(all, q)
			}
		}
	}
	return all
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

func unsupported(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, drivers.ErrUnsupported)...)
}
