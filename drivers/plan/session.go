package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// Gate is the entry of all calls of a store. Close waits for the calls under way.
type Gate struct {
	Engine   string // its name in errors
	ReadOnly bool   // Prepare refuses patterns that write
	// Login is the user of the store, or nil. A server may repeat the password in any error: calls hide it.
	Login *drivers.Login
	// Uncounted: Close need not wait for calls, because the store releases nothing.
	Uncounted bool

	closed atomic.Bool
	calls  sync.RWMutex // each call holds it for reading, and Close takes it for good
	drain  sync.Once    // takes it
}

// Do makes one call. After Close it makes none, and returns drivers.ErrClosed.
func (g *Gate) Do(call func() error) error {
	if g.closed.Load() || !g.calls.TryRLock() {
		return fmt.Errorf("%s: %w", g.Engine, drivers.ErrClosed)
	}
	defer g.calls.RUnlock()
	return g.Login.Hide(call())
}

// During is Do for a call whose errors begin with what was being done.
func (g *Gate) During(what string, call func() error) error {
	if err := g.Do(call); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Closed reports whether the store is closed or closing.
func (g *Gate) Closed() bool { return g.closed.Load() }

// Close refuses all further calls and waits for those under way. It reports false if the store was closed before.
func (g *Gate) Close() (first bool) {
	first = !g.closed.Swap(true)
	g.drain.Do(g.calls.Lock)
	return first
}

// Statement is a compiled pattern of an engine. It embeds Plan.
type Statement interface {
	drivers.Statement
	base() *Plan
	admit(g *Gate, m method, args []drivers.Value, parts []drivers.Call) (*Plan, error)
}

// Prepare compiles a pattern for the sessions of a store.
func Prepare[S Statement](
	g *Gate, p *schemas.Pattern, compile func(*schemas.Pattern) (S, error),
) (drivers.Statement, error) {
	var st S
	err := g.During("pattern "+p.Name, func() (err error) {
		if g.ReadOnly && !p.Kind.Reads() {
			return drivers.ErrReadOnly
		}
		if st, err = compile(p); err == nil {
			st.base().gate = g
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// errForeign is the error of a statement of another store.
var errForeign = errors.New("its statement was prepared by another store")

// Runner is what an engine implements of a session. The calls that it gets were checked: the session and the store
// are open, the statement is the store's own and of the right kind, and the arguments fit the pattern. Session puts
// the pattern's name before errors.
type Runner[S Statement] interface {
	// RunRead passes the rows of a read to the session's Yield. It ends at the first error of Yield.
	RunRead(ctx context.Context, st S, args []drivers.Value) error
	RunWrite(ctx context.Context, st S, args []drivers.Value) (drivers.Result, error)
	// RunBatch runs a batch of at least one part.
	RunBatch(ctx context.Context, st S, parts []drivers.Call) error
}

// Session is the drivers.Session of all engines: it checks calls, has a Runner run them, and counts rows and bytes. An
// engine's session embeds it, and counts its requests and the rows that they read in the Meter.
type Session[S Statement] struct {
	drivers.Meter
	Tolerant bool // a value that cannot be decoded is yielded as a broken one
	gate     *Gate
	runner   Runner[S]
	closed   bool

	// The call under way.
	stmt S
	plan *Plan

	// The read under way.
	ctx   context.Context
	yield func(row []drivers.Value) error
	// Left is how many more rows the read under way may yield; -1 is no limit.
	Left    int64
	yielded error           // what yield returned
	row     []drivers.Value // that yield got
}

// Init makes the session ready for calls.
func (s *Session[S]) Init(g *Gate, r Runner[S]) { s.gate, s.runner = g, r }

// Tolerate implements drivers.Session.
func (s *Session[S]) Tolerate(on bool) { s.Tolerant = on }

// Close refuses all further calls of the session.
func (s *Session[S]) Close() error {
	s.closed = true
	return nil
}

// method is the method of a session that runs a pattern.
type method uint8

const (
	byRead method = iota
	byWrite
	byBatch
)

// wrongMethod has the error of each method for a pattern that it does not run.
var wrongMethod = [...]error{
	byRead:  errors.New("it is a write: run it with Write, or Batch"),
	byWrite: errors.New("it is not a single write: run it with Read, or Batch"),
	byBatch: errors.New("it is not a batch: run it with Read, or Write"),
}

// call runs a call of a method, unless the session, the store or the context has ended or the statement does not admit
// it. It has the arguments of a read or a write, or the parts of a batch. run has the engine run it, and its time and
// cost are those of the call.
func (s *Session[S]) call(ctx context.Context, m method, stmt drivers.Statement, args []drivers.Value,
	parts []drivers.Call, run func() error,
) error {
	ok, err := false, errForeign
	if s.stmt, ok = stmt.(S); ok {
		s.plan, err = s.stmt.admit(s.gate, m, args, parts)
	}
	if err == nil && s.closed {
		err = fmt.Errorf("session: %w", drivers.ErrClosed)
	}
	if err == nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if g := s.gate; err == nil && (g.closed.Load() || !g.Uncounted && !g.calls.TryRLock()) {
		err = fmt.Errorf("%s: %w", g.Engine, drivers.ErrClosed)
	}
	if err == nil { // not by Do: with one more function each row of a page on Pebble takes 0.2 µs more
		if !s.gate.Uncounted {
			defer s.gate.calls.RUnlock()
		}
		if err = s.Run(stmt, run); err == nil {
			return nil
		}
	}
	return fmt.Errorf("pattern %s: %w", stmt.Pattern().Name, s.gate.Login.Hide(err))
}

// ErrEnough ends a read at its limit. Yield returns it, and RunRead may.
var ErrEnough = errors.New("the limit of the read is reached")

// checkEvery is the number of rows after which a long read checks its context.
const checkEvery = 256

// Read implements drivers.Session.
func (s *Session[S]) Read(
	ctx context.Context, stmt drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	s.yielded = nil
	err := s.call(ctx, byRead, stmt, args, nil, func() (err error) {
		s.ctx, s.yield, s.Left = ctx, yield, -1
		if at := s.plan.Layout.Limit; at >= 0 && !args[at].IsNull() {
			s.Left = max(args[at].Int64(), 0)
		} else if n := s.plan.pattern.Limit; n > 0 {
			s.Left = int64(n)
		}
		if s.Left != 0 {
			err = s.runner.RunRead(ctx, s.stmt, args)
		}
		s.ctx, s.yield = nil, nil
		clear(s.row)
		if err == nil || s.yielded != nil || errors.Is(err, ErrEnough) {
			return nil
		}
		return err
	})
	if s.yielded != nil {
		return s.yielded
	}
	return err
}

// Yield passes the pattern's columns of a row to the caller of the read under way. It returns an error if the read must
// end: it has its limit of rows, its context has ended, or the caller wants no more.
func (s *Session[S]) Yield(row []drivers.Value) error {
	s.Cost.RowsRead++
	if s.plan.outs != nil {
		s.row = s.row[:0]
		for _, at := range s.plan.outs {
			s.row = append(s.row, row[at])
		}
		row = s.row
	}
	size, added := s.plan.sizes(row)
	s.Cost.BytesRead += size
	s.Cost.BytesAdded += added
	if s.yielded = s.yield(row); s.yielded != nil {
		return s.yielded
	}
	if s.Left > 0 {
		if s.Left--; s.Left == 0 {
			return ErrEnough
		}
	}
	if s.Cost.RowsRead%checkEvery == 0 {
		return s.ctx.Err()
	}
	return nil
}

// Write implements drivers.Session. It counts the row when the call's time is over.
func (s *Session[S]) Write(
	ctx context.Context, stmt drivers.Statement, args []drivers.Value,
) (r drivers.Result, err error) {
	err = s.call(ctx, byWrite, stmt, args, nil, func() (err error) {
		r, err = s.runner.RunWrite(ctx, s.stmt, args)
		return err
	})
	if err == nil && r.Applied {
		s.Cost.RowsWritten++
		size, added := s.plan.sizes(args)
		s.Cost.BytesWritten += size
		s.Cost.BytesAdded += added
	}
	return r, err
}

// Batch implements drivers.Session. All parts are checked before any runs.
func (s *Session[S]) Batch(ctx context.Context, stmt drivers.Statement, parts []drivers.Call) error {
	err := s.call(ctx, byBatch, stmt, nil, parts, func() error {
		if len(parts) == 0 {
			return nil
		}
		return s.runner.RunBatch(ctx, s.stmt, parts)
	})
	if err != nil {
		return err
	}
	s.Cost.RowsWritten += int64(len(parts))
	for i := range parts {
		size, added := s.plan.parts[parts[i].Part].sizes(parts[i].Args)
		s.Cost.BytesWritten += size
		s.Cost.BytesAdded += added
	}
	return nil
}

// Call is Gate.During for a call that returns a value. The value is the zero one if the call fails.
func Call[T any](g *Gate, what string, call func() (T, error)) (v T, err error) {
	if err = g.Do(func() (err error) { v, err = call(); return err }); err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// InOrder runs do for the members 0 to n-1, up to width of them at the same time, and passes their errors to took in
// the order of the members. Once took has returned false, no more members begin. InOrder waits for those under way.
// The members i and i+width are never under way together.
func InOrder(n, width int, do func(i int) error, took func(i int, err error) (more bool)) {
	width = min(width, n)
	done := make([]chan error, width)
	begin := func(i int) {
		go func() { done[i%width] <- crash.Guard(func() error { return do(i) }) }()
	}
	for i := range width {
		done[i] = make(chan error, 1)
		begin(i)
	}
	begun, more := width, true
	for i := 0; i < begun; i++ {
		if more = took(i, <-done[i%width]) && more; more && begun < n {
			begin(begun)
			begun++
		}
	}
}

// ReadEach reads the rows of the n elements of a list, up to width elements at the same time, and yields them in the
// order of the list. It holds the rows of no more elements than it reads at a time.
func ReadEach[R any](ctx context.Context, n, width int, read func(ctx context.Context, i int) ([]R, error),
	yield func(row R) error,
) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := make([][]R, n)
	InOrder(n, width, func(i int) (err error) {
		rows[i], err = read(ctx, i)
		return err
	}, func(i int, failed error) bool {
		if err == nil {
			err = failed
		}
		for at := 0; err == nil && at < len(rows[i]); at++ {
			err = yield(rows[i][at])
		}
		rows[i] = nil
		if err != nil {
			cancel() // of the reads under way
		}
		return err == nil
	})
	return err
}

// ByElement has the rows that one request has read for several elements of a list, by the texts of the elements.
type ByElement[R any] map[string][]R

// Add adds a row of an element.
func (b ByElement[R]) Add(of drivers.Value, row R) {
	text := string(of.AppendText(nil))
	b[text] = append(b[text], row)
}

// Each yields the rows of each element of the list, in its order.
func (b ByElement[R]) Each(list []drivers.Value, yield func(row R) error) error {
	for _, element := range list {
		for _, row := range b[string(element.AppendText(nil))] {
			if err := yield(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Writes makes the n writes of a batch that is not atomic, up to width of them at the same time and else one after
// another. After the first error it begins no more. It returns how many were applied, and an error that is
// drivers.ErrUnknown if one of the errors is, or if one of several panicked: the engine may have got that write.
func Writes(n, width int, write func(i int) error) (applied int, err error) {
	took := func(_ int, failed error) bool {
		if c := new(crash.Error); errors.As(failed, &c) {
			failed = fmt.Errorf("%w: %w", drivers.ErrUnknown, c)
		}
		switch {
		case failed == nil:
			applied++
		case err == nil || errors.Is(failed, drivers.ErrUnknown):
			err = failed
		}
		return err == nil
	}
	if width > 1 {
		InOrder(n, width, write, took)
		return applied, err
	}
	for i := 0; i < n && took(i, write(i)); i++ {
	}
	return applied, err
}
