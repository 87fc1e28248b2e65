// Package results is the vocabulary of measuring: a run with its cells (a phase of a model on an
// engine), the operations of a cell with their counts, costs and latencies, verdicts, doubts,
// objectives, searches, sweeps and audits. It also has their form on disk: run.json, its JSON
// Schema, and the run directory. Add puts results of segments, trials or times together.
// docs/results.md describes the format.
//
// The package judges nothing and writes no report: see workloads/judge and reports.
package results

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
)

// Format is the version of run.json. Within a version fields may be added, and a reader ignores those that it does
// not know. Before 1.0 unused fields may be removed; CHANGELOG.md names them. docs/results.md describes the format.
// OlderFormat is read, too: it also has counts of 0, and unused fields.
const (
	Format      = "mailbench.run/3"
	OlderFormat = "mailbench.run/2"
)

// DefaultWorkload is the workload of "mailbench run" without a name.
const DefaultWorkload = "quick"

// Run is one run: run.json. It holds all that is needed to judge the run again,
// to compare it, to merge it with other segments, and to repeat it.
type Run struct {
	Format      string            `json:"format"`
	Workload    Workload          `json:"workload"`
	Seed        uint64            `json:"seed"`
	Command     []string          `json:"command"` // the command line, program name included
	Started     string            `json:"started"` // RFC 3339, UTC
	Ended       string            `json:"ended,omitempty"`
	Seconds     float64           `json:"seconds"` // wall time of the whole run
	Interrupted bool              `json:"interrupted,omitempty"`
	Machine     Machine           `json:"machine"`
	Segment     Segment           `json:"segment"`
	Segments    []SegmentRun      `json:"segments,omitempty"` // the segments of a merged run
	Environment Environment       `json:"environment"`
	Config      Config            `json:"config"`
	Settings    map[string]string `json:"settings"` // settings of the engines' clients
	Schemas     []Schema          `json:"schemas"`
	Phases      []Phase           `json:"phases"`
	Objectives  []Objective       `json:"objectives,omitempty"`
	Answer      []string          `json:"answer,omitempty"` // sentences of the workload; package answer fills them in
	Findings    []Finding         `json:"findings,omitempty"`
	Mail        *MailInfo         `json:"mail,omitempty"`
	Searches    []Search          `json:"searches,omitempty"`
	Sweep       *Sweep            `json:"sweep,omitempty"`
	Audits      []Audit           `json:"audits,omitempty"`
	Left        []string          `json:"left,omitempty"` // what could not be removed, and how to remove it
	LatencyLog  *LogDigest        `json:"latency_log,omitempty"`
	Cells       []Cell            `json:"cells"`
}

// Finding is a lint finding of the schema of a run, and whether the run shows it.
type Finding struct {
	Rule      string `json:"rule"`
	Where     string `json:"where"` // the pattern or table
	Engine    string `json:"engine"`
	Predicted string `json:"predicted"` // what lint says
	Verdict   string `json:"verdict"`   // confirmed, not seen, not shown or not measured
	Measured  string `json:"measured"`  // the numbers, or why there are none
}

// LogDigest says what latency.hlog is. While the run goes on, the file may have more than that.
type LogDigest struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Workload is the workload as it was run.
type Workload struct {
	Name      string   `json:"name"`
	Text      string   `json:"text"`   // the whole file as YAML, overrides applied
	SHA256    string   `json:"sha256"` // digest of Text
	Overrides []string `json:"overrides,omitempty"`
}

// Schema is the schema that a model ran with.
type Schema struct {
	Model  string `json:"model"`
	Text   string `json:"text"` // YAML
	SHA256 string `json:"sha256"`
	// Parameters are the values of its parameters, without one that is swept.
	Parameters map[string]int `json:"parameters,omitempty"`
	// Words are those of parameters whose values are words.
	Words map[string]string `json:"words,omitempty"`
}

// Machine identifies the machine of the load generator. ID is made from the
// operating system's machine identity, and says nothing else about the machine. It is
// empty if the system has no such identity.
type Machine struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"` // host name
}

// Segment is the part of a run that one load generator executed. A run of one
// generator is segment 1 of 1. Start is the time at which all segments begin.
type Segment struct {
	Index int    `json:"index"` // from 1
	Of    int    `json:"of"`
	Start string `json:"start,omitempty"`
}

// Config is what the command line said about the run.
type Config struct {
	Models     []string `json:"models"`
	Engines    []string `json:"engines"`
	Trials     int      `json:"trials"`
	Durability string   `json:"durability"` // the requested class, or default
	CacheBytes int64    `json:"cache_bytes,omitempty"`
	Workers    int      `json:"workers"`
	MaxWait    float64  `json:"max_lag_seconds"`
	Audit      string   `json:"audit"`
	MailFile   string   `json:"mail_file,omitempty"`
	MailLimit  int64    `json:"mail_limit_bytes,omitempty"` // the most bytes that the mail file may have, unpacked
	Data       bool     `json:"data,omitempty"`             // stores were kept in a data folder
	FindMax    *FindMax `json:"find_max,omitempty"`
}

// FindMax is how a run searched for highest rates.
type FindMax struct {
	From      float64 `json:"from_rate,omitempty"` // left out: the rate of each phase
	Max       float64 `json:"max_rate"`
	Precision float64 `json:"precision"`
	Step      float64 `json:"step_seconds"` // 0: the default of each engine
}

// Phase is a phase of the workload with the digest of its plan: two runs with
// equal digests have the same first operations at the same times. SHA256
// is the digest of the first Digested operations: operation, user, folders, message,
// recipients and scheduled time. The workload's text and the contents of mail decide the rest.
type Phase struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Point    string `json:"point,omitempty"` // point of a sweep
	Digested int64  `json:"digested,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	// Trials are the digests of all trials; SHA256 is that of the first trial.
	Trials []string `json:"trials_sha256,omitempty"`
	// Trace is the SHA-256 of the file that the phase replays.
	Trace string `json:"trace_sha256,omitempty"`
}

// Environment is where a run was made.
type Environment struct {
	Version  string `json:"version"` // mailbench's version
	Commit   string `json:"commit,omitempty"`
	Dirty    bool   `json:"dirty,omitempty"`
	Go       string `json:"go"`
	GOGC     string `json:"gogc"`
	MaxProcs int    `json:"gomaxprocs"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Kernel   string `json:"kernel,omitempty"`
	CPU      string `json:"cpu,omitempty"`
	CPUs     int    `json:"cpus"`
	Memory   int64  `json:"memory_bytes,omitempty"`
	Disk     string `json:"disk,omitempty"` // file system type of the data folder
}

// MailInfo is what was read from a mail file.
type MailInfo struct {
	File      string `json:"file"`
	Messages  int64  `json:"messages"`
	Bytes     int64  `json:"bytes"`
	Malformed int64  `json:"malformed"` // messages that are delivered all the same
	SHA256    string `json:"sha256,omitempty"`
	// Notes say what was skipped, repaired or guessed, in a sentence for each kind.
	Notes []string `json:"notes,omitempty"`
}

// Search is a search for the highest rate at which one model on one engine keeps its
// objectives. Package workloads/search says from the steps what was found.
type Search struct {
	// Arrivals is the first field, so that the line of a search does not look like a cell's.
	Arrivals string `json:"arrivals"` // constant or poisson
	Key
	Objectives []Objective   `json:"objectives"`
	Default    bool          `json:"default_objectives"` // objectives are mailbench's: the workload has none
	From       float64       `json:"from_rate"`
	Max        float64       `json:"max_rate"`
	Precision  float64       `json:"precision"`            // the search ends when its bracket is as narrow as this share of the rate
	Most       int           `json:"most_steps,omitempty"` // after so many steps the search ends; 0: package search says
	Steps      []SearchStep  `json:"steps"`                // in the order they were measured
	Unfinished string        `json:"unfinished,omitempty"`
	Found      *SearchResult `json:"found,omitempty"`
}

// SearchStep is one measurement at one rate.
type SearchStep struct {
	Rate     float64     `json:"rate"`
	Verdict  StepVerdict `json:"verdict"`
	Text     string      `json:"text,omitempty"`     // why the rate did not hold
	Refilled int64       `json:"refilled,omitempty"` // messages delivered before the step, because live ones ran low
	Cell     Cell        `json:"cell"`
}

// StepVerdict is what a step showed.
type StepVerdict string

// Verdicts of steps. Unclear: no objective was missed, and too little is known. Client: the
// load generator, not the store, was at its limit.
const (
	StepHeld    StepVerdict = "held"
	StepUnclear StepVerdict = "unclear"
	StepBroken  StepVerdict = "broken"
	StepClient  StepVerdict = "client"
)

// SearchResult is what a search found. The highest rate lies between Low and High;
// High is 0 if no limit of the store was found.
type SearchResult struct {
	Limit Limit   `json:"limit"`
	Rate  float64 `json:"rate"` // the highest rate that held; 0: none
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Text  string  `json:"text"` // the same for people
}

// Limit is what ended a search.
type Limit string

// Limits. Only LimitStore is the highest rate of the store. LimitMachine: engine and load
// generator share the processors, and these were full.
const (
	LimitStore      Limit = "store"
	LimitMachine    Limit = "machine"
	LimitClient     Limit = "client"
	LimitMaxRate    Limit = "max-rate"
	LimitNone       Limit = "none" // no rate passed
	LimitUnclear    Limit = "unclear"
	LimitUnfinished Limit = "unfinished"
)

// OK reports whether the search ended at a limit of the store or its machine, or at its own
// bound. Then Rate is the result of the search.
func (r *SearchResult) OK() bool {
	return r.Limit == LimitStore || r.Limit == LimitMachine || r.Limit == LimitMaxRate
}

// Sweep is one key of the workload that the run gave several values, and how cost grew
// with those.
type Sweep struct {
	Path   string       `json:"path"` // the key as --set names it; several: joined by " with "
	Points []SweepPoint `json:"points"`
	// Growth follows from the cells and the points.
	Growth []Growth `json:"growth,omitempty"`
}

// SweepPoint is one value of a sweep. Cells name it by Value.
type SweepPoint struct {
	Value      string      `json:"value"`  // the value as the workload says it
	Size       float64     `json:"size"`   // the value in bytes, seconds, operations a second, or without a unit
	SHA256     string      `json:"sha256"` // digest of the workload's text with this value
	Users      int         `json:"users"`
	Folders    int         `json:"folders"`
	Messages   int         `json:"messages"`
	Partitions []Partition `json:"partitions,omitempty"`
}

// Partition is the largest partition that a forecast of a model's schema has after the load.
type Partition struct {
	Model  string  `json:"model"`
	Engine string  `json:"engine"`
	Table  string  `json:"table"`
	Bytes  float64 `json:"bytes"`
	Files  float64 `json:"files,omitempty"` // of all tables
}

// Growth is how one figure of one operation of a model on an engine grows over a sweep.
type Growth struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Phase  string `json:"phase,omitempty"` // "": a forecast, not a measurement
	Op     string `json:"op"`
	Figure Figure `json:"figure"`
	growth.Growth
	Points []growth.Point `json:"points"` // points at which the figure is known
}

// Interrupted is what an operation on several messages leaves if its process is killed in the middle. It
// was interrupted once after each of its writes; each is a place. None to Lost are how many places leave the
// messages like that, and add up to all. Unreferenced to Drift are how many have faults that verification finds.
type Interrupted struct {
	Op       string `json:"op"` // move or delete
	Messages int    `json:"messages"`
	Writes   int    `json:"writes"` // of the whole operation; each part of a batch that is not atomic is one
	Places   int    `json:"places"`
	None     int    `json:"none"`  // all messages are as before
	Some     int    `json:"some"`  // some are done, others as before
	All      int    `json:"all"`   // all are done, to those who look
	Twice    int    `json:"twice"` // one is shown twice or more, and none is lost
	Lost     int    `json:"lost"`  // one is shown nowhere, and was to be moved
	// More of these than the whole operation leaves.
	Unreferenced int `json:"unreferenced"`  // messages, bodies or names that nothing refers to
	Dangling     int `json:"dangling"`      // index entries without their message, or messages without theirs
	Broken       int `json:"broken_bodies"` // chunks missing or orphaned
	Drift        int `json:"counter_drift"` // counters that are off
}

// Text has the interruption points by the state that they leave.
func (i *Interrupted) Text() string {
	if i.Places == 0 {
		return "no interruption point"
	}
	names := []string{"not applied", "partially applied", "applied", "duplicated", "lost"}
	states := counted("%[1]d %[2]s", names, i.None, i.Some, i.All, i.Twice, i.Lost)
	if i.Lost == 0 && i.Op == "move" {
		states = append(states, "none lost")
	}
	text := words.Plural(i.Places, "interruption point") + ": " + strings.Join(states, ", ")
	if f := i.FaultsText(); f != "" {
		text += "; verification finds " + f
	}
	return text
}

// FaultsText says what audits found, and in how many places; "" if that is nothing.
func (i *Interrupted) FaultsText() string {
	names := []string{"orphaned rows", "broken references", "broken bodies", "counter drift"}
	return strings.Join(counted("%[2]s in %[1]d", names, i.Unreferenced, i.Dangling, i.Broken, i.Drift), ", ")
}

// counted writes the counts that are not 0 with their names.
func counted(format string, names []string, counts ...int) (all []string) {
	for k, n := range counts {
		if n > 0 {
			all = append(all, fmt.Sprintf(format, n, names[k]))
		}
	}
	return all
}
