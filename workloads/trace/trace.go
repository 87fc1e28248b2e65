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
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
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
	r := &recorder{prepared: make(map[string]bool), loaded: make(map[string]bool), plans: make(map[string][]string)}
	result, err := run.Run(ctx, run.Config{
		Workload: w, Models: []models.Model{m}, Engines: []drivers.Engine{r.engine(e)},
		NoFloor: true, Workers: 1, Hooks: run.Hooks{Progress: progress},
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

// longestText is how many bytes of a text or blob are shown.
const longestText = 40

// describe writes the arguments of a call.
func describe(p *schemas.Pattern, args []drivers.Value) string {
	var words []string
	for i, a := range p.Args() {
		if i < len(args) {
			words = append(words, a.Name+"="+word(args[i]))
		}
	}
	return strings.Join(words, " ")
}

func word(v drivers.Value) string {
	switch v.Kind() {
	case schemas.Null:
		return "null"
	case schemas.Text:
		if raw := v.Raw(); len(raw) > longestText {
			return fmt.Sprintf("%q… (%d bytes)", raw[:longestText], len(raw))
		}
		return strconv.Quote(v.Str())
	case schemas.Blob:
		return fmt.Sprintf("%d bytes", len(v.Raw()))
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return hex.EncodeToString(u[:])
	case schemas.Timestamp:
		return v.Time().Format(time.RFC3339)
	case schemas.Set, schemas.List, schemas.Map:
		return fmt.Sprintf("%d elements", len(v.Elems()))
	}
	return strconv.FormatInt(v.Int64(), 10)
}

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
	drivers.Queried
	pattern string           // name of the pattern that the schema declares
	runs    *schemas.Pattern // the pattern or its fallback
	counted drivers.Cost     // what the session itself counted
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
	cost   drivers.Cost          // of traced calls
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
	cost := s.Session.Take() // of a store of blobs, if calls are traced
	cost.Add(&s.cost)
	s.cost = drivers.Cost{}
	return cost
}

// begin begins to record a call, and returns a function that ends it.
func (s *session) begin(st drivers.Statement, args string) (end func(rows int64, err error)) {
	c := call{Queried: drivers.Queried{Args: args}, pattern: st.Pattern().Name, runs: st.Pattern()}
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
		c.Took, c.Returned, c.Err, c.counted = time.Since(start), rows, err, s.traced.Take()
		s.cost.Add(&c.counted)
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

// workAtMost is how long an engine may take to report its work.
const workAtMost = time.Minute

// Close reads what the engine did for the calls, and closes the session.
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
		return errors.Join(fmt.Errorf("trace calls: %w", err), s.Session.Close())
	}
	for i := range work {
		s.calls[i].Work = work[i]
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.calls = append(s.to.calls, s.calls...)
	return s.Session.Close()
}
