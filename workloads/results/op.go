package results

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/latency"
)

// Interval is what became of the operations that ended or were dropped within a part of a phase. P50, P99 and Max are
// latencies in nanoseconds of operations that were ok. In a long phase several intervals are put together. P50 is then
// the mean of theirs, weighted by operations, and P99 is the largest of theirs. The latency log has histograms of each
// operation instead, for windows of its own.
type Interval struct {
	At       float64 `json:"at"`      // seconds since the phase began
	Seconds  float64 `json:"seconds"` // length of the interval
	OK       int64   `json:"ok,omitempty" add:"sum"`
	NotFound int64   `json:"not_found,omitempty" add:"sum"`
	Failed   int64   `json:"failed,omitempty" add:"sum"`
	Unknown  int64   `json:"unknown,omitempty" add:"sum"`
	Dropped  int64   `json:"dropped,omitempty" add:"sum"`
	TooLarge int64   `json:"too_large,omitempty" add:"sum"`
	P50      int64   `json:"p50,omitempty"`
	P99      int64   `json:"p99,omitempty" add:"max"`
	Max      int64   `json:"max,omitempty" add:"max"` // left out if it is P99: see Slowest
}

// Slowest is the longest time. Of fewer than 100 operations that is P99.
func (in *Interval) Slowest() int64 { return max(in.P99, in.Max) }

// Add adds what became of other operations of the same time.
func (in *Interval) Add(b *Interval) {
	in.P50 = int64(meanOf(float64(in.P50), in.OK, float64(b.P50), b.OK))
	Add(in, b)
}

// Follow adds b, the interval after in.
func (in *Interval) Follow(b *Interval) {
	in.Add(b)
	in.Seconds = b.At + b.Seconds - in.At
}

// Halved puts neighbors together, two by two.
func Halved(all []Interval) (half []Interval) {
	for i, in := range all {
		if i%2 == 0 {
			half = append(half, in)
		} else {
			half[i/2].Follow(&in)
		}
	}
	return half
}

// Gap is a time in which no operation was ok.
type Gap struct {
	At      float64 `json:"at"` // seconds since the phase began
	Seconds float64 `json:"seconds"`
}

// Support says how a model and engine support an operation.
type Support string

// Kinds of support.
const (
	Native      Support = "native"
	EmulatedOp  Support = "emulated"
	NotOffered  Support = "n/a"
	NotObserved Support = ""
)

// Op is one operation of one cell. Count is how many were ok; only they are in the
// latency figures.
type Op struct {
	Count    int64   `json:"count" add:"sum"`
	NotFound int64   `json:"not_found,omitempty" add:"sum"`
	Failed   int64   `json:"failed,omitempty" add:"sum"`    // known to have changed nothing
	Unknown  int64   `json:"unknown,omitempty" add:"sum"`   // timed out: may have changed something
	Dropped  int64   `json:"dropped,omitempty" add:"sum"`   // scheduled, but never started
	NoTarget int64   `json:"no_target,omitempty" add:"sum"` // found no existing message to work on
	TooLarge int64   `json:"too_large,omitempty" add:"sum"`
	Clamped  int64   `json:"clamped,omitempty" add:"sum"` // latencies beyond the histogram's range, counted at its end
	Support  Support `json:"support"`
	Fallback string  `json:"fallback,omitempty"` // names of the patterns whose fallback ran
	Missing  string  `json:"missing,omitempty"`  // listing fields that the model's row lacks
	Rate     float64 `json:"rate" add:"sum"`     // ok operations a second
	Times
	// Quantiles are the same times at QuantileShares. From those of several operations follow the
	// percentiles of a mix of them.
	Quantiles []int64   `json:"quantiles,omitempty"`
	Store     StoreCost `json:"store"`
	// Patterns are the access patterns that ran, the most calls first.
	Patterns []PatternRequests `json:"patterns,omitempty"`
	// Errors are the first few error texts and how often each came, the most frequent
	// first. Texts that differ only in addresses and numbers count as one. The last may
	// be OtherErrors.
	Errors []ErrorCount `json:"errors,omitempty"`
}

// Times are the latencies of an operation, or of several together.
type Times struct {
	// Latency is the response time without the delays of the client: see OK. Results of mailbench 0.1 do not
	// have it.
	Latency  *Latency `json:"latency,omitempty"`
	Response Latency  `json:"response"`     // end − scheduled start
	Service  Latency  `json:"service"`      // end − start
	Wait     Latency  `json:"lag,omitzero"` // start − scheduled start; zero without a schedule
	// Due is the latency of all scheduled operations: also of those that were not found, failed or have
	// an unknown outcome. A dropped operation never ended: a percentile among dropped operations is
	// NeverEnded. Due is left out if it is the same as Latency.
	Due *Latency `json:"due,omitempty"`
}

// Others counts the outcomes that are not in the latency figures.
func (o *Op) Others() int64 { return o.NotFound + o.Failed + o.Unknown + o.Dropped + o.TooLarge }

// Offered reports whether the model supports the operation.
func (o *Op) Offered() bool { return o.Support != NotOffered || o.Count+o.Others() > 0 }

// PatternRequests is how many calls of an operation ran a pattern, on average.
type PatternRequests struct {
	Name     string  `json:"name"`
	Requests float64 `json:"requests"`
	// Count is how often operations that were ok ran the pattern, and Service how long that took.
	Count   int64         `json:"count,omitempty"`
	Service *PatternTimes `json:"service,omitempty"`
}

// PatternTimes are times of a pattern in nanoseconds, from the model's call of the engine's client
// until its return: with what the model does with the rows, and without its other work. They are
// within 1%.
type PatternTimes struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// ErrorCount is an error's text and how many operations ended with it.
type ErrorCount struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// OtherErrors is the text for all errors beyond the first few.
const OtherErrors = "other errors"

// NeverEnded is the value of a percentile that lies among operations that were scheduled and never
// started.
const NeverEnded = latency.NeverEnded

// Dropped is the text of such a percentile.
const Dropped = "dropped"

// TimeText writes a time in nanoseconds, which may be NeverEnded.
func TimeText(ns float64) string {
	if ns == NeverEnded || math.IsInf(ns, 1) {
		return Dropped
	}
	return words.Duration(ns)
}

// MS writes such a time as milliseconds, without the unit; a dash if it is not known.
func MS(ns float64) string {
	switch ms := ns / 1e6; {
	case math.IsNaN(ms):
		return "-"
	case math.IsInf(ms, 1):
		return Dropped
	case ms < 0.0995:
		return strconv.FormatFloat(ms, 'f', 3, 64)
	default:
		return words.Digits(ms)
	}
}

// Latency is a distribution in nanoseconds.
type Latency struct {
	P50  int64   `json:"p50"`
	P90  int64   `json:"p90"`
	P99  int64   `json:"p99"`
	P999 int64   `json:"p99_9"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// StoreCost is the mean cost of one operation.
type StoreCost struct {
	Requests float64 `json:"requests" add:"mean"` // requests that went to the engine, without Retries
	// Retries are further attempts of requests. How many there are depends on the machine.
	Retries float64 `json:"retries,omitempty" add:"mean"`
	// Throttled are requests that the engine refused because the client may not send so much in
	// a time. Backoff is how long the driver waited after them, in nanoseconds.
	Throttled float64 `json:"throttled,omitempty" add:"mean"`
	Backoff   float64 `json:"backoff_ns,omitempty" add:"mean"`
	// RowsScanned are the rows and index entries that the engine read, returned or not. It is
	// left out if unknown. Traced is of how many operations it is the mean, if the engine
	// only reported it for some that were traced after the phase; 0: of all measured operations.
	RowsScanned  *float64 `json:"rows_scanned,omitempty"`
	Traced       int64    `json:"rows_scanned_traced,omitempty"`
	RowsRead     float64  `json:"rows_read,omitempty" add:"mean"` // rows that the engine returned
	RowsWritten  float64  `json:"rows_written,omitempty" add:"mean"`
	BytesRead    float64  `json:"bytes_read,omitempty" add:"mean"`
	BytesWritten float64  `json:"bytes_written,omitempty" add:"mean"`
	// BytesAdded are those of BytesRead and BytesWritten that the model's document does not have: of
	// patterns, tables and columns that are additions.
	BytesAdded float64 `json:"bytes_added,omitempty" add:"mean"`
	// BlobRequests are the requests of a model to a store of blobs outside of the engine; the bytes are part
	// of BytesRead and BytesWritten.
	BlobRequests     float64 `json:"blob_requests,omitempty" add:"mean"`
	BlobBytesRead    float64 `json:"blob_bytes_read,omitempty" add:"mean"`
	BlobBytesWritten float64 `json:"blob_bytes_written,omitempty" add:"mean"`
	// The deviations are standard deviations between operations. Rows and bytes are those
	// read and written together.
	RequestsDeviation float64 `json:"requests_deviation,omitempty"`
	// ScannedDeviation is that of RowsScanned.
	ScannedDeviation float64 `json:"rows_scanned_deviation,omitempty"`
	RowsDeviation    float64 `json:"rows_deviation,omitempty"`
	BytesDeviation   float64 `json:"bytes_deviation,omitempty"`
}

// Stream is one of the streams that a phase runs at once, with figures of its own.
type Stream struct {
	Name     string `json:"name"`
	Arrivals string `json:"arrivals"` // constant, poisson or closed
	// Rate is the operations a second of all segments together. The operations of sessions count one by one.
	Rate    float64       `json:"rate,omitempty"`
	Clients int           `json:"clients,omitempty"`
	Offered Offered       `json:"offered"`
	AllOps  *Times        `json:"all_ops,omitempty"` // all operations of the stream together
	Ops     map[string]Op `json:"ops"`
}

// StreamOp names an operation of a stream in the tags of the interval log: STREAM:OPERATION.
func StreamOp(stream, op string) string { return stream + ":" + op }

// Tagged is what the tags of the interval log call an operation of a stream. If no other
// stream has the operation, that is its own name, else StreamOp.
func (c *Cell) Tagged(s *Stream, op string) string {
	for i := range c.Streams {
		if _, ok := c.Streams[i].Ops[op]; ok && c.Streams[i].Name != s.Name {
			return StreamOp(s.Name, op)
		}
	}
	return op
}

// Alone is the cell as if it had the stream of that name only; for "" it is the cell itself, and nil if there is
// no such stream.
func (c *Cell) Alone(stream string) *Cell {
	if stream == "" {
		return c
	}
	at := slices.IndexFunc(c.Streams, func(s Stream) bool { return s.Name == stream })
	if at < 0 {
		return nil
	}
	s, one := &c.Streams[at], *c
	one.Arrivals, one.Rate, one.Clients, one.Offered = s.Arrivals, s.Rate, s.Clients, &s.Offered
	one.AllOps, one.Ops, one.Streams, one.Evidence = s.AllOps, s.Ops, nil, &Evidence{}
	if c.Evidence != nil {
		*one.Evidence = *c.Evidence
	}
	// Waits, delays, the gap and the timeline are those of the whole phase.
	one.Evidence.Queued, one.Evidence.Crowded, one.Evidence.Delays = 0, 0, nil
	one.Gap, one.Timeline = nil, nil
	return &one
}

// QuantileShares are the shares of operations, from 0 to 1, at which Op.Quantiles are.
var QuantileShares = []float64{
	0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95,
	0.97, 0.98, 0.99, 0.995, 0.999, 1,
}

// EnoughFor is how many operations it takes for the percentile p, 0 < p < 1. Of n operations all are below it with the
// probability p^n. From n = ln 0.05 / ln p on, that is less than 5%: the least sample from which an upper bound of the
// percentile is known with 95% confidence (W. J. Conover, Practical Nonparametric Statistics, tolerance limits).
func EnoughFor(p float64) int64 { return int64(math.Ceil(math.Log(0.05) / math.Log(p))) }

// Percentiles are the percentiles that results have, the lowest first. P is from 0 to 1.
var Percentiles = []struct {
	Name string
	P    float64
	Of   func(*Latency) int64
}{
	{"p50", 0.5, func(l *Latency) int64 { return l.P50 }},
	{"p90", 0.9, func(l *Latency) int64 { return l.P90 }},
	{"p99", 0.99, func(l *Latency) int64 { return l.P99 }},
	{"p99.9", 0.999, func(l *Latency) int64 { return l.P999 }},
}

// At is a percentile that results have, from 0 to 1, which is the maximum. It is infinite if it lies among
// operations that never ended.
func (l *Latency) At(p float64) float64 {
	ns := l.Max
	for _, q := range Percentiles {
		if q.P == p {
			ns = q.Of(l)
		}
	}
	if ns == NeverEnded {
		return math.Inf(1)
	}
	return float64(ns)
}

// Enough reports whether there are enough operations for the percentile p.
func (o *Op) Enough(p float64) bool { return o.Count >= EnoughFor(p) }

// Median is the middle one of the values that are known, or the mean of the two in the middle; NaN if none is.
func Median(values []float64) float64 {
	known := slices.DeleteFunc(slices.Sorted(slices.Values(values)), math.IsNaN)
	if len(known) == 0 {
		return math.NaN()
	}
	return (known[(len(known)-1)/2] + known[len(known)/2]) / 2
}

// Series has a value of each trial; NaN where it is unknown. The value of trial 1 is first.
type Series []float64

// Known are the values that are known.
func (s Series) Known() []float64 {
	return slices.DeleteFunc(slices.Clone(s), math.IsNaN)
}

// OK is the distribution that reports show: the latency of the operations that were ok. Results of mailbench 0.1
// have none: theirs is the response time, which is the service time of a closed loop and a load.
func (t *Times) OK() *Latency { return cmp.Or(t.Latency, &t.Response) }

// Scheduled is the distribution of the latencies of everything that was scheduled. A percentile is NeverEnded
// if it lies among operations that were dropped.
func (t *Times) Scheduled() *Latency { return cmp.Or(t.Due, t.OK()) }

// Attempted is how many operations were scheduled and offered, whatever became of them.
func (o *Op) Attempted() int64 { return o.Count + o.Others() }

// LatencyOf is the distribution of a histogram, and of so many operations that never ended; zero if there are none.
func LatencyOf(h *latency.Histogram, dropped int64) Latency {
	if h.Count()+dropped == 0 {
		return Latency{}
	}
	at := func(percent float64) int64 { return h.At(percent, dropped) }
	l := Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: NeverEnded, Mean: NeverEnded}
	if dropped == 0 {
		l.Max, l.Mean = h.Max(), math.Round(h.Mean())
	}
	return l
}

// TimesOf are the latencies of what was recorded of one operation, or of several together, and those of all
// scheduled operations at QuantileShares. There are no quantiles if there was no operation. Messages that were
// refused as too large are left out: the engine does not support them.
func TimesOf(t *latency.Op) (all Times, quantiles []int64) {
	dropped, of := t.Counts[latency.Dropped], func(k latency.Kind) Latency { return LatencyOf(&t.Times[k], 0) }
	all = Times{Response: of(latency.Response), Service: of(latency.Service), Wait: of(latency.Wait)}
	if t.Times[latency.Response].Count() == 0 { // a closed loop has no scheduled times
		all.Response = all.Service
	}
	ended := latency.NewHistogram(3) // whatever their outcome
	if h := &t.Times[latency.Latency]; h.Count() > 0 {
		l := LatencyOf(h, 0)
		all.Latency = &l
		ended.Add(h)
	}
	rest := &t.Times[latency.Rest]
	ended.Add(rest)
	if rest.Count() > 0 || dropped > 0 {
		l := LatencyOf(ended, dropped)
		all.Due = &l
	}
	for _, share := range QuantileShares {
		if dropped+ended.Count() > 0 {
			quantiles = append(quantiles, ended.At(100*share, dropped))
		}
	}
	return all, quantiles
}
