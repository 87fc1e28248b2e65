package results

import "strconv"

// Objective is a bound that a figure of measured cells must keep (a service level
// objective). The workload sets it. If several hold for the same figure of a cell, the last
// one counts.
type Objective struct {
	Model  string  `json:"model,omitempty"` // the model that it holds for; "": all
	Engine string  `json:"engine,omitempty"`
	Phase  string  `json:"phase,omitempty"`
	Stream string  `json:"stream,omitempty"` // the stream whose figure it is; "": the whole phase
	Op     string  `json:"op,omitempty"`     // "": all operations together
	Figure string  `json:"figure"`           // such as p99, lag.p99 or errors
	Sign   string  `json:"sign"`             // <, <=, > or >=
	Bound  float64 `json:"bound"`            // nanoseconds, a share from 0 to 1, or operations a second
	Text   string  `json:"text"`             // the bound as it was written: <20ms
}

// Name is the figure with its stream and operation: list.p99, or readers/list.p99.
func (o *Objective) Name() string {
	name := o.Figure
	if o.Op != "" {
		name = o.Op + "." + name
	}
	if o.Stream != "" {
		name = o.Stream + "/" + name
	}
	return name
}

// String returns the objective as one reads it: list.p99 <20ms.
func (o *Objective) String() string { return o.Name() + " " + o.Text }

// Holds reports whether the objective holds for a cell.
func (o *Objective) Holds(c *Cell) bool {
	return c.Kind == KindMeasure && (o.Model == "" || o.Model == c.Model) &&
		(o.Engine == "" || o.Engine == c.Engine) && (o.Phase == "" || o.Phase == c.Phase)
}

// Keeps reports whether a value keeps the bound. NeverEnded is more than any time.
func (o *Objective) Keeps(v float64) bool {
	switch o.Sign {
	case "<":
		return v != NeverEnded && v < o.Bound
	case "<=":
		return v != NeverEnded && v <= o.Bound
	case ">":
		return v == NeverEnded || v > o.Bound
	}
	return v == NeverEnded || v >= o.Bound
}

// Attainment is what became of an objective.
type Attainment string

// Attainments. Unclear: the cell's figures do not tell. NoSuch: the model does not
// offer the operation.
const (
	Met     Attainment = "met"
	Missed  Attainment = "missed"
	Unclear Attainment = "unclear"
	NoSuch  Attainment = "n/a"
)

// Attained is what became of an objective in a cell. Package judge finds it.
type Attained struct {
	Objective string     `json:"objective"` // such as list.p99
	Bound     string     `json:"bound"`     // such as <20ms
	Verdict   Attainment `json:"verdict"`
	Code      Code       `json:"code,omitempty"`  // why it is not met
	Text      string     `json:"text,omitempty"`  // the same for people
	Value     float64    `json:"value"`           // in the unit of the bound; a time of -1: never ended
	Shown     string     `json:"shown,omitempty"` // the value as one reads it
}

// AllOps are the latencies of all operations of a cell together, as an Op has them.
type AllOps struct {
	Latency  *Latency `json:"latency,omitempty"`
	Response Latency  `json:"response"`
	Service  Latency  `json:"service"`
	Lag      Latency  `json:"lag"`
	Due      *Latency `json:"due,omitempty"`
}

// Percent writes a share with three digits at most.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }
