package drivers

import (
	"context"

	"github.com/mailbench/mailbench/schemas"
)

// Describer is a store that can print the statements that would create existing tables. It only
// reads.
type Describer interface {
	// Describe returns the statements of a keyspace, which need not be mailbench's.
	Describe(ctx context.Context, keyspace string) (string, error)
	// Prepared returns the statements that clients of a keyspace have prepared on the node that answers,
	// a line each.
	Prepared(ctx context.Context, keyspace string) (string, error)
}

// Guesser is a store whose engine does not know the keys and columns of its tables. It only reads.
type Guesser interface {
	// Guess returns the tables of the namespace that the store was opened with: what the engine knows of
	// them, and for the rest what a few of their rows look like; and what was guessed, a sentence each.
	Guess(ctx context.Context, name string) (*schemas.Schema, []string, error)
}
