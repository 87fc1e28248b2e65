package drivers

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/schemas"
)

// Cost is what calls to a store cost. A Meter counts rows and bytes read and written, sessions the
// rest. Bytes are payload as Value.Size counts it: arguments of writes, and the
// columns of rows read.
type Cost struct {
	// Calls are the requests that went to the engine, without Retries. An operation of several
	// requests counts as several: the pages of a read, the elements of a parallel get, the
	// parts of a batch that are sent one by one. The engines' packages say what a request is.
	Calls int64
	// Retries are further attempts of requests, by the driver, its client or the model.
	Retries int64
	// Throttled are the requests that the engine refused because the client may not send so
	// much in a time. Requests that were sent again are Retries too. Backoff is how long the driver
	// waited before it sent them again.
	Throttled int64
	Backoff   time.Duration
	// RowsExamined are the rows and the index entries that the engine read for the calls,
	// returned or not.
	RowsExamined int64
	// Unreported is the number of calls for which the engine does not report RowsExamined. That is
	// known if Unreported is 0.
	Unreported int64

	RowsRead, RowsWritten, BytesRead, BytesWritten int64
	// BytesAdded are those of BytesRead and BytesWritten that the model's document does not have: of
	// patterns, tables and columns that are additions.
	BytesAdded int64

	// BlobCalls are the requests of a model to a store of blobs outside of the engine. BlobBytesRead and
	// BlobBytesWritten went there; they are part of BytesRead and BytesWritten.
	BlobCalls, BlobBytesRead, BlobBytesWritten int64
}

// Add adds d to c.
func (c *Cost) Add(d *Cost) {
	c.Calls += d.Calls
	c.Retries += d.Retries
	c.Throttled += d.Throttled
	c.Backoff += d.Backoff
	c.RowsExamined += d.RowsExamined
	c.Unreported += d.Unreported
	c.RowsRead += d.RowsRead
	c.RowsWritten += d.RowsWritten
	c.BytesRead += d.BytesRead
	c.BytesWritten += d.BytesWritten
	c.BytesAdded += d.BytesAdded
	c.BlobCalls += d.BlobCalls
	c.BlobBytesRead += d.BlobBytesRead
	c.BlobBytesWritten += d.BlobBytesWritten
}

// CostCounter is the Take of a session that counts its own calls.
type CostCounter struct{ Cost Cost }

// Take implements Session.
func (c *CostCounter) Take() Cost {
	took := c.Cost
	c.Cost = Cost{}
	return took
}

// Repeater is a session that learns of calls that repeat earlier ones. Meter is one.
type Repeater interface {
	// Repeating says whether the calls from here on repeat earlier ones of the same operation.
	Repeating(on bool)
}

// BlobCounter is a session that counts the requests of its model to a store of blobs. Meter is one.
type BlobCounter interface {
	// Blob counts one call, with the bytes that it read or wrote.
	Blob(read, written int64)
}

// Meter is a Session that counts what passes through it, and takes from the session what that
// counted. Calls that repeat earlier ones are Retries. They add nothing else but the rows that
// they write: others' changes made the earlier calls fail, so how many there are depends on the
// machine.
type Meter struct {
	Session
	// Trace, if set, is called after each Read, Write and Batch, with the Calls it took.
	Trace func(st Statement, calls int64)
	// Clock, if set, is read before and after each Read, Write and Batch. Took is how long the last
	// one took, with what its yield did.
	Clock func() time.Duration
	Took  time.Duration

	cost      Cost
	added     map[*schemas.Pattern]*additions
	reading   *additions // of the read that runs
	repeating bool
	yield     func(row []Value) error
	count     func(row []Value) error // m.row, bound once: the hot path allocates nothing
}

var (
	_ Repeater    = (*Meter)(nil)
	_ BlobCounter = (*Meter)(nil)
)

// NewMeter returns a meter over s.
func NewMeter(s Session) *Meter {
	m := &Meter{Session: s, added: make(map[*schemas.Pattern]*additions)}
	m.count = m.row
	return m
}

// Take returns what was counted since the last Take, and forgets it.
func (m *Meter) Take() Cost {
	c := m.cost
	m.cost = Cost{}
	return c
}

// Repeating implements Repeater.
func (m *Meter) Repeating(on bool) { m.repeating = on }

// Blob implements BlobCounter.
func (m *Meter) Blob(read, written int64) {
	m.cost.BlobCalls++
	m.cost.BytesRead += read
	m.cost.BlobBytesRead += read
	m.cost.BytesWritten += written
	m.cost.BlobBytesWritten += written
}

// row counts a row, and yields it.
func (m *Meter) row(row []Value) error {
	if !m.repeating {
		m.cost.RowsRead++
		m.cost.BytesRead += m.bytes(m.reading, m.reading.rows, row)
	}
	return m.yield(row)
}

// measure makes a call of the session, and takes what it cost.
func (m *Meter) measure(st Statement, call func() error) error {
	var began time.Duration
	if m.Clock != nil {
		began = m.Clock()
	}
	err := call()
	if m.Clock != nil {
		m.Took = m.Clock() - began
	}
	c := m.Session.Take()
	if m.repeating {
		c = Cost{Retries: c.Calls + c.Retries, Throttled: c.Throttled, Backoff: c.Backoff}
	}
	m.cost.Add(&c)
	if m.Trace != nil {
		m.Trace(st, c.Calls)
	}
	return err
}

// additions returns the additions of a pattern. They are kept: the second call of a pattern allocates nothing.
func (m *Meter) additions(p *schemas.Pattern) *additions {
	a := m.added[p]
	if a == nil {
		a = newAdditions(p)
		m.added[p] = a
	}
	return a
}

// Read implements Session.
func (m *Meter) Read(ctx context.Context, st Statement, args []Value, yield func(row []Value) error) error {
	m.yield, m.reading = yield, m.additions(st.Pattern())
	return m.measure(st, func() error { return m.Session.Read(ctx, st, args, m.count) })
}

// Write implements Session.
func (m *Meter) Write(ctx context.Context, st Statement, args []Value) (r Result, err error) {
	err = m.measure(st, func() (err error) {
		r, err = m.Session.Write(ctx, st, args)
		return err
	})
	if err == nil && r.Applied {
		a := m.additions(st.Pattern())
		m.cost.RowsWritten++
		m.cost.BytesWritten += m.bytes(a, a.args, args)
	}
	return r, err
}

// Batch implements Session.
func (m *Meter) Batch(ctx context.Context, st Statement, parts []Call) error {
	err := m.measure(st, func() error { return m.Session.Batch(ctx, st, parts) })
	batch := m.additions(st.Pattern())
	for i := 0; i < len(parts) && err == nil; i++ {
		a := batch.parts[parts[i].Part]
		m.cost.RowsWritten++
		m.cost.BytesWritten += m.bytes(a, a.args, parts[i].Args)
	}
	return err
}

// bytes returns the size of values, and counts that of the additions among them, which are at these positions.
func (m *Meter) bytes(a *additions, at []int, vs []Value) (all int64) {
	for i := range vs {
		all += int64(vs[i].Size())
	}
	if a.all {
		m.cost.BytesAdded += all
		return all
	}
	for _, i := range at {
		if i < len(vs) { // a put may lack its last columns
			m.cost.BytesAdded += int64(vs[i].Size())
		}
	}
	return all
}

// additions say which values of a pattern's rows and arguments are additions to the model's document:
// all if the pattern or its table is one, else those of columns that are.
type additions struct {
	all        bool
	rows, args []int        // positions of the columns
	parts      []*additions // of the parts of a batch
}

func newAdditions(p *schemas.Pattern) *additions {
	a := &additions{all: p.Addition != "" && !p.Form}
	for t := p.Table; t != nil; t = t.Parent {
		a.all = a.all || t.Addition != ""
	}
	of, first := p.Columns, 0
	if p.Element != nil {
		of = []*schemas.Column{p.Element}
	}
	if !p.Kind.Reads() && p.Kind != schemas.Batch {
		first = p.ArgLayout().Columns
	}
	var at []int
	for i, c := range of {
		if c.Addition != "" {
			at = append(at, first+i)
		}
	}
	if p.Kind.Reads() {
		a.rows = at
	} else {
		a.args = at
	}
	for _, part := range p.Parts {
		a.parts = append(a.parts, newAdditions(part.Pattern))
	}
	return a
}
