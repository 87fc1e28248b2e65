package faulty

import (
	"bytes"
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

type yield = func(row []drivers.Value) error

// filtersLate compares rows only once they have counted towards the limit.
type filtersLate struct{ *session }

func (s *filtersLate) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	p := st.(*statement).declared
	if len(p.Filter) == 0 {
		return s.session.Read(ctx, st, args, next)
	}
	want := args[p.ArgLayout().Filter:][:len(p.Filter)]
	return s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		n := len(p.Columns)
		for i := range want {
			if !row[n+i].Equal(want[i]) {
				return nil
			}
		}
		return next(row[:n])
	})
}

type skipsRow struct{ *session }

func (s *skipsRow) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	n := 0
	return s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		if n++; n == 2 {
			return nil
		}
		return next(row)
	})
}

type ignoresListOrder struct{ *session }

func (s *ignoresListOrder) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	if p := st.(*statement).declared; p.In != nil {
		args = slices.Clone(args)
		elems := slices.Clone(args[len(p.By)].Elems())
		slices.Reverse(elems)
		args[len(p.By)] = drivers.ListOf(elems)
	}
	return s.session.Read(ctx, st, args, next)
}

// lateRows reads one row ahead, into the same buffer.
type lateRows struct{ *session }

func (s *lateRows) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	var held []drivers.Value
	err := s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		first := held == nil
		if held = append(held[:0], row...); first {
			return nil
		}
		return next(held)
	})
	if err == nil && held != nil {
		err = next(held)
	}
	return err
}

type swallowsErrors struct{ *session }

func (s *swallowsErrors) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	var stopped error
	err := s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		stopped = next(row)
		return stopped
	})
	if stopped != nil {
		return nil
	}
	return err
}

// rewritesValues changes the values of rows.
type rewritesValues struct {
	*session
	rewrite func(c *schemas.Column, v drivers.Value) drivers.Value
}

func (s *rewritesValues) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	p := st.(*statement).declared
	return s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		changed := slices.Clone(row)
		for i, c := range p.Columns {
			changed[i] = s.rewrite(c, row[i])
		}
		return next(changed)
	})
}

func emptyIsNull(c *schemas.Column, v drivers.Value) drivers.Value {
	if (v.Kind() == schemas.Text || v.Kind() == schemas.Blob) && len(v.Raw()) == 0 && c.Role == schemas.Plain {
		return drivers.Value{}
	}
	return v
}

func reverseList(_ *schemas.Column, v drivers.Value) drivers.Value {
	if v.Kind() != schemas.List {
		return v
	}
	elems := slices.Clone(v.Elems())
	slices.Reverse(elems)
	return drivers.ListOf(elems)
}

type ignoresContexts struct{ *session }

func (s *ignoresContexts) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	return s.session.Read(context.WithoutCancel(ctx), st, args, next)
}

func (s *ignoresContexts) Write(ctx context.Context, st drivers.Statement,
	args []drivers.Value,
) (drivers.Result, error) {
	return s.session.Write(context.WithoutCancel(ctx), st, args)
}

func (s *ignoresContexts) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	return s.session.Batch(context.WithoutCancel(ctx), st, parts)
}

// rewritesArgs changes the values that are given to the store.
type rewritesArgs struct {
	*session
	rewrite func(v drivers.Value) drivers.Value
}

func (s *rewritesArgs) all(args []drivers.Value) []drivers.Value {
	changed := make([]drivers.Value, len(args))
	for i, v := range args {
		changed[i] = s.rewrite(v)
	}
	return changed
}

func (s *rewritesArgs) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	return s.session.Read(ctx, st, s.all(args), next)
}

func (s *rewritesArgs) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	return s.session.Write(ctx, st, s.all(args))
}

func (s *rewritesArgs) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	calls := make([]drivers.Call, len(parts))
	for i, c := range parts {
		calls[i] = drivers.Call{Part: c.Part, Args: s.all(c.Args)}
	}
	return s.session.Batch(ctx, st, calls)
}

func truncate(v drivers.Value) drivers.Value {
	const most = 64 << 10
	if b := v.Raw(); len(b) > most {
		return drivers.Bytes(v.Kind(), b[:most])
	}
	return v
}

func cutAtNUL(v drivers.Value) drivers.Value {
	if v.Kind() == schemas.Text {
		before, _, _ := bytes.Cut(v.Raw(), []byte{0})
		return drivers.TextBytes(before)
	}
	return v
}
