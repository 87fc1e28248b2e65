package faulty

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
)

// countsParts counts each part of a batch as a request.
type countsParts struct {
	*session
	more int64
}

func (s *countsParts) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	s.more += int64(max(len(parts)-1, 0))
	return s.session.Batch(ctx, st, parts)
}

func (s *countsParts) Take() drivers.Cost {
	c := s.session.Take()
	c.Calls += s.more
	s.more = 0
	return c
}

// countsReturned says that the rows that a read returns are those that the engine examined.
type countsReturned struct {
	*session
	returned int64
}

func (s *countsReturned) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	return s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		s.returned++
		return next(row)
	})
}

func (s *countsReturned) Take() drivers.Cost {
	c := s.session.Take()
	c.RowsExamined, s.returned = s.returned, 0
	return c
}
