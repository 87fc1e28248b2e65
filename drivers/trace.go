package drivers

import (
	"context"
	"time"
)

// Tracer is a store whose engine can tell what it does for a call. Every store of an
// engine that keeps data is one.
type Tracer interface {
	// Traced opens a session whose calls the engine keeps account of. They take longer
	// than those of other sessions, which tracing does not touch.
	Traced() (TracedSession, error)
}

// TracedSession is a session that tells what the engine did for its calls.
type TracedSession interface {
	Session
	// Begin begins a piece of work: the calls from here to the next Begin.
	Begin()
	// Work waits until the engine has told what it did, returns that of each piece of
	// work since the last Work, in their order, and forgets it.
	Work(ctx context.Context) ([]Work, error)
}

// Work is what an engine did for one piece of work. A negative number means that the
// engine does not tell it.
type Work struct {
	// Requests that the client sent. The embedded engine gets no requests; it counts
	// how often it looked for a key.
	Requests int64
	// Nodes is how many replicas of Cassandra, or regions of HBase, read or wrote.
	// Rows are counted on each replica.
	Nodes int64
	// Rows is how many rows the engine read, returned or not. A row of HBase may hold
	// many rows of the schema.
	Rows int64
	// Tombstones is how many tombstones the engine read.
	Tombstones int64
	// Hidden is how many entries the engine passed without returning them: tombstones,
	// what they delete, older versions, and changes that it merges into one row.
	Hidden int64
	Cells  int64 // cells returned
	Bytes  int64 // keys and values of the cells returned
	Blocks int64 // bytes of file blocks read, from disk or from a cache
	Time   time.Duration
}

// Untold is the work of an engine that reports nothing.
var Untold = Work{-1, -1, -1, -1, -1, -1, -1, -1, -1}
