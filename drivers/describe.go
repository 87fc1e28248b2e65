package drivers

import "context"

// Describer is a store that can print the statements that would create existing tables. It only
// reads.
type Describer interface {
	// Describe returns the statements of a keyspace, which need not be mailbench's.
	Describe(ctx context.Context, keyspace string) (string, error)
	// Prepared returns the statements that clients of a keyspace have prepared on the node that answers,
	// a line each.
	Prepared(ctx context.Context, keyspace string) (string, error)
}
