package drivers_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Every number of a cost is added.
func TestEveryCostIsAdded(t *testing.T) {
	var sum, more drivers.Cost
	numbered := func(c *drivers.Cost, first int64) reflect.Value {
		v := reflect.ValueOf(c).Elem()
		for i := range v.NumField() {
			v.Field(i).SetInt(first + int64(i))
		}
		return v
	}
	of := numbered(&sum, 1)
	numbered(&more, 1000)
	sum.Add(&more)
	for i := range of.NumField() {
		if got, want := of.Field(i).Int(), int64(1+i+1000+i); got != want {
			t.Errorf("%s is %d, want %d", of.Type().Field(i).Name, got, want)
		}
	}
}

// preset is a session that yields 25 rows of a read together, and does nothing else.
type preset struct {
	drivers.CostCounter
	row []drivers.Value
}

func (p *preset) Read(_ context.Context, _ drivers.Statement, _ []drivers.Value, yield func([]drivers.Value) error) error {
	for range 25 {
		if err := yield(p.row); err != nil {
			return err
		}
	}
	return nil
}

func (p *preset) Write(context.Context, drivers.Statement, []drivers.Value) (drivers.Result, error) {
	return drivers.Result{Applied: true}, nil
}
func (p *preset) Batch(context.Context, drivers.Statement, []drivers.Call) error { return nil }
func (p *preset) Close() error                                                   { return nil }

// of is a statement of a pattern.
type of struct{ p *schemas.Pattern }

func (s of) Pattern() *schemas.Pattern  { return s.p }
func (s of) Emulates() *schemas.Pattern { return nil }
func (s of) Emulate(*schemas.Pattern)   {}

// Calls that repeat earlier ones are retries. They read nothing, and add the rows that they write.
func TestRepeatedCalls(t *testing.T) {
	s, err := schemas.Bundled("oracle")
	if err != nil {
		t.Fatal(err)
	}
	session := &preset{row: []drivers.Value{drivers.Text("value")}}
	m := drivers.NewMeter(session)
	var traced int64
	m.Trace = func(_ drivers.Statement, calls int64) { traced += calls }
	run := func() drivers.Cost {
		session.Cost = drivers.Cost{Calls: 1, RowsExamined: 25}
		read := m.Read(t.Context(), of{s.Pattern("inbox")}, nil, func([]drivers.Value) error { return nil })
		session.Cost = drivers.Cost{Calls: 1}
		_, write := m.Write(t.Context(), of{s.Pattern("put_message")}, session.row)
		if read != nil || write != nil {
			t.Fatal(read, write)
		}
		return m.Take()
	}
	want := drivers.Cost{Calls: 2, RowsExamined: 25, RowsRead: 25, BytesRead: 125, RowsWritten: 1, BytesWritten: 5}
	if got := run(); got != want || traced != 2 {
		t.Errorf("a read and a put cost %+v and %d traced calls, want %+v and 2", got, traced, want)
	}
	m.Repeating(true)
	want = drivers.Cost{Retries: 2, RowsWritten: 1, BytesWritten: 5}
	if got := run(); got != want || traced != 2 {
		t.Errorf("a read and a put that repeat cost %+v and %d traced calls, want %+v and none", got, traced-2, want)
	}
	m.Repeating(false)
	want = drivers.Cost{Calls: 2, RowsExamined: 25, RowsRead: 25, BytesRead: 125, RowsWritten: 1, BytesWritten: 5}
	if got := run(); got != want {
		t.Errorf("a read and a put after them cost %+v, want %+v", got, want)
	}
}

// Took is the time of the session alone: a meter counts the bytes of a write when its time is over.
func TestTookHasNoCounting(t *testing.T) {
	s, err := schemas.Bundled("oracle")
	if err != nil {
		t.Fatal(err)
	}
	values := []drivers.Value{drivers.Text("value")}
	m := drivers.NewMeter(new(preset))
	m.Clock = func() time.Duration {
		if c := m.Take(); c.BytesWritten > 0 {
			t.Errorf("%d bytes were counted while the clock ran", c.BytesWritten)
		}
		return 0
	}
	put, batch := s.Pattern("put_message"), &schemas.Pattern{Kind: schemas.Batch}
	batch.Parts = []schemas.Part{{Pattern: put}}
	_, err = m.Write(t.Context(), of{put}, values)
	if c := m.Take(); err != nil || c.BytesWritten != 5 {
		t.Errorf("a put: %v, %+v; want 5 bytes", err, c)
	}
	err = m.Batch(t.Context(), of{batch}, []drivers.Call{{Args: values}, {Args: values}})
	if c := m.Take(); err != nil || c.BytesWritten != 10 || c.RowsWritten != 2 {
		t.Errorf("a batch of two puts: %v, %+v; want 10 bytes", err, c)
	}
}

// BenchmarkMeter measures the cost of a Meter over a session that does nothing: a page of 25 rows of oracle,
// two of whose ten columns are additions, a page of conversation, which has none, and a put.
func BenchmarkMeter(b *testing.B) {
	values := make([]drivers.Value, 20)
	for i := range values {
		values[i] = drivers.Text("value")
	}
	ctx, yield := b.Context(), func([]drivers.Value) error { return nil }
	for _, name := range []string{"oracle inbox", "conversation newest", "oracle put_message"} {
		model, pattern, _ := strings.Cut(name, " ")
		s, err := schemas.Bundled(model)
		if err != nil {
			b.Fatal(err)
		}
		st := of{s.Pattern(pattern)}
		m := drivers.NewMeter(&preset{row: values[:len(st.p.Columns)]})
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if st.p.Kind.Reads() {
					err = m.Read(ctx, st, nil, yield)
				} else {
					_, err = m.Write(ctx, st, values)
				}
				if err != nil {
					b.Fatal(err)
				}
				m.Take()
			}
		})
	}
}
