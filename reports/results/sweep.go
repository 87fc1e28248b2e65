package results

import "github.com/mailbench/mailbench/reports/growth"

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
}

// Growth is how one figure of one operation of a model on an engine grows over a sweep.
type Growth struct {
	Model    string       `json:"model"`
	Engine   string       `json:"engine"`
	Phase    string       `json:"phase,omitempty"` // "": a forecast, not a measurement
	Op       string       `json:"op"`
	Figure   Figure       `json:"figure"`
	Class    growth.Class `json:"class"`
	From     float64      `json:"from,omitempty"` // of "flat from": the size from which on it is flat
	Exponent float64      `json:"exponent"`
	// Low and High bound the exponent with 95% confidence. They are left out if there are
	// too few points to tell.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// PowerLow and PowerHigh bound the exponent of the part that grows, if the figure is that
	// part and a fixed part. They are left out if Exponent says enough, or they cannot be told.
	PowerLow  *float64      `json:"power_low,omitempty"`
	PowerHigh *float64      `json:"power_high,omitempty"`
	Exact     bool          `json:"exact,omitempty"` // counted: the errors of the values are known
	Points    []GrowthPoint `json:"points"`          // points at which the figure is known
}

// GrowthPoint is the figure at one point: the median of the trials.
type GrowthPoint struct {
	Point string   `json:"point"`
	Size  float64  `json:"size"`
	Value float64  `json:"value"`
	Error *float64 `json:"error,omitempty"` // relative standard error of a counted figure
}
