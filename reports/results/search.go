package results

import "cmp"

// Search is a search for the highest rate at which one model on one engine keeps its
// objectives. Package reports/search says from the steps what was found.
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
	LimitNone       Limit = "none" // no rate held
	LimitUnclear    Limit = "unclear"
	LimitUnfinished Limit = "unfinished"
)

// OK reports whether the search ended at a limit of the store or its machine, or at its own
// bound. Then Rate answers what the search was asked.
func (r *SearchResult) OK() bool {
	return r.Limit == LimitStore || r.Limit == LimitMachine || r.Limit == LimitMaxRate
}

// Due is the response time of all operations of the step that were due, or nil.
func (s *SearchStep) Due() *Latency {
	all := s.Cell.AllOps
	switch {
	case all == nil:
		return nil
	case all.Due != nil:
		return all.Due
	}
	return cmp.Or(all.Latency, &all.Response)
}
