package drivertest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// call is a pattern with its arguments, or a batch with the calls of its parts.
type call struct {
	p     *schemas.Pattern
	args  []drivers.Value
	parts []call
	at    int // position of the part in its batch
}

// String writes a call for a failure.
func (x call) String() string {
	if x.p.Kind != schemas.Batch {
		return x.p.Name + " (" + line(x.args) + ")"
	}
	return fmt.Sprintf("batch %s of %v", x.p.Name, x.parts)
}

// writes returns the writes that a call is.
func (x call) writes() []call {
	if x.p.Kind == schemas.Batch {
		return x.parts
	}
	return []call{x}
}

// outcome is what a call returns.
type outcome struct {
	applied bool
	rows    []string // those of a read, or the new values of an add that returns them
	cost    drivers.Cost
}

// String writes an outcome for a failure.
func (o outcome) String() string { return fmt.Sprintf("applied %v, rows %q", o.applied, o.rows) }

func (o outcome) equal(p outcome) bool { return o.applied == p.applied && slices.Equal(o.rows, p.rows) }

// do runs a call on the store. It poisons the arguments.
func (c *client) do(x call) (o outcome, err error) {
	st := c.statement(x.p.Name)
	switch {
	case x.p.Kind.Reads():
		o.rows, err = c.run(st, x.p, clone(x.args))
	case x.p.Kind == schemas.Batch:
		calls := make([]drivers.Call, len(x.parts))
		for i, part := range x.parts {
			calls[i] = drivers.Call{Part: part.at, Args: clone(part.args)}
		}
		err = c.session.Batch(c.ctx, st, calls)
		for _, call := range calls {
			poison(call.Args)
		}
		if o.applied = err == nil; errors.Is(err, drivers.ErrNotApplied) {
			err = nil
		}
	default:
		args := clone(x.args)
		var r drivers.Result
		r, err = c.session.Write(c.ctx, st, args)
		poison(args)
		if o.applied = r.Applied; r.Applied && x.p.ReturnsNew {
			o.rows = []string{line(r.Row)}
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", x, err)
	}
	return o, err
}

// do runs a call on the reference.
func (r *reference) do(x call) (o outcome) {
	if x.p.Kind.Reads() {
		return r.read(x.p, x.args)
	}
	for _, w := range x.writes() {
		if !r.applies(w.p, w.args) {
			return outcome{}
		}
	}
	for _, w := range x.writes() {
		if returned := r.write(w.p, w.args); x.p.ReturnsNew {
			o.rows = []string{line(returned)}
		}
		o.cost.RowsWritten++
		o.cost.BytesWritten += sizeOf(w.args)
	}
	o.applied = true
	return o
}

// run runs a read and returns its rows as text. It poisons the arguments.
func (c *client) run(st drivers.Statement, p *schemas.Pattern, args []drivers.Value) (got []string, err error) {
	types := columnTypes(p)
	err = c.session.Read(c.ctx, st, args, func(row []drivers.Value) error {
		if err := check(types, row); err != nil {
			return err
		}
		got = append(got, line(row))
		return nil
	})
	poison(args)
	return got, err
}

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }

// unknown reports whether it is unknown if a write was applied, as on an engine with much to do.
func (c *client) unknown(err error) bool {
	return errors.Is(err, drivers.ErrUnknown) && c.ctx.Err() == nil
}
