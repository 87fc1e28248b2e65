// Package trace measures what each access pattern of a model costs inside an engine:
//
//	report, err := trace.Run(ctx, model, engine, workload, nil)
//
// Run loads a small population as any run does (package workloads/run). Then one client runs
// the mail operations of the workload on traced sessions (drivers.Tracer). The engine reports
// what it did for each call of a pattern. Times are longer than those of a run, since tracing
// takes time itself.
package trace

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

// Text is the small workload that shows most patterns.
//
//go:embed trace.yaml
var Text []byte

// Run loads the workload's population into a namespace or folder of its own, runs its
// operations with one worker, and removes what it made. The workload says where the engine is. It must have a
// phase settle, since calls are traced from then on. progress may be nil.
func Run(
	ctx context.Context, m models.Model, e drivers.Engine, w *workloads.Workload, progress func(run.Progress),
) (*Report, error) {
	s, err := m.With(w.ValuesOf(m.Name)).Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", m.Name, err)
	}
	r := new(recorder)
	result, err := run.Run(ctx, run.Config{
		Workload: w, Models: []models.Model{m}, Engines: []drivers.Engine{r.engine(e)},
		Workers: 1, Hooks: run.Hooks{Progress: progress},
	})
	if err != nil {
		return nil, err
	}
	for cell := range result.All {
		if cell.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s on %s, %s: %s", cell.Model, cell.Engine, cell.Phase, cell.Error))
		}
	}
	for _, left := range result.Left {
		err = errors.Join(err, errors.New(left))
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return r.report(m.Name, e.Name, s), nil
}

// recorder keeps the calls of the sessions that are opened once the load has settled.
type recorder struct {
	mu      sync.Mutex
	version string
	settled bool
	calls   []call
}

// call is one call of a pattern.
type call struct {
	runs     drivers.Statement // of the pattern or its fallback
	work     drivers.Work
	returned int64 // rows
	took     time.Duration
	err      error
	counted  drivers.Cost // what the session itself counted
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
			return nil, errors.Join(fmt.Errorf("%s does not report the cost of its calls", e.Name), st.Close())
		}
		r.version = st.Capabilities().Version
		return &store{st, tracer, r}, nil
	}
	return e
}

// store is a store whose sessions a recorder listens to. Of the drivers' optional interfaces
// it has only Settler and Admin.
type store struct {
	drivers.Store
	tracer drivers.Tracer
	to     *recorder
}

var (
	_ drivers.Settler = (*store)(nil)
	_ drivers.Admin   = (*store)(nil)
)

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
func (s *store) Namespaces(ctx context.Context) ([]drivers.Namespace, error) {
	return drivers.Namespaces(ctx, s.Store)
}

// Drop implements drivers.Admin.
func (s *store) Drop(ctx context.Context) (string, error) { return drivers.Drop(ctx, s.Store) }

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	if !s.to.settled {
		return s.Store.Session()
	}
	traced, err := s.tracer.Traced()
	if err != nil {
		return nil, err
	}
	return &session{TracedSession: traced, to: s.to}, nil
}

// session records its calls.
type session struct {
	drivers.TracedSession
	cost  drivers.Cost // of the calls
	to    *recorder
	calls []call
}

// Take implements drivers.Session.
func (s *session) Take() drivers.Cost {
	cost := s.TracedSession.Take() // of a store of blobs
	cost.Add(&s.cost)
	s.cost = drivers.Cost{}
	return cost
}

// traced runs a call, which returns how many rows it yielded, and records it.
func (s *session) traced(st drivers.Statement, run func() (rows int64, err error)) error {
	c := call{runs: st}
	s.Begin()
	start := time.Now()
	c.returned, c.err = run()
	c.took, c.counted = time.Since(start), s.TracedSession.Take()
	s.cost.Add(&c.counted)
	s.calls = append(s.calls, c)
	return c.err
}

// Read implements drivers.Session.
func (s *session) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	return s.traced(st, func() (rows int64, err error) {
		err = s.TracedSession.Read(ctx, st, args, func(row []drivers.Value) error {
			rows++
			return yield(row)
		})
		return rows, err
	})
}

// Write implements drivers.Session.
func (s *session) Write(
	ctx context.Context, st drivers.Statement, args []drivers.Value,
) (res drivers.Result, err error) {
	err = s.traced(st, func() (rows int64, err error) {
		res, err = s.TracedSession.Write(ctx, st, args)
		return 0, err
	})
	return res, err
}

// Batch implements drivers.Session.
func (s *session) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	return s.traced(st, func() (int64, error) { return 0, s.TracedSession.Batch(ctx, st, parts) })
}

// Close reads what the engine did for the calls, and closes the session.
func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // for an engine's report of its work
	defer cancel()
	work, err := s.Work(ctx)
	if err == nil && len(work) != len(s.calls) {
		err = fmt.Errorf("the engine reported %d calls, but %d were made", len(work), len(s.calls))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("trace calls: %w", err), s.TracedSession.Close())
	}
	for i := range work {
		s.calls[i].work = work[i]
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.calls = append(s.to.calls, s.calls...)
	return s.TracedSession.Close()
}
