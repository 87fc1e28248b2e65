package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/keyspace"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// Config is the input of a run. Workload, Models and Engines are needed;
// the zero value of everything else is a good default. The workload says where
// engines are and how their drivers are set.
type Config struct {
	Workload *workloads.Workload
	Models   []models.Model
	Engines  []drivers.Engine
	Keyspace *keyspace.Keyspace // whose model is the only one; nil: models are of mail

	Trials int // how often each model is measured on each engine; 0 is 1

	// DataDir keeps stores and ledgers, in one folder for each model and engine. The
	// folder of an engine that is reached over the network says where on that engine
	// the data is. A data set that is there and fits is used again. Empty: a
	// temporary folder; it is removed at the end, and so is what was made on shared
	// engines.
	DataDir string
	// EngineOptions says how durable stores are and how large their caches. The run sets the
	// other fields.
	EngineOptions drivers.Options

	// Mail is where messages come from; nil: generated as the workload says.
	// Whoever opened it closes it.
	Mail messages.Source

	// Segment is the part of the run that this process executes; zero: all of it. Start
	// is when the segments begin, the same for all. Start and workload identify the run.
	Segment plan.Segment
	Start   time.Time
	// SegmentTimeout is how long this segment waits for another one; 0: meet.UsualTimeout.
	SegmentTimeout time.Duration

	// FindMax, if set, makes each measured phase a search for its highest rate. Max and Precision are needed.
	FindMax *results.FindMax

	// Workers is how many operations an open loop may have under way; 0: what the phase says,
	// or else DefaultWorkers for an engine in this process and RemoteWorkers for one over a
	// network. A load has Workers loaders, but no more than DefaultWorkers.
	Workers int
	MaxWait time.Duration // an operation later than this is dropped, and counted; 0 is DefaultMaxWait
	Audit   AuditMode

	// These are only written into the result.
	Command   []string // the command line
	Overrides []string // what the command line changed in the workload
	MailLimit int64    // the most bytes that a mail file was allowed to have

	// The rest is used while the run goes on. Each may be nil.

	// LatencyLog gets the HDR interval log of the measured phases.
	LatencyLog io.Writer
	// Save is called at the end of each phase that loads or measures, and of each combination, with the
	// result so far, marked as interrupted. LatencyLog then has no half-written line.
	Save func(*results.Run)
	// Observe gets what was recorded of each operation: see drive.Spec.
	Observe func(cell results.Key, op func(int) string, ops []latency.Op)
	// Progress is called from one goroutine at a time, several times a
	// second at most, and at each change of phase.
	Progress func(Progress)
	// Processes returns the ids of the processes of a remote engine on this machine; none if they are not known.
	// Contact is their addresses; empty: the engine's default. The result has the bytes that they read from disk.
	Processes func(engine string, contact []string) []int
}

// Defaults of Config.
const (
	// DefaultWorkers is enough for 20,000/s at a service time of 1.6 ms. With an engine in
	// this process more workers get less done once the processors are full.
	DefaultWorkers = 32
	// RemoteWorkers is enough for 20,000/s at a service time of 25 ms.
	RemoteWorkers = 512
	// DefaultMaxWait is how late an operation may start. It is far beyond what a
	// healthy run shows: up to it, waiting is in the figures, not dropped.
	DefaultMaxWait = 10 * time.Second
)

// AuditMode says when stores are compared with the ledger of acknowledged
// operations.
type AuditMode uint8

// Audit modes.
const (
	NoAudit    AuditMode = iota
	AuditAfter           // after all phases, at each point of a sweep
	AuditOnly            // an audit and no phases, of a DataDir that an earlier run left, even a killed one
)

// String returns the mode's name in results.
func (m AuditMode) String() string { return [...]string{"no", "after", "only"}[m] }

// startedMost is how long ago the start of a segment may be. A start that is used a second
// time by mistake would lead to the namespaces of the earlier run.
const startedMost = 6 * time.Hour

// Check refuses what a run cannot have together: sweeps, searches for the highest rate, segments and verifications.
func (c *Config) Check() error {
	sweeps, segments := c.Workload.Sweep != nil && c.Audit != AuditOnly, c.Segment.Divides()
	switch {
	case c.Audit == AuditOnly && c.DataDir == "":
		return errors.New("--verify=only verifies the data of an earlier run: name its folder with --data DIR")
	case c.Audit == AuditOnly && !marked(c.DataDir):
		return fmt.Errorf("--verify=only verifies the data of an earlier run, and %s has none: name the folder that --data had "+
			"in that run", c.DataDir)
	case c.Audit == AuditOnly && c.FindMax != nil:
		return errors.New("--find-max measures and --verify=only does not: leave one of them out")
	case sweeps && c.FindMax != nil:
		return errors.New("a search for the highest rate sets the rates itself and cannot be swept; leave one of them out " +
			"(--set sweep={} leaves a sweep out)")
	case sweeps && segments:
		return errors.New("a sweep cannot be divided among segments; leave one of them out (--set sweep={} leaves a sweep out)")
	case segments && c.FindMax != nil:
		return errors.New("--find-max searches with one load generator: leave it out, or leave --segment out")
	case c.FindMax != nil && !slices.ContainsFunc(c.Workload.Phases, func(p workloads.Phase) bool { return searched(&p) }):
		return errors.New("--find-max changes the rate of measured phases, and none has one; set it, as in " +
			"--set phases.measure.rate=200/s")
	case segments && c.Start.IsZero():
		return errors.New("segments need a start, the same for all of them")
	case segments && time.Since(c.Start) > startedMost:
		return fmt.Errorf("the start %s is more than %v ago; name the time at which these segments begin",
			c.Start.Format(time.RFC3339), startedMost)
	}
	return c.Segment.Check(c.Workload)
}

func (c *Config) trials() int { return max(1, c.Trials) }

// UsualTrials is how many trials a run has if no flag says. A number that counts on reuse of the store is
// not for sweeps and segments, which load in each trial.
func (c *Config) UsualTrials() int {
	trials, sweeps := c.Workload.Trials, c.Workload.Sweep != nil
	switch {
	case c.FindMax != nil || c.Audit == AuditOnly:
		return 1
	case trials.Count > 0 && !(trials.Reuse && (sweeps || c.Segment.Divides())):
		return trials.Count
	case sweeps && c.DataDir == "":
		return 2 // up and down
	}
	return 1
}

// reuses reports whether later trials use the store of the first.
func (c *Config) reuses() bool {
	return c.Workload.Trials.Reuse && c.trials() > 1 && c.Workload.Sweep == nil && c.FindMax == nil &&
		!c.Segment.Divides() && c.Audit != AuditOnly
}

// names are those of the models and the engines.
func (c *Config) names() (ofModels, ofEngines []string) {
	return results.Distinct(c.Models, func(m models.Model) string { return m.Name }),
		results.Distinct(c.Engines, func(e drivers.Engine) string { return e.Name })
}

// contact is the addresses of a remote engine's nodes, or nil for its default.
func (c *Config) contact(engine string) []string {
	if e := c.Workload.Engines[engine]; e != nil {
		return e.Contact
	}
	return nil
}

// loaders is how many workers load and check a store.
func (c *Config) loaders() int { return min(cmp.Or(c.Workers, DefaultWorkers), DefaultWorkers) }

func (c *Config) maxWait() time.Duration { return cmp.Or(c.MaxWait, DefaultMaxWait) }

// Progress is how far a run is.
type Progress struct {
	Model, Engine, Phase string
	Point                string // the sweep's value
	Trial, Trials        int    // the trial, from 1, and how many there are
	// Note, if set, is a message that should stay visible. The other fields say which
	// combination it is about.
	Note string
	// Combination is the number of this combination of model, engine, trial and point, from 1.
	// Combinations is how many there are.
	Combination, Combinations int
	Left                      time.Duration // how long the rest of the run takes; 0: not known yet
	Done                      float64       // the share of the whole run that is done; 0: not known yet
	drive.Progress
}

// Line is a progress line of at most width columns. It says what is under way, in at least so many columns of names,
// how long the rest of the run takes, and counts the operations of the phase.
func (p Progress) Line(names, width int) string {
	all := []rune(strings.TrimRight(fmt.Sprintf("%-*s%11s%s", names, p.Where(), p.left(""), p.amount()), " "))
	return string(all[:min(len(all), max(width, 0))])
}

// Ended says of a phase that has ended what it did, and how long the rest of the run takes.
func (p Progress) Ended() string { return p.Where() + " done" + p.amount() + p.left(", ") }

// left is how long the rest of the run takes, after a prefix; "" if that is not known.
func (p Progress) left(prefix string) string {
	if p.Left <= 0 {
		return ""
	}
	return prefix + words.About(p.Left) + " left"
}

// Where says what is under way.
func (p Progress) Where() string {
	if p.Model == "" { // no cell has begun yet
		return p.Phase
	}
	at := ""
	if p.Point != "" {
		at = " at " + p.Point
	}
	head := fmt.Sprintf("[%d/%d]", p.Combination, p.Combinations)
	if p.Trials > 1 {
		head = fmt.Sprintf("trial %d/%d", p.Trial, p.Trials)
	}
	return fmt.Sprintf("%s %s on %s%s: %s", head, p.Model, p.Engine, at, p.Phase)
}

// amount says how long operations took so far, how many succeeded, how many did not, and the rate. A narrow terminal
// cuts the end off: users look for the times.
func (p Progress) amount() string {
	if p.OK+p.Failed+p.Dropped == 0 {
		return ""
	}
	text := " "
	if p.P50 > 0 {
		text += "p50 " + words.Duration(float64(p.P50)) + " "
	}
	if p.P99 > 0 {
		text += "p99 " + words.Duration(float64(p.P99)) + " "
	}
	text += fmt.Sprintf("%d ok, ", p.OK)
	if p.Failed > 0 {
		text += fmt.Sprintf("%d not, ", p.Failed)
	}
	if p.Dropped > 0 {
		text += fmt.Sprintf("%d dropped, ", p.Dropped)
	}
	return text + fmt.Sprintf("%.0f/s", p.Rate)
}

// timeLeft says how much of a run is done, as its plan and the progress of the phase under way say, and how long the
// rest takes if it goes on as it did so far.
type timeLeft struct {
	each []*Estimate // what each combination does
	done float64     // seconds of the plan that are over
}

// note adds to p how much of the run is done and how long the rest takes.
func (l *timeLeft) note(p *Progress, elapsed time.Duration) {
	if p.Combination < 1 || p.Combination > len(l.each) { // segments meet before the first; an audit has no plan
		return
	}
	done := planned(l.each[:p.Combination-1])
	for _, x := range l.each[p.Combination-1].Phases {
		if p.Phase == x.Name || strings.HasPrefix(p.Phase, x.Name+stepOf) {
			l.done = max(l.done, done+x.Seconds*p.Fraction)
		}
		done += x.Seconds
	}
	if p.Done = l.done / planned(l.each); p.Done > 0 {
		p.Left = duration(elapsed.Seconds() * (1/p.Done - 1))
	}
}

// planned is how many seconds combinations take, with one to open and close the store of each.
func planned(each []*Estimate) (sum float64) {
	for _, e := range each {
		sum += 1 + e.seconds
	}
	return sum
}
