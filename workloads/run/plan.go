package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/population"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/subject"
)

// ErrDisk says that a run does not fit on the disk.
var ErrDisk = errors.New("the disk is too small")

// Plan is what a run would do.
type Plan struct {
	Format       string      `json:"format"` // within a version fields are only added
	Workload     string      `json:"workload"`
	Models       []string    `json:"models"`
	Engines      []string    `json:"engines"`
	Trials       int         `json:"trials"`
	Reuses       bool        `json:"reuses,omitempty"` // trials after the first load nothing
	Combinations int         `json:"combinations"`     // of models, engines, trials and points of a sweep
	Sweep        string      `json:"sweep,omitempty"`  // the value that a sweep changes
	Points       []*Estimate `json:"points"`           // what each combination does; one, if there is no sweep
	Seconds      float64     `json:"seconds"`          // all combinations, without the time that engines take to settle
	Disk         []PlanDisk  `json:"disk"`             // of engines in this process
	Folder       string      `json:"folder"`           // where these keep their data
	Need         float64     `json:"needed_bytes"`     // the most that Folder must hold at a time
	Free         float64     `json:"free_bytes"`       // what is free in Folder; 0: not known
	Fits         bool        `json:"fits"`             // Folder has room, or its free space is not known
	Why          string      `json:"why,omitempty"`    // the error, if Fits is false

	tasks []task
	each  []*Estimate // what each task does
}

// PlanDisk is how much disk a model takes on an engine, in bytes, uncompressed and with room for compaction.
type PlanDisk struct {
	Model  string  `json:"model"`
	Engine string  `json:"engine"`
	Point  string  `json:"point,omitempty"`
	Bytes  float64 `json:"bytes"`
}

// Estimate is what a workload will do at one point, with one model on one engine.
type Estimate struct {
	Value    string      `json:"point,omitempty"` // the sweep's value at this point
	Users    int         `json:"users"`
	Folders  int         `json:"folders"`
	Messages int         `json:"messages"`
	Bytes    float64     `json:"mail_bytes"` // bytes of raw mail in the load
	Phases   []PlanPhase `json:"phases"`

	rows      bool    // its messages are rows of a schema that is not for mail
	seconds   float64 // all phases
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

// DryRun says what a run would do, and touches no engine. If the disk is too small for the run,
// it returns both the plan and the error.
func DryRun(ctx context.Context, c Config) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	points, err := c.points(ctx)
	if err != nil {
		return nil, err
	}
	dir := cmp.Or(c.DataDir, os.TempDir())
	p, err := c.plan(ctx, points, dir, freeBytes(dir))
	if err != nil {
		return nil, err
	}
	if c.Audit != AuditOnly {
		err = p.check()
	}
	if p.Fits = err == nil; !p.Fits {
		p.Why = err.Error()
	}
	return p, err
}

// passing is how many bytes of logs, and of files that are replaced but not yet removed, an embedded store has on top
// of the room for compaction, or else a second copy of its data. In a run of quick, du has found 10 to 100 MB a store.
const passing = 30e6

// plan walks the tasks of the run and adds up how long they take, and how much disk they need in a folder next to the
// data that is there already.
func (c *Config) plan(ctx context.Context, points []point, dir string, free float64) (*Plan, error) {
	p := &Plan{
		Format: "mailbench.plan/2", Workload: c.Workload.Name, Trials: c.trials(), Reuses: c.reuses(), Disk: []PlanDisk{},
		Folder: dir, Free: free,
	}
	p.Models, p.Engines = c.names()
	if c.Workload.Sweep != nil && len(points) > 1 {
		p.Sweep = c.Workload.Sweep.Name()
	}
	for i := range points {
		p.Points = append(p.Points, c.estimate(&points[i], 0))
	}
	data := &dataDir{path: dir, temporary: c.DataDir == ""}
	p.tasks = c.tasks(points, data)
	p.Combinations = len(p.tasks)
	kept := c.DataDir != "" || p.Reuses // else each data set is removed before the next one
	has := map[string]int{}             // messages that loads have delivered to each data set, by its folder
	disk := map[[3]string]float64{}     // size of each data set
	for _, t := range p.tasks {
		if _, known := has[t.dir]; !known && !data.temporary {
			// The task that opens a damaged data set reports it.
			if d, err := subject.ReadDataset(t.dir); err == nil && d != nil {
				n := cmp.Or(int(d.Messages), t.at.census.Messages()) // files of earlier builds have no number
				if has[t.dir] = n; !d.Complete {                     // the load goes on with the messages that are missing
					has[t.dir] = min(n, int(d.Records))
				}
			}
		}
		e := c.estimate(t.at, has[t.dir])
		has[t.dir] = e.Messages
		p.each, p.Seconds = append(p.each, e), p.Seconds+e.seconds
		mail := e.Bytes + e.delivered // when the run has ended
		of := [...]string{t.model.Name, t.engine.Name, t.at.value}
		bytes, known := disk[of]
		if !known {
			report, err := t.at.forecast(ctx, t.model, t.engine)
			if err != nil {
				return nil, err
			}
			if report != nil && !t.engine.Remote {
				bytes = report.Space.Disk[0] * mail / (t.at.forecastSize() * max(1, float64(e.Messages)))
				bytes = math.Round(bytes + min(bytes, passing))
				p.Disk = append(p.Disk, PlanDisk{t.model.Name, t.engine.Name, t.at.value, bytes})
			}
			disk[of] = bytes
		}
		if kept {
			p.Need += bytes * (e.loaded + e.delivered) / max(1, mail)
		} else {
			p.Need = max(p.Need, bytes)
		}
	}
	return p, nil
}

// check refuses a run that does not fit on the disk.
func (p *Plan) check() error {
	if p.Free <= 0 || p.Need <= p.Free {
		return nil
	}
	return fmt.Errorf("%w: the run needs about %s in %s, which has %s free; make the population smaller, or name "+
		"another folder (--data, or TMPDIR)",
		ErrDisk, words.Size(p.Need), p.Folder, words.Size(p.Free))
}

// WriteText prints the plan for people.
func (p *Plan) WriteText(out io.Writer) {
	fmt.Fprintf(out, "Workload %s: %s, %s, %s. For each of %s:\n", p.Workload, words.Plural(len(p.Models), "model"),
		words.Plural(len(p.Engines), "engine"), words.Plural(p.Trials, "trial"), words.Plural(p.Combinations, "combination"))
	for _, e := range p.Points {
		fmt.Fprintln(out)
		if e.Value != "" {
			fmt.Fprintf(out, "With %s=%s: ", p.Sweep, e.Value)
		}
		if e.rows {
			fmt.Fprintf(out, "%s in the largest table\n\n", words.Plural(e.Messages, "row"))
		} else {
			fmt.Fprintf(out, "%s, %s, %s (about %s of mail)\n\n", words.Plural(e.Users, "user"),
				words.Plural(e.Folders, "folder"), words.Plural(e.Messages, "message"), words.Size(e.Bytes))
		}
		fmt.Fprintf(out, "  %-18s %10s  %s\n", "phase", "operations", "time")
		for _, phase := range e.Phases {
			operations, took := "-", "-"
			if phase.Operations > 0 {
				operations = fmt.Sprintf("%.0f", phase.Operations)
			}
			if phase.Seconds > 0 {
				took = duration(phase.Seconds).Round(time.Second / 10).String()
			}
			fmt.Fprintf(out, "  %-18s %10s  %s\n", phase.Name, operations, took)
		}
	}
	if p.Reuses {
		fmt.Fprintln(out, "\nTrials after the first use the store that is there: they run all phases but the load.")
	}
	fmt.Fprintf(out, "\nTime: about %v in all, plus the time that engines take to settle.\n",
		duration(p.Seconds).Round(time.Second))
	if len(p.Disk) == 0 { // no engine in this process
		return
	}
	fmt.Fprintln(out, "\nDisk, with room for compaction, uncompressed:")
	for _, d := range p.Disk {
		name := d.Model + " " + d.Engine
		if d.Point != "" {
			name += " at " + d.Point
		}
		fmt.Fprintf(out, "  %-24s %s\n", name, words.Size(d.Bytes))
	}
	fmt.Fprintf(out, "  needed in total: %s in %s", words.Size(p.Need), p.Folder)
	if p.Free > 0 {
		fmt.Fprintf(out, ", which has %s free", words.Size(p.Free))
	}
	fmt.Fprintln(out)
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
		case p.Kind == workloads.Measure && c.FindMax != nil && !searched(p):
			continue
		case p.Kind == workloads.Measure && c.FindMax != nil:
			one.Seconds = searchSeconds
			e.delivered += searchSeconds * min(closedEach, c.FindMax.Max) * stored(w, p, size)
		case p.Runs():
			one.Operations = float64(p.Operations)
			rate := p.Rate.PerSecond()
			if p.Arrivals != workloads.Closed && rate > 0 {
				n := math.Ceil(rate*one.Seconds - 1e-6) // the first is scheduled when the phase begins
				if n > 0 && (n < one.Operations || one.Operations == 0) {
					one.Operations = n
				}
				one.Seconds = one.Operations / rate
			} else if p.Arrivals == workloads.Closed && one.Seconds == 0 {
				one.Seconds = one.Operations / closedEach / float64(max(1, p.Clients))
			}
			e.delivered += one.Operations * stored(w, p, size)
		}
		e.Phases, e.seconds = append(e.Phases, one), e.seconds+one.Seconds
	}
	return e
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
		one, to := size, cmp.Or(how.Recipients, w.Mail.Recipients)
		if how.Size != nil {
			one = how.Size.Mean()
		}
		if !w.Population.Shared { // else it is one message, whoever receives it
			one *= to.Mean()
		}
		deliveries, bytes = deliveries+n, bytes+n*one
	}
	return p.Mix.Share(workloads.Deliver) * bytes / max(deliveries, 1e-9)
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
	if !forecast.Own(s) && at.population == nil { // it is the same for all models
		if at.population, err = population.Of(ctx, at.workload, at.source, 300); err != nil {
			return nil, err
		}
	}
	f, err := forecast.Make(s, at.population, files)
	if err != nil {
		return nil, nil // a model outside of this repository may not say what its rows are
	}
	return f.Report(at.population, 1, []float64{0}), nil
}
