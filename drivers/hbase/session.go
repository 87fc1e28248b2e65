package hbase

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	slots
	compiler *compiler // it compiled the statements that the session may run
	reading  reading
	writing  writing
	closed   bool
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
	_ drivers.Skipper  = (*session)(nil)
)

func newSession(c *cluster, of *compiler) *session {
	s := &session{slots: slots{cluster: c, slot: c.newSlot()}, compiler: of}
	s.reading.slots, s.reading.scan.slot = &s.slots, s.slot
	s.writing.slots, s.writing.find = &s.slots, &s.reading
	return s
}

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) { s.reading.tolerate(on) }

// Skipped implements drivers.Skipper.
func (s *session) Skipped() (rows int64, keys [][]byte) { return s.reading.takeSkipped() }

// Take implements drivers.Session.
func (s *session) Take() drivers.Cost { return s.slots.take() }

// Close implements drivers.Session.
func (s *session) Close() error {
	s.closed = true
	s.slots.close()
	return nil
}

// enter checks what every call must, and returns the compiled statement. If it returns
// no error, the caller must end the call with the cluster's leave.
func (s *session) enter(ctx context.Context, stmt drivers.Statement, nargs int) (*statement, error) {
	st, ok := stmt.(*statement)
	if !ok || st.compiler != s.compiler {
		return nil, plan.Foreign(stmt)
	}
	if err := st.Enter(ctx, s.closed, nargs); err != nil {
		return nil, err
	}
	return st, st.Named(s.cluster.enter())
}

// Read implements drivers.Session.
func (s *session) Read(ctx context.Context, stmt drivers.Statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	st, err := s.enter(ctx, stmt, len(args))
	if err != nil {
		return err
	}
	defer s.cluster.leave()
	if !st.Pattern().Kind.Reads() {
		return st.Named(plan.ErrNotRead)
	}
	return s.reading.read(ctx, st, args, yield)
}

// Write implements drivers.Session.
func (s *session) Write(ctx context.Context, stmt drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	st, err := s.enter(ctx, stmt, len(args))
	if err != nil {
		return drivers.Result{}, err
	}
	defer s.cluster.leave()
	if st.Pattern().Kind.Reads() || st.Pattern().Kind == schemas.Batch {
		return drivers.Result{}, st.Named(plan.ErrNotWrite)
	}
	res, err := s.writing.write(ctx, st, args)
	return res, st.Named(err)
}

// Batch implements drivers.Session.
func (s *session) Batch(ctx context.Context, stmt drivers.Statement, parts []drivers.Call) error {
	st, err := s.enter(ctx, stmt, -1)
	if err != nil {
		return err
	}
	defer s.cluster.leave()
	if st.Pattern().Kind != schemas.Batch {
		return st.Named(plan.ErrNotBatch)
	}
	for i := range parts {
		if _, err := plan.Part(st.parts, &parts[i]); err != nil {
			return st.Named(err)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return st.Named(s.writing.batch(ctx, st, parts))
}
