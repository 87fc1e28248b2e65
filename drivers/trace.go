package drivers

import (
	"context"
	"time"
)

// Tracer is a store whose engine can report its work for a call. Every store of an
// engine that keeps data is one.
type Tracer interface {
	// Traced opens a session for whose calls the engine records its work. These calls take
	// longer. Calls of other sessions do not.
	Traced() (TracedSession, error)
}

// TracedSession is a session that returns the engine's work for its calls.
type TracedSession interface {
	Session
	// Begin begins a piece of work: the calls from here to the next Begin.
	Begin()
	// Work waits until the engine has reported its work. It returns that of each piece of
	// work since the last call of Work, in order, and forgets it.
	Work(ctx context.Context) ([]Work, error)
}

// Work is what an engine did for one piece of work. A negative number means that the
// engine does not tell it.
type Work struct {
	// Requests counts those that the client sent, as Cost.Calls does.
	Requests int64
	// Nodes counts those that read or wrote: replicas of Cassandra, each of which counts
	// its rows; regions of HBase.
	Nodes int64
	// Rows counts those that the engine read, returned or not. A row of HBase may hold many
	// of the schema's.
	Rows int64
	// Tombstones counts those that the engine read.
	Tombstones int64
	// Hidden counts entries that the engine passed and did not return: tombstones, entries
	// that they delete, older versions, and changes that it merges into one row.
	Hidden int64
	Cells  int64 // cells that were returned
	Bytes  int64 // bytes of the cells that were returned: their keys and values
	Blocks int64 // bytes of the blocks of files that were read, also from a cache
	Time   time.Duration
}

// Untold is the work of an engine that reports nothing.
var Untold = Work{-1, -1, -1, -1, -1, -1, -1, -1, -1}
