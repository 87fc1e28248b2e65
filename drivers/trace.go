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
	// Nodes that read or wrote: replicas of Cassandra, on each of which rows are
	// counted; regions of HBase.
	Nodes int64
	// Rows that the engine read, returned or not. Rows of HBase, where a row may hold
	// many of the schema's.
	Rows int64
	// Tombstones that were read.
	Tombstones int64
	// Hidden entries were passed and not seen by the reader: tombstones, what they
	// delete, older versions, and changes that are merged into one row.
	Hidden int64
	Cells  int64 // that were returned
	Bytes  int64 // of the cells that were returned: their keys and values
	Blocks int64 // bytes of the blocks of files that were read, also from a cache
	Time   time.Duration
}

// Untold is the work of an engine that tells nothing.
var Untold = Work{-1, -1, -1, -1, -1, -1, -1, -1, -1}
