package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

type statement struct{ plan.Plan }

// session is a session of an engine that only notes what runs.
type session struct {
	plan.Session[*statement]
	ran  []string
	rows int
	left int64 // when a read began
	err  error
}

func (s *session) RunRead(_ context.Context, st *statement, _ []drivers.Value) error {
	s.left = s.Left
	s.ran = append(s.ran, st.Pattern().Name)
	for range s.rows {
		if err := s.Yield(nil); err != nil {
			return fmt.Errorf("wrapped: %w", err)
		}
	}
	return s.err
}

func (s *session) RunWrite(_ context.Context, st *statement, _ []drivers.Value) (drivers.Result, error) {
	s.ran = append(s.ran, st.Pattern().Name)
	return drivers.Result{Applied: s.err == nil}, s.err
}

func (s *session) RunBatch(_ context.Context, st *statement, parts []drivers.Call) error {
	s.ran = append(s.ran, fmt.Sprint(st.Pattern().Name, len(parts)))
	return s.err
}

func open(g *plan.Gate) *session {
	s := new(session)
	s.Init(g, s)
	return s
}

func prepare(t *testing.T, g *plan.Gate, name string) drivers.Statement {
	t.Helper()
	st, err := plan.Prepare(g, pattern(t, name), func(p *schemas.Pattern) (*statement, error) {
		return &statement{plan.Of(p)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestSession: a fault in a call is found before the engine gets it, and the error names the pattern.
func TestSession(t *testing.T) {
	ctx := t.Context()
	gate, other := &plan.Gate{Engine: "test"}, &plan.Gate{Engine: "test"}
	page, put, both, add := prepare(t, gate, "page"), prepare(t, gate, "put"), prepare(t, gate, "both"), prepare(t, gate, "count")
	after := prepare(t, gate, "after")
	foreign := prepare(t, other, "put")
	unprepared := plan.Of(put.Pattern())
	u, n := drivers.Text("u"), drivers.Int(1)
	row := []drivers.Value{u, n, drivers.Bigint(2)}
	null := drivers.Value{}
	read := func(st drivers.Statement, args ...drivers.Value) func(*session) error {
		return func(s *session) error { return s.Read(ctx, st, args, func([]drivers.Value) error { return nil }) }
	}
	write := func(st drivers.Statement, args ...drivers.Value) func(*session) error {
		return func(s *session) error {
			r, err := s.Write(ctx, st, args)
			if err != nil && r.Applied {
				t.Errorf("applied with %v", err)
			}
			return err
		}
	}
	batch := func(st drivers.Statement, parts ...drivers.Call) func(*session) error {
		return func(s *session) error { return s.Batch(ctx, st, parts) }
	}
	for _, c := range []struct {
		call      func(*session) error
		ran, want string
	}{
		{read(page, u, drivers.Bigint(3)), "page", ""},
		{write(put, row...), "put", ""},
		{write(put, u, n, null), "put", ""},
		{batch(both, drivers.Call{Args: row}, drivers.Call{Args: row}), "both2", ""},
		{batch(both), "", ""},
		{read(after, u, null, null), "after", ""},
		{read(page, u, drivers.Bigint(0)), "", ""},
		{read(page, u), "", "pattern page: it needs 2 arguments, found 1"},
		{read(put, row...), "", "pattern put: it is a write: run it with Write, or Batch"},
		{read(page, null, drivers.Bigint(1)), "", "pattern page: argument user: expected a value, null was given"},
		{read(page, n, drivers.Bigint(1)), "", "pattern page: argument user: a int was given for a text"},
		{read(after, u, n, null), "", "pattern after: argument id: after must be null in all its columns or in none"},
		{read(after, u, null, n), "", "pattern after: argument part: after must be null in all its columns or in none"},
		{write(page, u, null), "", "pattern page: it is not a single write: run it with Read, or Batch"},
		{write(both, row...), "", "pattern both: it is not a single write: run it with Read, or Batch"},
		{write(put, u, n, u), "", "pattern put: argument size: a text was given for a bigint"},
		{write(put, u, null, null), "", "pattern put: argument id: expected a value, null was given"},
		{write(add, u, null), "", "pattern count: argument unread: expected a value, null was given"},
		{write(foreign, row...), "", "pattern put: its statement was prepared by another store"},
		{write(&statement{unprepared}, row...), "", "pattern put: its statement was prepared by another store"},
		{batch(put, drivers.Call{Args: row}), "", "pattern put: it is not a batch: run it with Read, or Write"},
		{batch(both, drivers.Call{Args: row}, drivers.Call{Part: 1, Args: row}), "", "pattern both: no part 1: it has 1"},
		{batch(both, drivers.Call{Part: -1, Args: row}), "", "pattern both: no part -1: it has 1"},
		{
			batch(both, drivers.Call{Args: row}, drivers.Call{Args: row[:2]}), "",
			"pattern both: part put: it needs 3 arguments, found 2",
		},
		{
			batch(both, drivers.Call{Args: []drivers.Value{u, n, u}}), "",
			"pattern both: part put: argument size: a text was given for a bigint",
		},
	} {
		s := open(gate)
		err := c.call(s)
		if got := strings.Join(s.ran, " "); got != c.ran {
			t.Errorf("ran %q, want %q: %v", got, c.ran, err)
		}
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if c.ran == "" {
			continue
		}
		failed := errors.New("failed")
		s = open(gate)
		s.err = failed
		if err := c.call(s); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "pattern ") {
			t.Errorf("%s that fails: %v", c.ran, err)
		}
		s.ran = nil
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.call(s); !errors.Is(err, drivers.ErrClosed) || s.ran != nil {
			t.Errorf("%s in a closed session ran %q: %v", c.ran, s.ran, err)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		ctx = canceled
		s = open(gate)
		if err := c.call(s); !errors.Is(err, context.Canceled) || s.ran != nil {
			t.Errorf("%s whose context is canceled ran %q: %v", c.ran, s.ran, err)
		}
		ctx = t.Context()
	}
	s := open(gate)
	if !gate.Close() || gate.Close() {
		t.Error("the gate does not report that it was closed before")
	}
	if err := write(put, row...)(s); !errors.Is(err, drivers.ErrClosed) || s.ran != nil {
		t.Errorf("a write on a closed store ran %q: %v", s.ran, err)
	}
	if _, err := plan.Prepare(&plan.Gate{ReadOnly: true}, put.Pattern(), func(*schemas.Pattern) (*statement, error) {
		t.Error("a write was compiled")
		return nil, nil
	}); !errors.Is(err, drivers.ErrReadOnly) {
		t.Errorf("a write on a store that is open for reading only: %v", err)
	}
}

// TestRows: a read ends at its limit, and at an error of yield, which it returns as it is.
func TestRows(t *testing.T) {
	gate := &plan.Gate{Engine: "test"}
	page := prepare(t, gate, "page")
	stop := errors.New("stop")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		limit  drivers.Value
		stop   int // the row at which yield returns an error
		cancel int // the row at which the context is canceled
		want   int
		err    error
	}{
		{drivers.Bigint(3), 0, 0, 3, nil},
		{drivers.Bigint(2000), 0, 0, 1000, nil},
		{drivers.Value{}, 0, 0, 1000, nil},
		{drivers.Value{}, 5, 0, 5, stop},
		{drivers.Bigint(5), 5, 0, 5, stop},
		{drivers.Value{}, 0, 300, 512, context.Canceled},
	} {
		s := open(gate)
		s.rows = 1000
		n := 0
		err := s.Read(ctx, page, []drivers.Value{drivers.Text("u"), c.limit}, func([]drivers.Value) error {
			n++
			if want := c.limit.Int64() - int64(n-1); !c.limit.IsNull() && s.Left != want {
				t.Errorf("%d rows are left at row %d, want %d", s.Left, n, want)
			}
			if n == c.cancel {
				cancel()
			}
			if n == c.stop {
				return stop
			}
			return nil
		})
		if n != c.want || !errors.Is(err, c.err) || c.err == stop && err != stop {
			t.Errorf("limit %v, stop at %d: %d rows, %v; want %d, %v", c.limit.Int64(), c.stop, n, err, c.want, c.err)
		}
	}
}

// TestClose: the store waits for a call under way, and a call from within it is refused.
func TestClose(t *testing.T) {
	gate := &plan.Gate{Engine: "test"}
	page := prepare(t, gate, "page")
	s := open(gate)
	s.rows = 1
	closed := make(chan bool, 1)
	err := s.Read(t.Context(), page, []drivers.Value{drivers.Text("u"), {}}, func([]drivers.Value) error {
		go func() { closed <- gate.Close() }()
		for !gate.Closed() {
		}
		select {
		case <-closed:
			t.Error("closed during a read")
		default:
		}
		if err := gate.During("look", func() error { return nil }); !errors.Is(err, drivers.ErrClosed) {
			t.Errorf("a call while the store closes: %v", err)
		}
		return nil
	})
	if err != nil || !<-closed {
		t.Errorf("the read: %v", err)
	}
}

// TestHide: the errors of calls do not have the store's password.
func TestHide(t *testing.T) {
	gate := &plan.Gate{Engine: "test", Login: &drivers.Login{User: "joe", Password: "s3cret"}}
	err := gate.During("look", func() error { return errors.New("joe:s3cret is unknown") })
	if err == nil || !strings.HasPrefix(err.Error(), "look: ") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a call that fails: %v", err)
	}
}

// TestInOrder: outcomes come in the order of the members, no more than width of them run at the same time, and after a
// failure no more begin.
func TestInOrder(t *testing.T) {
	for _, width := range []int{1, 2, 3, 7, 20} {
		var mu sync.Mutex
		busy, begun := 0, 0
		var took []int
		plan.InOrder(10, width, func(i int) error {
			mu.Lock()
			if busy++; busy > width {
				t.Errorf("%d members at the same time, want up to %d", busy, width)
			}
			begun++
			mu.Unlock()
			if i == 5 {
				panic("a defect")
			}
			return nil
		}, func(i int, err error) bool {
			mu.Lock()
			busy--
			mu.Unlock()
			took = append(took, i)
			if (err != nil) != (i == 5) {
				t.Errorf("member %d: %v", i, err)
			}
			return err == nil
		})
		want := slices.Collect(func(yield func(int) bool) {
			for i := 0; i < min(10, 5+width) && yield(i); i++ {
			}
		})
		if !slices.Equal(took, want) || begun != len(want) {
			t.Errorf("width %d: took %d, begun %d; want %d", width, took, begun, want)
		}
	}
}

// TestReadEach: rows come in the order of the list. After an error no more are read, and reads under way end.
func TestReadEach(t *testing.T) {
	enough := errors.New("enough")
	for _, width := range []int{1, 3, 20} {
		var got []int
		var ended atomic.Int64
		err := plan.ReadEach(t.Context(), 10, width, func(ctx context.Context, i int) ([]int, error) {
			if i > 4 {
				<-ctx.Done()
				ended.Add(1)
				return nil, ctx.Err()
			}
			return []int{2 * i, 2*i + 1}, nil
		}, func(row int) error {
			if got = append(got, row); row == 7 {
				return enough
			}
			return nil
		})
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; err != enough || !slices.Equal(got, want) || int(ended.Load()) > width {
			t.Errorf("width %d: rows %d, %v, and %d reads under way; want %d and %v", width, got, err, ended.Load(), want, enough)
		}
	}
}

// TestByElement: each element of a list has its rows, also one that the list has twice.
func TestByElement(t *testing.T) {
	rows, a, b, c := make(plan.ByElement[string]), drivers.Text("a"), drivers.Text("b"), drivers.Text("c")
	rows.Add(b, "b1")
	rows.Add(a, "a1")
	rows.Add(b, "b2")
	var got []string
	err := rows.Each([]drivers.Value{b, c, a, b}, func(row string) error {
		got = append(got, row)
		return nil
	})
	if want := []string{"b1", "b2", "a1", "b1", "b2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("rows %q, %v; want %q", got, err, want)
	}
}

// TestWrites: after a failure nothing more is begun, and if one outcome is unknown, all are.
func TestWrites(t *testing.T) {
	refused := errors.New("refused")
	for _, width := range []int{0, 1, 2, 4} {
		applied, err := plan.Writes(6, width, func(i int) error {
			switch {
			case i == 2:
				return refused
			case i == 3:
				panic("a defect")
			}
			return nil
		})
		var c *crash.Error
		switch {
		case width < 2 && (applied != 2 || err != refused):
			t.Errorf("width %d: %d applied, %v", width, applied, err)
		case width >= 2 && (!errors.Is(err, drivers.ErrUnknown) || !errors.As(err, &c) || applied < 2 || applied > 4):
			t.Errorf("width %d: %d applied, %v; want a panic whose outcome is unknown", width, applied, err)
		}
	}
	if n, err := plan.Writes(3, 2, func(int) error { return nil }); n != 3 || err != nil {
		t.Errorf("%d applied, %v", n, err)
	}
}
