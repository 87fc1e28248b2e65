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
// engine does not report it.
type Work struct {
	// Requests counts those that the client sent, as Cost.Calls does.
	Requests int64 `json:"requests"`
	// Nodes counts those that read or wrote: replicas of Cassandra, each of which counts
	// its rows; regions of HBase.
	Nodes int64 `json:"nodes"`
	// Rows counts those that the engine read, returned or not. A row of HBase may hold many
	// of the schema's.
	Rows int64 `json:"rows_read"`
	// Tombstones counts those that the engine read.
	Tombstones int64 `json:"tombstones"`
	// Hidden counts entries that the engine passed and did not return: tombstones, entries
	// that they delete, older versions, and changes that it merges into one row.
	Hidden int64         `json:"hidden"`
	Cells  int64         `json:"cells"`       // cells that were returned
	Bytes  int64         `json:"bytes"`       // bytes of the cells that were returned: their keys and values
	Blocks int64         `json:"block_bytes"` // bytes of the blocks of files that were read, also from a cache
	Time   time.Duration `json:"server_nanoseconds"`
}

// Unreported is the work of an engine that reports nothing.
var Unreported = Work{-1, -1, -1, -1, -1, -1, -1, -1, -1}

// Querier is a store that can run reads in its engine's own language and report what the engine did for
// them. It only reads.
type Querier interface {
	// Query runs a read a few times, each time with the values of other rows of its table for the
	// statement's parameters. It reads one page of rows each time. The error says why the read cannot
	// be run at all, such as ErrNoValues.
	Query(ctx context.Context, q Question) ([]Queried, error)
}

// Question is a read that an Querier runs.
type Question struct {
	Text  string // one statement, with the full name of its table
	Table string // that name, quoted as the engine quotes names
	// Parameters are those of the statement, in their order. If there are not as many as the engine
	// knows of, it goes by what it knows itself.
	Parameters []Parameter
	Most       int // how often it is run at most
}

// Parameter says what a parameter of a read is compared with.
type Parameter struct {
	Column string // "" if it is none
	Token  bool   // the token of the partition key
	Op     string // =, <, in, contains and so on, or limit
}

// Queried is what one run of a Question was, and what the engine did for it.
type Queried struct {
	Work
	Args     string // the values of the parameters
	Returned int64  // rows of the first page
	More     bool   // there are further pages, which were not read
	Took     time.Duration
	Err      error
}
