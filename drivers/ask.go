package drivers

import (
	"context"
	"time"
)

// Asker is a store that can run reads in its engine's own language and tell what the engine did for
// them. It only reads.
type Asker interface {
	// Ask runs a read a few times, each time with the values of other rows of its table for the
	// statement's parameters. It reads one page of rows each time. The error says why the read cannot
	// be run at all, such as ErrNoValues.
	Ask(ctx context.Context, q Question) ([]Asked, error)
}

// Question is a read that an Asker runs.
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

// Asked is what one run of a Question was, and what the engine did for it.
type Asked struct {
	Work
	Args     string // the values of the parameters
	Returned int64  // rows of the first page
	More     bool   // there are further pages, which were not read
	Took     time.Duration
	Err      error
}
