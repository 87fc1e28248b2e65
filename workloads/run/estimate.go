package run

import (
	"context"
	"fmt"
	"io"
	"math"
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
)

// Estimate is what a workload will do at one point, with one model on one engine.
type Estimate struct {
	Value    string      `json:"point,omitempty"` // the sweep's value at this point
	Users    int         `json:"users"`
	Folders  int         `json:"folders"`
	Messages int         `json:"messages"`
	Bytes    float64     `json:"mail_bytes"` // bytes of raw mail in the load
	Phases   []PlanPhase `json:"phases"`

	rows      bool    // its messages are rows of a schema that is not for mail
	loaded    float64 // bytes of raw mail that the load adds to the data set
	delivered float64 // bytes of raw mail that the phases put into mailboxes
}

// PlanPhase is what a phase will do.
type PlanPhase struct {
	Name       string  `json:"phase"`
	Kind       string  `json:"kind"`
	Operations float64 `json:"operations"` // expected number; 0: unknown
	Seconds    float64 `json:"seconds"`    // expected time; of a warm-up the most
}

// A load delivers and a closed loop does about this much a second on an embedded engine, on a machine with two cores.
// These values only have to distinguish minutes from hours.
const (
	loadMessages  = 5000  // messages a second
	loadBytes     = 100e6 // bytes a second
	closedEach    = 2000  // operations that a client of a closed loop executes a second
	searchSeconds = 60    // of a search for the highest rate
)

// estimate estimates what a run does at a point with a data set that has so many messages already. Traces must have
// been opened.
func (c *Config) estimate(at *point, has int) *Estimate {
	w, census := at.workload, at.census
	e := &Estimate{
		Value: at.value, Users: census.Users(), Folders: census.Folders(), Messages: census.Messages(),
		rows: len(w.Patterns) > 0,
	}
	size := meanSize(w, at.source)
	e.Bytes = math.Round(float64(e.Messages) * size)
	for i := range w.Phases {
		p := &w.Phases[i]
		one := PlanPhase{Name: p.Name, Kind: p.Kind.String(), Seconds: p.Duration.Seconds()}
		switch {
		case p.Kind == workloads.Load: // it delivers what the data set lacks
			one.Operations = float64(max(0, e.Messages-has))
			e.loaded = one.Operations * size
			one.Seconds = one.Operations * max(1.0/loadMessages, size/loadBytes)
		case p.Kind == workloads.Measure && c.FindMax != nil:
			if !searched(p) {
				continue
			}
			one.Seconds = searchSeconds
			e.delivered += searchSeconds * min(closedEach, c.findMax().Max) * stored(w, p, size)
		case p.Runs():
			one.mixed(p)
			e.delivered += one.Operations * stored(w, p, size)
		}
		e.Phases = append(e.Phases, one)
	}
	return e
}

// mixed estimates the operations of a phase that is executed once, as the workload says.
func (p *PlanPhase) mixed(as *workloads.Phase) {
	p.Operations = float64(as.Operations)
	rate := as.Rate.PerSecond()
	switch {
	case as.Arrivals == workloads.Closed:
		if p.Operations > 0 && p.Seconds == 0 {
			p.Seconds = p.Operations / closedEach / float64(max(1, as.Clients))
		}
	case rate > 0:
		if n := math.Ceil(rate*p.Seconds - 1e-6); n > 0 && (n < p.Operations || p.Operations == 0) {
			p.Operations = n // the first is scheduled when the phase begins
		}
		p.Seconds = p.Operations / rate
	}
}

// stored is how many bytes of raw mail an operation of a phase puts into mailboxes on average, if size is the mean of
// all mail.
func stored(w *workloads.Workload, p *workloads.Phase, size float64) float64 {
	streams := p.Streams
	if len(streams) == 0 {
		streams = []workloads.Phase{*p}
	}
	var deliveries, bytes float64
	for i := range streams {
		n, how := streams[i].PerSecond()[workloads.Deliver], &streams[i].How[workloads.Deliver]
		one, to := size, w.Mail.Recipients
		if how.Size != nil {
			one = how.Size.Mean()
		}
		if how.Recipients != nil {
			to = how.Recipients
		}
		if !w.Population.Shared { // else it is one message, whoever receives it
			one *= to.Mean()
		}
		deliveries, bytes = deliveries+n, bytes+n*one
	}
	return p.Mix.Share(workloads.Deliver) * bytes / max(deliveries, 1e-9)
}

// added is the fraction of the final data set that the run adds.
func (e *Estimate) added() float64 { return (e.loaded + e.delivered) / max(1, e.Bytes+e.delivered) }

// grown is the factor by which the final data set is larger than a load whose messages have that mean size.
func (e *Estimate) grown(size float64) float64 {
	return (e.Bytes + e.delivered) / (size * max(1, float64(e.Messages)))
}

// seconds is how long all phases take.
func (e *Estimate) seconds() (sum float64) {
	for _, p := range e.Phases {
		sum += p.Seconds
	}
	return sum
}

// writeText prints the estimate for people.
func (e *Estimate) writeText(out io.Writer) {
	if e.rows {
		fmt.Fprintf(out, "%s in the largest table\n\n", words.Plural(e.Messages, "row"))
	} else {
		fmt.Fprintf(out, "%s, %s, %s (about %s of mail)\n\n", words.Plural(e.Users, "user"),
			words.Plural(e.Folders, "folder"), words.Plural(e.Messages, "message"), words.Size(e.Bytes))
	}
	fmt.Fprintf(out, "  %-18s %10s  %s\n", "phase", "operations", "time")
	for _, p := range e.Phases {
		operations, took := "-", "-"
		if p.Operations > 0 {
			operations = fmt.Sprintf("%.0f", p.Operations)
		}
		if p.Seconds > 0 {
			took = duration(p.Seconds).Round(time.Second / 10).String()
		}
		fmt.Fprintf(out, "  %-18s %10s  %s\n", p.Name, operations, took)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(min(seconds, 1e9) * 1e9) }

// meanSize is the mean size of a raw message.
func meanSize(w *workloads.Workload, mail messages.Source) float64 {
	if info := mail.Info(); info.Messages > 0 {
		return float64(info.Bytes) / float64(info.Messages)
	}
	mean := func(d random.Dist) float64 { return min(d.Mean(), float64(workloads.MaxMessage)) }
	const header, base64, quoted = 1200, 78.0 / 57, 1.3
	m := &w.Mail
	return header + mean(m.Body)*(1+m.HTML*quoted) +
		m.Attachments.Share*mean(m.Attachments.Count)*(mean(m.Attachments.Size)*base64+300)
}

// sampled is how many messages a forecast looks at.
const sampled = 300

// forecastSize is the mean size of the raw messages that a forecast assumes. A few large files among a few sampled
// messages make it differ from that of all.
func (at *point) forecastSize() (sum float64) {
	if at.population == nil {
		return meanSize(at.workload, at.source)
	}
	for _, m := range at.population.Sample {
		sum += m.Quantities["raw"]
	}
	return sum / float64(len(at.population.Sample))
}

// forecast forecasts a model's files on an engine; nil if they are not known.
func (at *point) forecast(ctx context.Context, m models.Model, engine drivers.Engine) (*forecast.Report, error) {
	if engine.Forecast == nil {
		return nil, nil
	}
	s, err := at.model(m).Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", m.Name, err)
	}
	files, err := engine.Forecast(s)
	if err != nil {
		return nil, nil // the engine does not run the schema, and the run will say so
	}
	var p *forecast.Population
	if !forecast.Own(s) {
		if at.population == nil { // it is the same for all models
			if at.population, err = population.Of(ctx, at.workload, at.source, sampled); err != nil {
				return nil, err
			}
		}
		p = at.population
	}
	f, err := forecast.Make(s, p, files)
	if err != nil {
		return nil, nil // a model outside of this repository may not say what its rows are
	}
	return f.Report(p, 1, []float64{0}), nil
}

// partition is the largest partition that a model has on an engine after the load. Its Bytes
// are 0 if the format of the engine's files is not known.
func (at *point) partition(ctx context.Context, m models.Model, engine drivers.Engine) (results.Partition, error) {
	part := results.Partition{Model: m.Name, Engine: engine.Name}
	report, err := at.forecast(ctx, m, engine)
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
