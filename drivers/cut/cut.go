// Package cut interrupts operations: a session that acts as if its process were killed after
// some writes, to show the state after an operation of several writes.
package cut

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// The errors of calls that a Session does not make.
var (
	ErrKilled  = errors.New("the process was killed")
	ErrRefused = errors.New("the engine rejected it")
)

// Session makes the first writes, and none after them: later calls return ErrKilled. If Refuses
// is set, it refuses one write with ErrRefused instead. Each part of a batch that is not atomic
// counts as a write.
type Session struct {
	drivers.Session
	After   int // number of writes before the kill; negative: it never comes
	Refuses bool
	Pause   func()   // called before each read and write; may be nil
	Made    []string // patterns of the writes so far
	Broke   bool     // a call was not made
}

func (s *Session) write(p *schemas.Pattern, make func() error) error {
	if s.Pause != nil {
		s.Pause()
	}
	if len(s.Made) == s.After {
		s.Broke = true
		if s.Refuses {
			s.After = -1
			return ErrRefused
		}
		return ErrKilled
	}
	s.Made = append(s.Made, p.Name)
	return make()
}

// Read implements drivers.Session.
func (s *Session) Read(ctx context.Context, st drivers.Statement, args []drivers.Value,
	yield func([]drivers.Value) error,
) error {
	if len(s.Made) == s.After && s.After > 0 && !s.Refuses {
		s.Broke = true
		return ErrKilled
	}
	if s.Pause != nil {
		s.Pause()
	}
	return s.Session.Read(ctx, st, args, yield)
}

// Write implements drivers.Session.
func (s *Session) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (r drivers.Result, err error) {
	err = s.write(st.Pattern(), func() error {
		r, err = s.Session.Write(ctx, st, args)
		return err
	})
	return r, err
}

// Batch implements drivers.Session.
func (s *Session) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	p := st.Pattern()
	if p.Atomic > schemas.AtomicNone {
		return s.write(p, func() error { return s.Session.Batch(ctx, st, parts) })
	}
	for i := range parts {
		err := s.write(p.Parts[parts[i].Part].Pattern, func() error {
			return s.Session.Batch(ctx, st, parts[i:i+1])
		})
		if errors.Is(err, ErrRefused) && i > 0 {
			err = fmt.Errorf("%w: after %d parts: %w", drivers.ErrUnknown, i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
