package conversation

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
)

// failing is a session whose batches of one pattern fail.
type failing struct {
	drivers.Session
	pattern string
	err     error
}

func (f failing) Batch(ctx context.Context, st drivers.Statement, calls []drivers.Call) error {
	if st.Pattern().Name == f.pattern {
		return f.err
	}
	return f.Session.Batch(ctx, st, calls)
}
