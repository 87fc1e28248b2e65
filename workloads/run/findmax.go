package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/search"
)

// Usual values of Config.FindMax.
const (
	DefaultMaxRate   = 1_000_000
	DefaultPrecision = 0.05
	DefaultStep      = 5 * time.Second
	InProcessStep    = 2 * time.Second // on an engine in this process, which answers in microseconds

	longestStep = time.Minute
)

// stepOperations is how many operations a step executes: as many as the default objectives need
// (2,995 for errors <0.1%), and three standard deviations of Poisson arrivals more. A step is long
// enough for them, but no longer than longestStep. Tests lower it.
var stepOperations = 3165.0

// inProcessTime ends a search on an engine in this process within a minute, also where measurements of
// a rate differ: after it no step begins. Tests lower it.
var inProcessTime = 40 * time.Second

// defaultObjectives are the objectives for a workload that expects nothing.
var defaultObjectives = []results.Objective{
	{Figure: "achieved", Sign: ">=", Bound: 0.99, Text: ">=99%"},
	{Figure: "errors", Sign: "<", Bound: 0.001, Text: "<0.1%"},
	{Figure: "p99", Sign: "<", Bound: 100e6, Text: "<100ms"},
}

// maxSearch searches the highest rate of one measured phase, which it executes at the rates of search.Next.
type maxSearch struct {
	*results.Search // the one of the result
	on              *combination
	phase           *workloads.Phase
	began           time.Time
	messages        int           // existing messages before the first step
	least           time.Duration // of a step
}

// searched reports whether --find-max is for a phase: one that is measured at a rate.
func searched(p *workloads.Phase) bool {
	return p.Kind == workloads.Measure && p.Arrivals != workloads.Closed && p.Replay == nil
}

// search finds the highest rate of a measured phase, if it has one. Its cell is the last
// measurement at that rate.
func (c *combination) search(ctx context.Context, p *workloads.Phase) (err error) {
	if !searched(p) {
		return nil
	}
	r, f := c.runner, c.runner.config.FindMax
	r.result.Searches = append(r.result.Searches, results.Search{
		Key: c.key(p.Name), Arrivals: p.Arrivals.String(), Objectives: r.result.Objectives,
		Default: len(r.config.Workload.Expect) == 0, Max: f.Max, Precision: f.Precision, Steps: []results.SearchStep{},
	})
	s := &maxSearch{on: c, phase: p, began: time.Now(), messages: c.target.Live.Messages()}
	s.Search = &r.result.Searches[len(r.result.Searches)-1]
	s.begin(f)
	for rate, more := search.Next(s.Search); more; rate, more = search.Next(s.Search) {
		var step results.SearchStep
		err = crash.Guard(func() (err error) { step, err = s.step(ctx, rate); return err })
		if ctx.Err() == nil && step.Verdict != "" {
			s.Steps = append(s.Steps, step)
			if c.target.Caps.InProcess && time.Since(s.began) > inProcessTime {
				s.Most = len(s.Steps)
			}
			r.save()
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		s.Unfinished = "interrupted"
	case err != nil:
		s.Unfinished = err.Error()
	}
	found, at := search.Found(s.Search)
	if s.Found = &found; at != nil {
		c.cell = new(*at)
	}
	return err
}

// begin sets the rate of the first step, which is the phase's unless f has one, and the least length of steps. An
// engine in this process begins where a step has its operations within that length: lower rates would take most of a
// minute.
func (s *maxSearch) begin(f *results.FindMax) {
	step, rate := DefaultStep, s.phase.Rate.PerSecond()
	if s.on.target.Caps.InProcess {
		step, rate = InProcessStep, max(rate, math.Round(stepOperations/InProcessStep.Seconds()))
	}
	s.least, s.From = cmp.Or(duration(f.Step), step), min(cmp.Or(f.From, rate), s.Max)
}

// stepOf is between the name of a phase and the number of a step.
const stepOf = ", step "

// step executes the phase at one rate, with a phase number of its own. Before each
// step but the first, it restores the store.
func (s *maxSearch) step(ctx context.Context, rate float64) (results.SearchStep, error) {
	step := results.SearchStep{Rate: rate}
	what := fmt.Sprintf("%s%s%d at %s/s", s.phase.Name, stepOf, len(s.Steps)+1, words.Amount(rate))
	if len(s.Steps) > 0 {
		if err := s.restore(ctx, what, &step); err != nil {
			return step, err
		}
	}
	drawn := s.on.fresh(plan.AtRate(*s.phase, rate, s.length(rate)))
	var last drive.Progress
	spec := s.on.spec(&drawn)
	spec.Log, spec.Observe = nil, nil // the interval log would have the windows of some twenty phases
	// An operation that starts later than 2 s, or twice the longest bound, is dropped, and its step fails. Otherwise the
	// backlog of a rate far above capacity would take minutes.
	wait := 2 * time.Second
	for _, o := range s.Objectives {
		if o.Bound > 1000 && o.Sign[0] == '<' { // a time: a share is at most 1
			wait = max(wait, time.Duration(math.Min(2*o.Bound, float64(DefaultMaxWait))))
		}
	}
	spec.MaxWait = min(spec.MaxWait, wait)
	spec.Progress = func(d drive.Progress) {
		if last = d; !d.Finished {
			s.progress(what, d)
		}
	}
	err := drive.Drive(ctx, s.on.target, spec)
	step.Cell = *spec.Cell
	if step.Cell.Timeline = nil; err != nil && ctx.Err() == nil {
		step.Cell.Error = err.Error()
	}
	judge.Apply(&step.Cell, s.on.runner.result.Objectives)
	step.Verdict, step.Text = search.Judge(&step.Cell)
	last.Finished = true
	s.progress(what+" "+string(step.Verdict), last)
	return step, err
}

// progress hands on the progress of a step. Its fraction is that of the whole search.
func (s *maxSearch) progress(what string, d drive.Progress) {
	d.Fraction = min(1, time.Since(s.began).Seconds()/searchSeconds)
	s.on.runner.progress(what, d)
}

// length is how long a step at that rate lasts. Operations that the model lacks, or that found no
// message in the step before, are not executed.
func (s *maxSearch) length(rate float64) time.Duration {
	if n := len(s.Steps); n > 0 && s.Steps[n-1].Cell.Offered != nil {
		o := s.Steps[n-1].Cell.Offered
		rate *= 1 - float64(o.Skipped+o.NoTarget)/float64(max(1, o.Due))
	}
	return min(max(s.least, duration(stepOperations/max(rate, 1))), longestStep)
}

// fresh is a phase with a number that no other phase of any trial has.
func (c *combination) fresh(p workloads.Phase) workloads.Phase {
	c.extra++
	p.Number = (len(c.at.workload.Phases)+c.extra)*c.runner.config.trials() + c.trial - 1
	return p
}

// restore brings the store back to where it was before the first step: at rest, cold if
// the phase is to find it so, and with as many messages.
func (s *maxSearch) restore(ctx context.Context, what string, step *results.SearchStep) (err error) {
	c := s.on
	live := c.target.Live.Messages()
	if float64(live) < 0.9*float64(s.messages) && !c.target.Lacks[workloads.Deliver] {
		q := c.fresh(workloads.Phase{
			Kind: workloads.Warmup, Name: s.phase.Name, Arrivals: workloads.Closed, Clients: DefaultWorkers,
			Mix: workloads.Mix{workloads.Deliver: 1},
		})
		q.Operations = uint64(math.Ceil(float64(s.messages-live) / max(1, c.at.workload.Mail.Recipients.Mean())))
		spec := c.spec(&q)
		spec.Progress = func(d drive.Progress) {
			d.Finished = false
			s.progress(what+": deliver messages", d)
		}
		if err := drive.Drive(ctx, c.target, spec); err != nil {
			return err
		}
		step.Refilled = int64(c.target.Live.Messages() - live)
	}
	s.progress(what+": settle", drive.Progress{})
	if c.settled, err = c.target.Settle(ctx); err != nil || !c.cold {
		return err
	}
	_, err = c.target.Cool(ctx)
	return err
}
