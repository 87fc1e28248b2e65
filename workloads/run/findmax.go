package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/search"
	"github.com/mailbench/mailbench/reports/units"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
)

// FindMax makes a run search for the highest rate at which each measured phase keeps
// what the workload expects. The zero value of a field is its default.
type FindMax struct {
	From      float64       // first rate in operations a second; default: the phase's
	Max       float64       // highest rate; default DefaultMaxRate
	Precision float64       // the bracket's width at the end, as a share of the rate; default DefaultPrecision
	Step      time.Duration // length of a measurement; default DefaultStep
}

// Defaults of FindMax.
const (
	DefaultMaxRate   = 1_000_000
	DefaultPrecision = 0.05
	DefaultStep      = 5 * time.Second

	// closedFrom is the first rate for a phase that is a closed loop, in operations a second.
	closedFrom  = 100
	longestStep = time.Minute
	// An operation that starts later than stepMaxLag, or twice the longest bound, is dropped,
	// and its step fails. Otherwise the backlog of a rate far above capacity would take
	// minutes.
	stepMaxLag = 2 * time.Second
	// refillBelow is the least share of the messages at the search's start that must be live
	// before a step. If fewer are, the search delivers new ones.
	refillBelow = 0.9
)

// stepOperations is how many operations the default objectives need in a step. A step is long
// enough for them, but no longer than longestStep. Tests lower it.
var stepOperations = 3000.0

// defaultObjectives are the objectives for a workload that expects nothing.
func defaultObjectives() []reports.Objective {
	return []reports.Objective{
		{Figure: "achieved", Sign: ">=", Bound: 0.99, Text: ">=99%"},
		{Figure: "errors", Sign: "<", Bound: 0.001, Text: "<0.1%"},
		{Figure: "p99", Sign: "<", Bound: 100e6, Text: "<100ms"},
	}
}

// valueOr is the value, valueOr the default if it is zero.
func valueOr[T ~int64 | ~float64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// search finds the highest rate of a measured phase. Its cell is the last measurement at
// that rate.
func (c *combination) search(ctx context.Context, p *workloads.Phase) error {
	f, r := c.runner.config.FindMax, c.runner
	s := reports.Search{
		Key: c.key(p.Name), Arrivals: p.Arrivals.String(), Objectives: r.result.Objectives,
		Default: len(r.config.Workload.Expect) == 0,
		From:    f.From, Max: valueOr(f.Max, DefaultMaxRate), Precision: valueOr(f.Precision,
			DefaultPrecision), Steps: []reports.SearchStep{},
	}
	if p.Arrivals == workloads.Closed {
		s.Arrivals = workloads.Poisson.String()
		s.From = valueOr(s.From, closedFrom)
	}
	s.From = min(valueOr(s.From, p.Rate.PerSecond()), s.Max)
	messages := c.target.Live.Messages()
	at := len(r.result.Searches)
	r.result.Searches = append(r.result.Searches, s)
	var err error
	for rate, more := search.Next(&s); more && err == nil && ctx.Err() == nil; rate, more = search.Next(&s) {
		var step reports.SearchStep
		if step, err = c.searchStep(ctx, p, &s, rate, messages); ctx.Err() == nil && step.Verdict != "" {
			s.Steps = append(s.Steps, step)
			r.result.Searches[at] = s
			r.save()
		}
	}
	switch {
	case ctx.Err() != nil:
		s.Unfinished = "interrupted"
	case err != nil:
		s.Unfinished = err.Error()
	}
	found := search.Found(&s)
	s.Found = &found
	r.result.Searches[at] = s
	if cell := search.Cell(&s); cell != nil {
		c.addJudged(*cell)
	}
	return err
}

// searchStep carries out the phase at one rate, with a phase number of its own. Before each
// step but the first, it restores the store, which had so many live messages at first.
func (c *combination) searchStep(
	ctx context.Context, p *workloads.Phase, s *reports.Search, rate float64, messages int,
) (reports.SearchStep, error) {
	step := reports.SearchStep{Rate: rate}
	what := fmt.Sprintf("%s, step %d at %s/s", p.Name, len(s.Steps)+1, units.Amount(rate))
	if len(s.Steps) > 0 {
		if err := c.restore(ctx, p, what, messages, &step); err != nil {
			return step, err
		}
	}
	length := valueOr(c.runner.config.FindMax.Step, DefaultStep)
	length = min(max(length, time.Duration(stepOperations/rate*1e9)), longestStep)
	drawn, err := p.Without(c.target.Lacks()).AtRate(rate, length)
	if err != nil {
		return step, err
	}
	q := c.fresh(drawn)
	spec := c.spec(&q, c.workload().Stream(&q, c.at.census), 0)
	spec.Log = nil // the interval log would have the windows of some twenty phases
	spec.MaxLag = min(spec.MaxLag, maxLagOf(s.Objectives))
	var last drive.Progress
	spec.Progress = func(d drive.Progress) {
		if last = d; !d.Finished {
			c.runner.progress(what, d)
		}
	}
	before := c.target.Observe()
	m, err := drive.Drive(ctx, c.target, spec)
	cell := c.measured(&q, &m, before)
	cell.Timeline, cell.Error = nil, errorText(ctx, err)
	judge.Apply(&cell)
	cell.Objectives = judge.Objectives(&cell, s.Objectives)
	step.Cell = cell
	step.Verdict, step.Text = search.Judge(&cell)
	last.Finished = true
	c.runner.progress(what+" "+string(step.Verdict), last)
	return step, err
}

func errorText(ctx context.Context, err error) string {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	return err.Error()
}

// maxLagOf is how late an operation of a step may start before it is dropped.
func maxLagOf(objectives []reports.Objective) time.Duration {
	lag := stepMaxLag
	for _, o := range objectives {
		if o.Bound > 1000 && o.Sign[0] == '<' { // a time: a share is at most 1
			lag = max(lag, time.Duration(math.Min(2*o.Bound, float64(DefaultMaxLag))))
		}
	}
	return lag
}

// fresh is a phase with a number that no other phase of the combination has.
func (c *combination) fresh(p workloads.Phase) workloads.Phase {
	c.more++
	p.Number, p.Trial = len(c.workload().Phases)+c.more, c.trial-1
	return p
}

// restore brings the store back to where it was before the first step: at rest, cold if
// the phase is to find it so, and with as many messages.
func (c *combination) restore(
	ctx context.Context, p *workloads.Phase, what string, messages int, step *reports.SearchStep,
) (err error) {
	live := c.target.Live.Messages()
	if float64(live) < refillBelow*float64(messages) && c.target.Offers[workloads.Deliver] {
		q := c.fresh(*p)
		q = workloads.Phase{
			Kind: workloads.Warmup, Name: p.Name, Number: q.Number, Trial: q.Trial,
			Arrivals: workloads.Closed, Clients: DefaultWorkers, Mix: workloads.Mix{workloads.Deliver: 1},
		}
		q.Operations = uint64(math.Ceil(float64(messages-live) / max(1, c.workload().Mail.Recipients.Mean())))
		spec := c.spec(&q, c.workload().Stream(&q, c.at.census), 0)
		spec.Progress = func(d drive.Progress) {
			d.Finished = false
			c.runner.progress(what+": deliver messages", d)
		}
		if _, err := drive.Drive(ctx, c.target, spec); err != nil {
			return err
		}
		step.Refilled = int64(c.target.Live.Messages() - live)
	}
	c.runner.progress(what+": settle", drive.Progress{Fraction: -1})
	if c.settled, err = c.target.Settle(ctx); err != nil || !c.cold {
		return err
	}
	_, err = c.target.Cool(ctx)
	return err
}
