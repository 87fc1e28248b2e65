package trace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// recorder keeps the calls of the sessions that are opened once the load has settled.
type recorder struct {
	mu       sync.Mutex
	version  string
	settled  bool
	prepared map[string]bool // patterns that the engine runs, or their fallbacks
	loaded   map[string]bool // patterns that the load has run
	calls    []call
	plans    map[string][]string // the engine's plans, by the pattern that runs
}

// call is one call of a pattern.
type call struct {
	pattern string           // name of the pattern that the schema declares
	runs    *schemas.Pattern // the pattern or its fallback
	args    string
	rows    int64 // rows returned
	took    time.Duration
	err     error
	work    drivers.Work
	counted drivers.Cost // what the session itself counted
}

// engine returns the engine with stores that the recorder listens to.
func (r *recorder) engine(e drivers.Engine) drivers.Engine {
	open := e.Open
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		st, err := open(ctx, o)
		if err != nil {
			return nil, err
		}
		tracer, ok := st.(drivers.Tracer)
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s cannot tell what its calls cost", e.Name), st.Close())
		}
		r.version = st.Capabilities().Version
		return &store{st, tracer, r}, nil
	}
	return e
}

// store is a store whose sessions a recorder listens to. Of the drivers' optional interfaces
// it has only Settler, Admin and Leaver.
type store struct {
	drivers.Store
	tracer drivers.Tracer
	to     *recorder
}

var (
	_ drivers.Settler = (*store)(nil)
	_ drivers.Admin   = (*store)(nil)
	_ drivers.Leaver  = (*store)(nil)
)

// Prepare implements drivers.Store.
func (s *store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	st, err := s.Store.Prepare(ctx, p)
	if err == nil {
		s.to.mu.Lock()
		defer s.to.mu.Unlock()
		s.to.prepared[p.Name] = true
		if planned, ok := st.(drivers.Planner); ok {
			s.to.plans[p.Name] = planned.Plans()
		}
	}
	return st, err
}

// Settle implements drivers.Settler. Sessions that are opened after it are traced.
func (s *store) Settle(ctx context.Context) (err error) {
	if settler, ok := s.Store.(drivers.Settler); ok {
		err = settler.Settle(ctx)
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.settled = true
	return err
}

// Namespaces implements drivers.Admin.
func (s *store) Namespaces(ctx context.Context) ([]string, error) {
	return drivers.Namespaces(ctx, s.Store)
}

// Drop implements drivers.Admin.
func (s *store) Drop(ctx context.Context) error { return drivers.Drop(ctx, s.Store) }

// Left implements drivers.Leaver.
func (s *store) Left() string { return drivers.Left(s.Store) }

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if !s.to.settled {
		inner, err := s.Store.Session()
		return &session{Session: inner, to: s.to}, err
	}
	traced, err := s.tracer.Traced()
	return &session{Session: traced, traced: traced, to: s.to}, err
}

// session records its calls. Before the load has settled it only records which patterns run.
type session struct {
	drivers.Session
	traced drivers.TracedSession // nil before the load has settled
	cost   drivers.CostCounter
	to     *recorder
	calls  []call
}

// Bulk implements drivers.Bulk, where the engine has that.
func (s *session) Bulk(on bool) {
	if b, ok := s.Session.(drivers.Bulk); ok {
		b.Bulk(on)
	}
}

// Take implements drivers.Session.
func (s *session) Take() drivers.Cost {
	if s.traced == nil {
		return s.Session.Take()
	}
	return s.cost.Take()
}

// begin begins to record a call, and returns a function that ends it.
func (s *session) begin(st drivers.Statement, args string) (end func(rows int64, err error)) {
	c := call{pattern: st.Pattern().Name, runs: st.Pattern(), args: args}
	if declared := st.Emulates(); declared != nil {
		c.pattern = declared.Name
	}
	if s.traced == nil {
		s.to.mu.Lock()
		defer s.to.mu.Unlock()
		s.to.loaded[c.pattern] = true
		return func(int64, error) {}
	}
	s.traced.Begin()
	start := time.Now()
	return func(rows int64, err error) {
		c.took, c.rows, c.err, c.counted = time.Since(start), rows, err, s.traced.Take()
		s.cost.Cost.Add(&c.counted)
		s.calls = append(s.calls, c)
	}
}

// Read implements drivers.Session.
func (s *session) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	rows := int64(0)
	end := s.begin(st, describe(st.Pattern(), args))
	err := s.Session.Read(ctx, st, args, func(row []drivers.Value) error {
		rows++
		return yield(row)
	})
	end(rows, err)
	return err
}

// Write implements drivers.Session.
func (s *session) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	end := s.begin(st, describe(st.Pattern(), args))
	res, err := s.Session.Write(ctx, st, args)
	end(0, err)
	return res, err
}

// Batch implements drivers.Session.
func (s *session) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	end := s.begin(st, fmt.Sprintf("%d parts", len(parts)))
	err := s.Session.Batch(ctx, st, parts)
	end(0, err)
	return err
}

// workAtMost is how long an engine may take to tell what it did.
const workAtMost = time.Minute

// Close asks the engine what it did for the calls, and closes the session.
func (s *session) Close() error {
	if s.traced == nil {
		return s.Session.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), workAtMost)
	defer cancel()
	work, err := s.traced.Work(ctx)
	if err == nil && len(work) != len(s.calls) {
		err = fmt.Errorf("the engine reported %d calls, but %d were made", len(work), len(s.calls))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("ask what calls cost: %w", err), s.Session.Close())
	}
	for i := range work {
		s.calls[i].work = work[i]
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.calls = append(s.to.calls, s.calls...)
	return s.Session.Close()
}
