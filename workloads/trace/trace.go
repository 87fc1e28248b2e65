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
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
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
	r, open := &Report{Model: m.Name, Engine: e.Name}, e.Open
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		st, err := open(ctx, o)
		if err != nil {
			return nil, err
		}
		tracer, ok := st.(drivers.Tracer)
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s does not report the cost of its calls", e.Name), st.Close())
		}
		r.Version = st.Capabilities().Version
		admin, _ := st.(drivers.Admin) // of an engine over a network
		return &store{st, admin, tracer, r}, nil
	}
	result, err := run.Run(ctx, run.Config{
		Workload: w, Models: []models.Model{m}, Engines: []drivers.Engine{e},
		Workers: 1, Progress: progress,
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
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	r.sum(s)
	return r, nil
}

// call is one call of a pattern.
type call struct {
	runs    drivers.Statement // of the pattern or its fallback
	cost    Cost
	err     error
	counted drivers.Cost // what the session itself counted
}

// store is a store whose sessions are recorded. Of the drivers' optional interfaces
// it has only Settler and Admin.
type store struct {
	drivers.Store
	drivers.Admin // nil of an embedded engine: only others have namespaces
	tracer        drivers.Tracer
	to            *Report
}

var _ drivers.Settler = (*store)(nil)

// Settle implements drivers.Settler. Sessions that are opened after it are traced.
func (s *store) Settle(ctx context.Context) (err error) {
	if settler, ok := s.Store.(drivers.Settler); ok {
		err = settler.Settle(ctx)
	}
	s.to.settled = true
	return err
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
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
	to    *Report
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
	c.cost.Returned, c.err = run()
	c.cost.Client, c.counted = time.Since(start), s.TracedSession.Take()
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
		s.calls[i].cost.Work = work[i]
	}
	s.to.calls = append(s.to.calls, s.calls...)
	return s.TracedSession.Close()
}

// Report says what each pattern of a model cost on an engine.
type Report struct {
	Model    string    `json:"model"`
	Engine   string    `json:"engine"`
	Version  string    `json:"version"` // version of the engine
	Patterns []Pattern `json:"patterns"`

	settled bool   // the load has: sessions that are opened from then on are traced
	calls   []call // of these sessions; a phase closes one after another, so they need no lock
}

// Pattern is what the calls of one pattern cost.
type Pattern struct {
	Name string `json:"pattern"`
	// Runs is the fallback that runs in the pattern's place, or "".
	Runs   string `json:"runs,omitempty"`
	Calls  int    `json:"calls"` // 0: no operation called it by itself
	Failed int    `json:"failed,omitempty"`
	// Median and Most are over all calls that did not fail, for each number of Cost by itself.
	Median *Cost `json:"median,omitempty"`
	Most   *Cost `json:"most,omitempty"`
	// Plan is how the engine runs the pattern or its fallback, if it reports that: a line a request.
	Plan []string `json:"plan,omitempty"`
}

// Cost is what a call cost. A negative number is not known.
type Cost struct {
	drivers.Work
	Returned int64         `json:"rows_returned"`
	Client   time.Duration `json:"client_nanoseconds"` // how long the call took; Work.Time is what the engine reports
}

// fields are the numbers, in the order of columns; the last is the client's time, which has none.
func (c *Cost) fields() []*int64 {
	return []*int64{
		&c.Requests, &c.Nodes, &c.Returned, &c.Rows, &c.Tombstones, &c.Hidden, &c.Cells, &c.Bytes, &c.Blocks,
		(*int64)(&c.Time), (*int64)(&c.Client),
	}
}

// sum makes patterns of the recorded calls, in the schema's order.
func (r *Report) sum(s *schemas.Schema) {
	for _, p := range s.Patterns {
		one, costs, runs := Pattern{Name: p.Name}, []Cost(nil), drivers.Statement(nil)
		for i := range r.calls {
			c := &r.calls[i]
			if cmp.Or(c.runs.Emulates(), c.runs.Pattern()).Name != p.Name {
				continue
			}
			runs = c.runs
			if one.Calls++; c.err != nil {
				one.Failed++
			} else {
				costs = append(costs, c.cost)
			}
		}
		if len(costs) > 0 {
			one.Median, one.Most = fold(costs, median), fold(costs, slices.Max)
		}
		if runs != nil && runs.Pattern().Name != p.Name {
			one.Runs = runs.Pattern().Name
		}
		if planner, ok := runs.(drivers.Planner); ok {
			one.Plan = planner.Plans()
		}
		r.Patterns = append(r.Patterns, one)
	}
}

// median is the middle number, or the mean of the two in the middle, rounded down.
func median(of []int64) int64 {
	s := slices.Sorted(slices.Values(of))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// fold applies one to the known numbers of each field. A field without any is -1.
func fold(costs []Cost, one func([]int64) int64) *Cost {
	var all Cost
	for i, to := range all.fields() {
		var known []int64
		for j := range costs {
			if n := *costs[j].fields()[i]; n >= 0 {
				known = append(known, n)
			}
		}
		if *to = -1; len(known) > 0 {
			*to = one(known)
		}
	}
	return &all
}

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns, and below the patterns whose calls failed or that were not called.
func (r *Report) WriteText(w io.Writer, legend string, width int) {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	if costs := r.costs(); len(costs) > 1 {
		fmt.Fprint(w, words.Table(costs, len(costs[0]), width))
	}
	plans, failed, not := [][]string{{"PATTERN", "PLAN"}}, "", []string(nil)
	for i := range r.Patterns {
		p := &r.Patterns[i]
		name := p.Name
		for _, line := range p.Plan {
			plans, name = append(plans, []string{name, line}), ""
		}
		if p.Calls == 0 {
			not = append(not, p.Name)
		}
		if p.Failed > 0 {
			failed += fmt.Sprintf("\n%s: %d of %d calls failed\n", p.Name, p.Failed, p.Calls)
		}
	}
	if len(plans) > 1 {
		fmt.Fprint(w, "\n", words.Table(plans, len(plans[0]), width))
	}
	fmt.Fprint(w, failed)
	if len(not) > 0 {
		fmt.Fprintf(w, "\nno operation called it by itself: %s\n", strings.Join(not, ", "))
	}
}

// costs are a row for each pattern with calls. A column that no pattern knows is left out.
func (r *Report) costs() [][]string {
	head := []string{
		"PATTERN", "CALLS",
		"REQUESTS", "NODES", "RETURNED", "READ", "TOMBSTONES", "HIDDEN", "CELLS", "BYTES", "BLOCKS", "TIME",
	}
	rows := [][]string{head}
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			continue
		}
		row := []string{p.Name, strconv.Itoa(p.Calls)}
		if p.Runs != "" {
			row[0] += " (by " + p.Runs + ")"
		}
		for field := range len(head) - len(row) {
			row = append(row, p.cell(field))
		}
		rows = append(rows, row)
	}
	for c := len(head) - 1; c >= 0; c-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[c] != unknown }) {
			for i, row := range rows {
				rows[i] = slices.Delete(row, c, c+1)
			}
		}
	}
	return rows
}

// unknown is the text of a number that is not known.
const unknown = "-"

// cell is the median of a field, and the most if that differs.
func (p *Pattern) cell(field int) string {
	if p.Median == nil {
		return unknown
	}
	middle, most := p.Median.text(field), p.Most.text(field)
	if middle != most {
		middle += " (" + most + ")"
	}
	return middle
}

// text is a number of a cost. The time is the client's if the engine reports none.
func (c *Cost) text(field int) string {
	all := c.fields()
	n, isTime := *all[field], field == len(all)-2
	if isTime && n < 0 {
		n = int64(c.Client)
	}
	switch {
	case n < 0:
		return unknown
	case isTime:
		return words.Duration(float64(n))
	}
	return strconv.FormatInt(n, 10)
}
