// Package plan holds what drivers share when they run a pattern: they count and
// check its arguments, find its limit, and put the columns of a row in order.
// How rows are stored and read is each driver's own.
package plan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// Plan is the part of a compiled pattern that is the same on every engine. A
// driver embeds it in its statement.
type Plan struct {
	drivers.Emulation
	pattern *schemas.Pattern
	nargs   int
	// Layout says where each group of a call's arguments begins.
	Layout schemas.ArgLayout
}

// Of returns the plan of a pattern.
func Of(p *schemas.Pattern) Plan {
	return Plan{pattern: p, nargs: len(p.Args()), Layout: p.ArgLayout()}
}

// Pattern implements drivers.Statement.
func (p *Plan) Pattern() *schemas.Pattern { return p.pattern }

// Enter does the checks that every call begins with: the session must be open and,
// unless nargs is negative, the number of arguments must be right.
func (p *Plan) Enter(ctx context.Context, closed bool, nargs int) error {
	if closed {
		return p.Named(fmt.Errorf("session: %w", drivers.ErrClosed))
	}
	if nargs >= 0 {
		if err := p.Takes(nargs); err != nil {
			return p.Named(err)
		}
	}
	return ctx.Err()
}

// Takes checks the number of a call's arguments.
func (p *Plan) Takes(nargs int) error {
	if nargs != p.nargs {
		return fmt.Errorf("it takes %d arguments, %d were given", p.nargs, nargs)
	}
	return nil
}

// Named wraps an error of a call with the pattern's name.
func (p *Plan) Named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pattern %s: %w", p.pattern.Name, err)
}

// Foreign is the error for a statement that another store has prepared.
func Foreign(stmt drivers.Statement) error {
	return fmt.Errorf("pattern %s: its statement was prepared by another store", stmt.Pattern().Name)
}

// Errors of calls that no engine can run.
var (
	ErrNotRead  = errors.New("it is a write: run it with Write, or Batch")
	ErrNotWrite = errors.New("it is not a single write: run it with Read, or Batch")
	ErrNotBatch = errors.New("it is not a batch: run it with Read, or Write")
	ErrNull     = errors.New("expected a value, null was given")
	ErrNullAdd  = errors.New("null cannot be added: expected a number")
)

// Partial is the error of a batch that is not atomic and stopped at err. If some
// parts were applied before, the outcome of the batch is unknown.
func Partial(err error, applied, of int) error {
	if applied == 0 || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %d of %d parts were applied: %w", drivers.ErrUnknown, applied, of, err)
}

// InOneRow refuses a put-if that also has static columns, for an engine that keeps them in a row
// of their own and has conditions on one row only.
func (p *Plan) InOneRow() error {
	if p.pattern.SpansStatic() {
		return fmt.Errorf("it also has static columns, which are in another row: %w", drivers.ErrUnsupported)
	}
	return nil
}

// Limit returns how many rows a call may yield; -1 is no limit. A null limit is
// the pattern's own.
func (p *Plan) Limit(args []drivers.Value) int64 {
	if p.Layout.Limit >= 0 && !args[p.Layout.Limit].IsNull() {
		return max(args[p.Layout.Limit].Int64(), 0)
	}
	if p.pattern.Limit > 0 {
		return int64(p.pattern.Limit)
	}
	return -1
}

// Requests returns how many requests a read or a write is on an engine in this process: one, or
// one for each element if the pattern reads them in parallel.
func (p *Plan) Requests(args []drivers.Value) int64 {
	if p.pattern.Parallel > 0 && p.Layout.In >= 0 {
		return int64(len(args[p.Layout.In].Elems()))
	}
	return 1
}

// Grow returns vs with length n. Its values are stale.
func Grow(vs []drivers.Value, n int) []drivers.Value {
	if cap(vs) < n {
		return make([]drivers.Value, n)
	}
	return vs[:n]
}

// Compile compiles the parts of a batch.
func Compile[S any](p *schemas.Pattern, compile func(*schemas.Pattern) (S, error)) ([]S, error) {
	parts := make([]S, len(p.Parts))
	for i, part := range p.Parts {
		var err error
		if parts[i], err = compile(part.Pattern); err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern.Name, err)
		}
	}
	return parts, nil
}

// Part returns the member of a batch that a call runs, after counting the call's
// arguments.
func Part[S interface {
	drivers.Statement
	Takes(nargs int) error
}](parts []S, c *drivers.Call) (part S, err error) {
	if c.Part < 0 || c.Part >= len(parts) {
		return part, fmt.Errorf("there is no part %d: it has %d", c.Part, len(parts))
	}
	part = parts[c.Part]
	if err := part.Takes(len(c.Args)); err != nil {
		return part, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
	}
	return part, nil
}

// Calls counts the calls of a store that are under way, so that Close can wait for them.
// The zero value is for an open store.
type Calls struct {
	closed atomic.Bool
	n      atomic.Int64
}

// Enter begins a call, which must end with Leave. After Close it begins none and returns
// drivers.ErrClosed.
func (c *Calls) Enter() error {
	c.n.Add(1)
	if c.closed.Load() {
		c.n.Add(-1)
		return drivers.ErrClosed
	}
	return nil
}

// Leave ends a call.
func (c *Calls) Leave() { c.n.Add(-1) }

// Closed reports whether the store is closed or closing.
func (c *Calls) Closed() bool { return c.closed.Load() }

// Close refuses all further calls and waits for those under way. It reports false if
// the store was closed before.
func (c *Calls) Close() (first bool) {
	first = !c.closed.Swap(true)
	for c.n.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	return first
}

// GuardWrite calls do, which writes, and turns its panic into an error. The error wraps
// drivers.ErrUnknown, since the engine may have got the write.
func GuardWrite(do func() error) error {
	err := crash.Guard(do)
	if c := new(crash.Error); errors.As(err, &c) {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, c)
	}
	return err
}
