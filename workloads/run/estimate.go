package run

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/population"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/search"
)

// Estimate is what a workload will do at one point, with one model on one engine. Its JSON is a part of that of
// a dry run.
type Estimate struct {
	Value    string      `json:"point,omitempty"` // the sweep's value at this point
	Users    int         `json:"users"`
	Folders  int         `json:"folders"`
	Messages int         `json:"messages"`
	Bytes    float64     `json:"mail_bytes"` // bytes of raw mail in the load
	Phases   []PlanPhase `json:"phases"`
	// Delivered is how many messages the phases put into mailboxes; of those with a size of their own,
	// how many of the mean size would be as large.
	Delivered float64 `json:"-"`
	Searched  float64 `json:"-"` // the same of searches for the highest rate, whose rates are a guess
	has       int     // number of messages that the data set has before the load
	at        *point
}

// PlanPhase is what a phase will do.
type PlanPhase struct {
	Name       string        `json:"phase"`
	Kind       string        `json:"kind"`
	Operations float64       `json:"operations"`        // expected number; 0: unknown, in a closed loop that ends after a time
	AtMost     bool          `json:"at_most,omitempty"` // Operations is an upper bound, since clients think between them
	Rates      int           `json:"rates,omitempty"`   // expected number of measurements of a search for the highest rate
	Seconds    float64       `json:"seconds"`           // Time, once Round has set it
	Ops        []PlanOp      `json:"ops,omitempty"`     // operations of the mix, the most frequent first
	Time       time.Duration `json:"-"`                 // a load: expected; a warm-up: at most
	Closed     bool          `json:"-"`
}

// PlanOp is how many operations of a kind there will be.
type PlanOp struct {
	Name  string  `json:"op"`
	Count float64 `json:"count"`
}

// A load delivers and a closed loop does about this much a second on an embedded engine, on a machine with two cores.
// These values only have to distinguish minutes from hours.
const (
	loadMessages = 5000  // messages a second
	loadBytes    = 100e6 // bytes a second
	closedEach   = 2000  // operations that a client of a closed loop executes a second
)

// estimate estimates what a run does at a point, on an engine in this process or a remote one, with a data set that
// has so many messages already. Traces must have been opened.
func (c *Config) estimate(at *point, remote bool, has int) *Estimate {
	w, census := at.workload, at.census
	e := &Estimate{
		Value: at.value, Users: census.Users(), Folders: census.Folders(), Messages: census.Messages(), has: has, at: at,
	}
	e.Bytes = float64(e.Messages) * meanSize(w, at.source)
	for i := range w.Phases {
		p := &w.Phases[i]
		one := PlanPhase{Name: p.Name, Kind: p.Kind.String(), Time: p.Duration, Closed: p.Arrivals == workloads.Closed}
		switch {
		case p.Kind == workloads.Load: // it delivers what the data set lacks
			one.Operations = float64(max(0, e.Messages-e.has))
			one.Time = seconds(max(one.Operations/loadMessages, e.Bytes*e.missing()/loadBytes))
		case p.Kind == workloads.Measure && c.FindMax != nil && !searched(w, p):
			continue
		case p.Runs():
			if p.Kind == workloads.Measure && c.FindMax != nil {
				one.search(c.expected(p, remote))
			} else {
				one.own(p)
			}
			to := w.Mail.Recipients
			if own := p.How[workloads.Deliver].Recipients; own != nil {
				to = own
			}
			each := to.Mean()
			if w.Population.Shared { // a delivery is one message, whoever receives it
				each = 1
			}
			if own := p.How[workloads.Deliver].Size; own != nil {
				each *= min(own.Mean(), float64(workloads.MaxMessage)) / meanSize(w, nil)
			}
			e.mixed(&one, p, each)
		}
		e.Phases = append(e.Phases, one)
	}
	return e
}

// missing is the fraction of the load's messages that the data set does not have.
func (e *Estimate) missing() float64 {
	return float64(max(0, e.Messages-e.has)) / float64(max(1, e.Messages))
}

// added is the share of the final data set that the phases add.
func (e *Estimate) added() float64 {
	n := float64(e.Messages)
	return (n*e.missing() + e.Delivered) / max(1, n+e.Delivered)
}

// search estimates a search from the rates that it is expected to measure.
func (p *PlanPhase) search(s *maxSearch) {
	p.Time = 0
	for _, rate := range search.Ahead(s.Search) {
		if p.Time > inProcessTime && s.on.target.Caps.InProcess {
			break
		}
		p.Rates++
		p.Time += s.length(rate)
		p.Operations += rate * s.length(rate).Seconds()
	}
}

// own estimates a phase that is executed once, as the workload says.
func (p *PlanPhase) own(as *workloads.Phase) {
	p.Operations = float64(as.Operations)
	if rate := as.Rate; rate.Count > 0 && !p.Closed {
		if n := rate.PerSecond() * as.Duration.Seconds(); as.Duration > 0 && (n < p.Operations || as.Operations == 0) {
			p.Operations = math.Ceil(n - 1e-6) // the first is scheduled when the phase begins
		}
		p.Time = seconds(p.Operations / rate.PerSecond())
	}
	if p.Closed && p.Operations == 0 {
		p.Operations = mostThought(as)
		p.AtMost = p.Operations > 0
	}
	if p.Closed && as.Operations > 0 && as.Think == nil && as.Duration == 0 {
		p.Time = seconds(p.Operations / closedEach / float64(max(1, as.Clients)))
	}
}

// mixed divides the operations of a phase by its mix. A delivery delivers that many messages.
func (e *Estimate) mixed(one *PlanPhase, p *workloads.Phase, delivered float64) {
	for i := range p.Mix {
		if op := workloads.Op(i); p.Mix.Has(op) {
			one.Ops = append(one.Ops, PlanOp{p.Patterns.Name(op), one.Operations * p.Mix.Share(op)})
		}
	}
	slices.SortStableFunc(one.Ops, func(a, b PlanOp) int { return cmp.Compare(b.Count, a.Count) })
	if p.Mix.Has(workloads.Deliver) && !one.AtMost { // an upper bound must not refuse a run, and a guess is only noted
		to := &e.Delivered
		if one.Rates > 0 {
			to = &e.Searched
		}
		*to += one.Operations * p.Mix.Share(workloads.Deliver) * delivered
	}
}

// round makes all counts whole numbers, for people.
func (e *Estimate) round() {
	e.Bytes = math.Round(e.Bytes)
	for i := range e.Phases {
		p := &e.Phases[i]
		p.Operations, p.Seconds = math.Round(p.Operations), p.Time.Seconds()
		for j := range p.Ops {
			p.Ops[j].Count = math.Round(p.Ops[j].Count)
		}
	}
}

// mostThought bounds the number of operations of a closed loop by the time that its clients
// think before each. It is 0 if some clients do not think.
func mostThought(p *workloads.Phase) (all float64) {
	streams := p.Streams
	if len(streams) == 0 {
		streams = []workloads.Phase{*p}
	}
	for i := range streams {
		s := &streams[i]
		if s.Think == nil || s.Think.Mean() <= 0 {
			return 0
		}
		all += float64(s.Clients) * float64(p.Duration) / s.Think.Mean()
	}
	return all
}

// time is how long all phases take.
func (e *Estimate) time() (d time.Duration) {
	for _, p := range e.Phases {
		d += p.Time
	}
	return d
}

// meanSize is the mean size of a raw message.
func meanSize(w *workloads.Workload, mail messages.Source) float64 {
	if mail != nil {
		if info := mail.Info(); info.Messages > 0 {
			return float64(info.Bytes) / float64(info.Messages)
		}
	}
	mean := func(d random.Dist) float64 { return min(d.Mean(), float64(workloads.MaxMessage)) }
	const header, base64, quoted = 1200, 78.0 / 57, 1.3
	m := &w.Mail
	return header + mean(m.Body)*(1+m.HTML*quoted) +
		m.Attachments.Share*mean(m.Attachments.Count)*(mean(m.Attachments.Size)*base64+300)
}

// sampled is how many messages disk looks at.
const sampled = 300

// certain is the least share of a forecast that a model's files take. docs/internals/forecast.md says
// how accurate forecasts are.
const certain = 0.7

// disk is how much disk a model needs on an engine, in bytes, with room for compaction. On the nodes of a cluster it is
// what the model takes at least: one copy of its files, compressed as the mail itself can be, without that room. ok is
// false if the format of the engine's files is not known.
func (e *Estimate) disk(
	ctx context.Context, m models.Model, engine drivers.Engine,
) (bytes float64, ok bool, err error) {
	report, files, err := e.at.files(ctx, m, engine)
	switch {
	case report == nil:
		return 0, false, err
	case !engine.Remote:
		return report.Space.Disk[0] * e.grown(), true, nil
	}
	left := 1.0
	if by := files.Compression; by != nil {
		compressed, err := population.Compress(ctx, e.at.workload, e.at.source, by)
		if err != nil {
			return 0, false, err
		}
		left = compressed.Raw
	}
	return certain * left * report.Space.Files[0] * e.grown(), true, nil
}

// grown is the factor by which the phases increase the messages of the load.
func (e *Estimate) grown() float64 {
	return (float64(e.Messages) + e.Delivered) / max(1, float64(e.Messages))
}

// files forecasts a model's files on an engine; nil if they are not known.
func (at *point) files(
	ctx context.Context, m models.Model, engine drivers.Engine,
) (*forecast.Report, *forecast.Engine, error) {
	if engine.Forecast == nil {
		return nil, nil, nil
	}
	s, err := at.model(m).Schema()
	if err != nil {
		return nil, nil, fmt.Errorf("schema of %s: %w", m.Name, err)
	}
	files, err := engine.Forecast(s)
	if err != nil {
		return nil, nil, nil // the engine does not run the schema, and the run will say so
	}
	var p *forecast.Population
	if !forecast.Own(s) {
		if at.population == nil { // it is the same for all models
			if at.population, err = population.Of(ctx, at.workload, at.source, sampled); err != nil {
				return nil, nil, err
			}
		}
		p = at.population
	}
	f, err := forecast.Make(s, p, files)
	if err != nil {
		return nil, nil, nil // a model outside of this repository may not say what its rows are
	}
	return f.Report(p, 1, []float64{0}), files, nil
}

// partition is the largest partition that a model has on an engine after the load. Its Bytes
// are 0 if the format of the engine's files is not known.
func (at *point) partition(ctx context.Context, m models.Model, engine drivers.Engine) (results.Partition, error) {
	part := results.Partition{Model: m.Name, Engine: engine.Name}
	report, _, err := at.files(ctx, m, engine)
	if err != nil || report == nil {
		return part, err
	}
	part.Files = report.Space.Files[0]
	for _, g := range report.Partitions {
		if len(g.Largest) > 0 && g.Largest[0].Bytes > part.Bytes {
			part.Table, part.Bytes = g.Table, g.Largest[0].Bytes
		}
	}
	return part, nil
}

// text is the estimate for people.
func (e *Estimate) text() string {
	var b strings.Builder
	if len(e.at.workload.Patterns) > 0 {
		fmt.Fprintf(&b, "%s in the largest table\n\n", words.Plural(e.Messages, "row"))
	} else {
		fmt.Fprintf(&b, "%s, %s, %s (about %s of mail)\n\n", words.Plural(e.Users, "user"),
			words.Plural(e.Folders, "folder"), words.Plural(e.Messages, "message"), words.Size(e.Bytes))
	}
	for _, p := range e.Phases {
		fmt.Fprintf(&b, "  %-14s", p.Name)
		switch {
		case p.Operations == 0 && p.Closed && p.Time > 0:
			fmt.Fprintf(&b, " as many operations as the engine can in %v\n", p.Time)
			continue
		case p.AtMost:
			fmt.Fprintf(&b, " %10.0f operations at most", p.Operations)
		case p.Operations > 0:
			fmt.Fprintf(&b, " %10.0f operations", p.Operations)
		}
		if p.Time > 0 {
			about := ""
			if p.Rates > 0 {
				about = fmt.Sprintf("at %d rates, perhaps ", p.Rates)
			} else if p.Kind == workloads.Load.String() || p.Closed && p.Operations > 0 && !p.AtMost {
				about = "perhaps "
			} else if p.Kind == workloads.Warmup.String() {
				about = "at most "
			}
			fmt.Fprintf(&b, ", %s%v", about, p.Time.Round(time.Second/10))
		}
		b.WriteString("\n")
		for _, o := range p.Ops {
			fmt.Fprintf(&b, "    %-14s %8.0f\n", o.Name, o.Count)
		}
	}
	return b.String()
}

func seconds(s float64) time.Duration { return time.Duration(min(s, 1e9) * 1e9) }
