package plan_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// preset is a session that yields 25 rows of a read together, and does nothing else.
type preset struct {
	plan.Session[*statement]
	row  []drivers.Value
	cost drivers.Cost // of a call
}

func (p *preset) RunRead(context.Context, *statement, []drivers.Value) error {
	p.Count(p.cost)
	for range 25 {
		if err := p.Yield(p.row); err != nil {
			return err
		}
	}
	return nil
}

func (p *preset) RunWrite(context.Context, *statement, []drivers.Value) (drivers.Result, error) {
	p.Count(p.cost)
	return drivers.Result{Applied: true}, nil
}
func (p *preset) RunBatch(context.Context, *statement, []drivers.Call) error { return nil }

// openPreset returns a session, and a function that prepares a pattern of a bundled schema and returns example arguments.
// A page has 25 rows.
func openPreset(tb testing.TB, model string) (*preset, func(name string) (drivers.Statement, []drivers.Value)) {
	s, err := schemas.Bundled(model)
	if err != nil {
		tb.Fatal(err)
	}
	gate, p := &plan.Gate{Engine: "test"}, new(preset)
	p.Init(gate, p)
	return p, func(name string) (drivers.Statement, []drivers.Value) {
		st, err := plan.Prepare(gate, s.Pattern(name), func(p *schemas.Pattern) (*statement, error) {
			return &statement{plan.Of(p)}, nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		args := drivers.Example(st.Pattern())
		if st.Pattern().LimitArg {
			args[st.(*statement).Layout.Limit] = drivers.Bigint(25)
		}
		return st, args
	}
}

func sizeOf(args []drivers.Value) (n int64) {
	for _, v := range args {
		n += int64(v.Size())
	}
	return n
}

// Calls that repeat earlier ones are retries. They read nothing, and add the rows that they write.
func TestRepeatedCalls(t *testing.T) {
	s, prepare := openPreset(t, "james")
	s.row = []drivers.Value{drivers.Text("value")}
	page, pageArgs := prepare("page")
	put, putArgs := prepare("chunk_put")
	written := sizeOf(putArgs)
	var watched int64
	s.Watch(nil, func(_ drivers.Statement, _ time.Duration, calls int64) { watched += calls })
	run := func() drivers.Cost {
		s.cost = drivers.Cost{Requests: 1, RowsScanned: 25, Unreported: 1}
		read := s.Read(t.Context(), page, pageArgs, func([]drivers.Value) error { return nil })
		s.cost = drivers.Cost{Requests: 1}
		_, write := s.Write(t.Context(), put, putArgs)
		if read != nil || write != nil {
			t.Fatal(read, write)
		}
		return s.Take()
	}
	want := drivers.Cost{
		Requests: 2, RowsScanned: 25, Unreported: 1, RowsRead: 25, BytesRead: 125, RowsWritten: 1, BytesWritten: written,
	}
	if got := run(); got != want || watched != 2 {
		t.Errorf("a read and a put cost %+v and %d watched calls, want %+v and 2", got, watched, want)
	}
	s.Repeating(true)
	repeated := drivers.Cost{Retries: 2, RowsWritten: 1, BytesWritten: written}
	if got := run(); got != repeated || watched != 2 {
		t.Errorf("a read and a put that repeat cost %+v and %d watched calls, want %+v and none", got, watched-2, repeated)
	}
	s.Repeating(false)
	if got := run(); got != want {
		t.Errorf("a read and a put after them cost %+v, want %+v", got, want)
	}
}

// A call's time is that of the engine: the bytes of a write are counted when it is over.
func TestTimeHasNoCounting(t *testing.T) {
	s, prepare := openPreset(t, "oracle")
	put, args := prepare("put_message")
	batch, _ := prepare("deliver")
	s.Watch(func() time.Duration {
		if s.Cost.BytesWritten > 0 {
			t.Errorf("%d bytes were counted while the clock ran", s.Cost.BytesWritten)
		}
		return 0
	}, func(drivers.Statement, time.Duration, int64) {})
	_, err := s.Write(t.Context(), put, args)
	if c := s.Take(); err != nil || c.BytesWritten != sizeOf(args) {
		t.Errorf("a put: %v, %+v; want %d bytes", err, c, sizeOf(args))
	}
	err = s.Batch(t.Context(), batch, []drivers.Call{{Args: args}, {Args: args}})
	if c := s.Take(); err != nil || c.BytesWritten != 2*sizeOf(args) || c.RowsWritten != 2 {
		t.Errorf("a batch of two puts: %v, %+v; want %d bytes", err, c, 2*sizeOf(args))
	}
}

// BenchmarkMeter measures the cost of a session whose engine does nothing: a page of 25 rows of oracle,
// two of whose ten columns are additions, a page of conversation, which has none, and a put.
func BenchmarkMeter(b *testing.B) {
	values := make([]drivers.Value, 20)
	for i := range values {
		values[i] = drivers.Text("value")
	}
	ctx, yield := b.Context(), func([]drivers.Value) error { return nil }
	for _, name := range []string{"oracle inbox", "conversation newest", "oracle put_message"} {
		model, pattern, _ := strings.Cut(name, " ")
		s, prepare := openPreset(b, model)
		st, args := prepare(pattern)
		s.row = values[:len(st.Pattern().Columns)]
		b.Run(pattern, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if st.Pattern().Kind.Reads() {
					err = s.Read(ctx, st, args, yield)
				} else {
					_, err = s.Write(ctx, st, args)
				}
				if err != nil {
					b.Fatal(err)
				}
				s.Take()
			}
		})
	}
}
