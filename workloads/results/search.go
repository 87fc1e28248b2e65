package results

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
)

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

// Due is the response time of all operations of the step that were scheduled, or nil.
func (s *SearchStep) Due() *Latency {
	if s.Cell.AllOps == nil {
		return nil
	}
	return s.Cell.AllOps.Scheduled()
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
