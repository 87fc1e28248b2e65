package conversation

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
)

// failing is a session whose writes of one pattern fail.
type failing struct {
	drivers.Session
	pattern string
	err     error
}

func (f failing) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if st.Pattern().Name == f.pattern {
		return drivers.Result{}, f.err
	}
	return f.Session.Write(ctx, st, args)
}
