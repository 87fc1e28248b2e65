package drivers

import (
	"context"

	"github.com/mailbench/mailbench/schemas"
)

// Cost is what calls to a store cost. Bytes are payload as Value.Size
// counts it: arguments of writes, and the columns of rows read.
type Cost struct {
	Calls, RowsRead, RowsWritten, BytesRead, BytesWritten int64
}

// Add adds d to c.
func (c *Cost) Add(d *Cost) {
	c.Calls += d.Calls
	c.RowsRead += d.RowsRead
	c.RowsWritten += d.RowsWritten
	c.BytesRead += d.BytesRead
	c.BytesWritten += d.BytesWritten
}

// Meter is a Session that counts what passes through it. A call is one request
// that a client of the engine would send: a read, a write or an atomic batch is
// one; a parallel get is one for each element of its list; a batch with
// "atomic: none" is one for each part. Counting is the same on every engine,
// so figures of engines can be compared. A meter does not count an engine's own
// work for a request.
type Meter struct {
	Session
	Cost Cost
	// Trace, if set, is called before each Read, Write and Batch, with the calls it counts.
	Trace func(st Statement, calls int64)

	yield func(row []Value) error
	count func(row []Value) error // m.row, bound once: the hot path allocates nothing
}

// NewMeter returns a meter over s.
func NewMeter(s Session) *Meter {
	m := &Meter{Session: s}
	m.count = m.row
	return m
}

// Take returns what was counted since the last Take.
func (m *Meter) Take() Cost {
	c := m.Cost
	m.Cost = Cost{}
	return c
}

func (m *Meter) row(row []Value) error {
	m.Cost.RowsRead++
	m.Cost.BytesRead += size(row)
	return m.yield(row)
}

func size(vs []Value) int64 {
	n := 0
	for i := range vs {
		n += vs[i].Size()
	}
	return int64(n)
}

func (m *Meter) enter(st Statement, calls int64) {
	m.Cost.Calls += calls
	if m.Trace != nil {
		m.Trace(st, calls)
	}
}

// Read implements Session.
func (m *Meter) Read(ctx context.Context, st Statement, args []Value, yield func(row []Value) error) error {
	calls, p := int64(1), st.Pattern()
	if p.Parallel > 0 && p.In != nil {
		calls = int64(len(args[len(p.By)].list))
	}
	m.enter(st, calls)
	m.yield = yield
	return m.Session.Read(ctx, st, args, m.count)
}

// Write implements Session.
func (m *Meter) Write(ctx context.Context, st Statement, args []Value) (Result, error) {
	m.enter(st, 1)
	r, err := m.Session.Write(ctx, st, args)
	if err == nil && r.Applied {
		m.Cost.RowsWritten++
		m.Cost.BytesWritten += size(args)
	}
	return r, err
}

// Batch implements Session.
func (m *Meter) Batch(ctx context.Context, st Statement, parts []Call) error {
	calls := int64(1)
	if st.Pattern().Atomic == schemas.AtomicNone {
		calls = int64(len(parts))
	}
	m.enter(st, calls)
	err := m.Session.Batch(ctx, st, parts)
	if err == nil {
		m.Cost.RowsWritten += int64(len(parts))
		for i := range parts {
			m.Cost.BytesWritten += size(parts[i].Args)
		}
	}
	return err
}
