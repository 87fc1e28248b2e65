// Package ranking ranks the models of a measured phase by one metric of the whole load, and says in
// sentences which is fastest, why, what speaks against it, and which models are not worth it. "mailbench help
// ranking" has the rule in words. Values of all trials are here, too, for the tables of reports.
package ranking

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Metric is a property of the whole load by which models are compared: of the operations that all of
// them support, each weighted by its share. Less is better.
type Metric string

// Metrics. Latencies are in nanoseconds. The others are counted by the driver and the engine: per
// operation, and Disk per message of the load. KB are 1,000 bytes.
const (
	Typical    Metric = "typical"                    // p50 of each operation, weighted by its share
	Mean       Metric = "mean"                       // mean of all operations
	P99        Metric = "p99"                        // 99th percentile of all operations together
	Requests   Metric = Metric(results.Requests)     // requests that the driver sent to the engine
	Rows       Metric = Metric(results.Examined)     // rows and index entries that the engine scanned
	Read       Metric = Metric(results.BytesRead)    // bytes read
	Written    Metric = Metric(results.BytesWritten) // bytes written
	Disk       Metric = "disk"                       // bytes on disk per message, after compaction, without the log
	Throughput Metric = "throughput"                 // nanoseconds per operation, as fast as the store answers
)

// Metrics are all of them, in the order of reports.
var Metrics = []Metric{Typical, Mean, P99, Requests, Rows, Read, Written, Disk, Throughput}

// Counters are those of a single operation, too: what it costs the engine. They are figures of results.
var Counters = []Metric{Requests, Rows, Read, Written}

// Ranking are those by which models can be ranked: the metrics of the measured phase itself.
var Ranking = Metrics[:len(Metrics)-1]

// properties are how metrics are written. Counters do not depend on the machine; a timed metric does.
var properties = map[Metric]struct {
	timed  bool
	name   string // in a sentence
	unit   string // behind a number
	number func(v float64) string
	noun   string // behind a number that speaks against a model
	advice string // what it means to need more
}{
	Typical:  {true, "typical latency", "ms", fineMS, "", ""},
	Mean:     {true, "mean latency", "ms", fineMS, "", ""},
	P99:      {true, "p99 latency", "ms", fineMS, "ms at p99", ""},
	Requests: {false, "requests", "requests", Number, "requests/op", ", each is a network round trip"},
	Rows:     {false, "rows scanned", "rows scanned", Number, "rows/op scanned", ", slow as data grows"},
	Read:     {false, "bytes read", "KB", KB, "KB/op read", ", costly over networks"},
	Written:  {false, "bytes written", "KB", KB, "KB/op written", ", costly to compact"},
	Disk:     {false, "disk per message", "KB", KB, "KB stored per message", ", costly to keep"},
	// The time of an operation is written as a rate.
	Throughput: {true, "throughput", "operations/s", func(ns float64) string { return Number(1e9 / ns) }, "", ""},
}

// Timed reports whether the metric is measured by the clock. Other metrics do not depend on the machine.
func (m Metric) Timed() bool { return properties[m].timed }

// Of is a counter of an operation; NaN: not known.
func (m Metric) Of(o *results.Op) float64 { return o.Store.Of(results.Figure(m)) }

// Name is the metric in a sentence.
func (m Metric) Name() string { return properties[m].name }

// Number writes a value without its unit.
func (m Metric) Number(v float64) string { return properties[m].number(v) }

// fineMS is results.MS with a third digit below 1 ms, so that percentages agree with the values next to them.
func fineMS(ns float64) string {
	if ms := ns / 1e6; ms < 0.9995 {
		return strconv.FormatFloat(ms, 'f', 3, 64)
	}
	return results.MS(ns)
}

// KB writes bytes as units of 1,000.
func KB(bytes float64) string { return Number(bytes / 1000) }

// Number writes two or three digits that count.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case v < 99_950:
		return words.Digits(v)
	}
	return words.Amount(v)
}

// Load is one measured phase on one engine, with the models that ran it.
type Load struct {
	Phase, Engine string
	Cell          *results.Cell // one of the phase
	Trials        int
	By            Metric // the metric that ranks
	// Shares are the operations that all models support, the most frequent first. Together they are 1.
	// Left are the others of the workload, and Covers is which part of the scheduled operations Shares are.
	Shares []Share
	Left   []Left
	Covers float64
	// Models are ranked by their value, and after them are those that are not ranked. The first First of
	// them share the first place; 0: none is ranked.
	Models []*Model
	First  int
}

// Share is an operation and which part of a load it is, from 0 to 1.
type Share struct {
	Op    string
	Share float64
}

// Left is an operation that not all models support, and the names of those that do not. Share is of all
// scheduled operations.
type Left struct {
	Share
	Lacking []string
}

// Model is a model with its trials.
type Model struct {
	Name, Model, Engine string
	Cells               trials.Column
	NotRanked           string                    // why the model is not ranked; "": it is
	Ops                 map[string]*trials.Row    // each operation of the measured phases
	Values              map[Metric]results.Series // of the trials; one of Disk
}

// Unthrottled is the name of a phase that runs as fast as the store answers. Its throughput is shown
// with the measured phase before it.
const Unthrottled = "throughput"

// Of are the loads of the run's measured phases, ranked by a metric. The points of a sweep are not ranked. Models on
// several engines have the name of their model, and a single model on several engines that of the engine.
func Of(r *results.Run, by Metric) []*Load {
	if r.Sweep != nil {
		return nil
	}
	measured := r.Select(func(c *results.Cell) bool {
		return c.Measured() && (len(c.Ops) > 0 || c.Verdict != results.OK)
	})
	ops := results.OpsOf(measured)
	models := results.Distinct(r.Cells, func(c results.Cell) string { return c.Model })
	engines := results.Distinct(r.Cells, func(c results.Cell) string { return c.Engine })
	phases := results.Grouped(measured, func(c *results.Cell) [5]any {
		return [...]any{c.Where(), c.Engine, c.Arrivals, c.Rate, c.Clients}
	})
	if len(phases) > 1 {
		phases = slices.DeleteFunc(phases, func(of []*results.Cell) bool {
			return of[0].Where() == Unthrottled && of[0].Arrivals == "closed"
		})
	}
	var all []*Load
	for _, cells := range phases {
		l := &Load{Phase: cells[0].Where(), Engine: cells[0].Engine, Cell: cells[0], By: by}
		for _, cs := range trials.Columns(cells) {
			m := &Model{
				Name: cs[0].Model, Model: cs[0].Model, Engine: cs[0].Engine, Cells: cs, NotRanked: notRanked(r, cs),
				Ops: map[string]*trials.Row{},
			}
			if len(models) == 1 && len(engines) > 1 {
				m.Name = m.Engine
			}
			for _, op := range ops {
				m.Ops[op] = cs.Row(op)
			}
			l.Models, l.Trials = append(l.Models, m), max(l.Trials, len(cs))
		}
		l.shares()
		l.rank(r)
		all = append(all, l)
	}
	return all
}

// rank sets the values of the models and sorts them by the metric that ranks.
func (l *Load) rank(r *results.Run) {
	for _, m := range l.Models {
		m.Values = map[Metric]results.Series{
			P99: m.quantiles(l.Shares, 0.99), Disk: {m.disk(r)}, Throughput: m.throughput(r),
		}
		// sum is a value of the load in each trial; NaN where one of its operations has none.
		sum := func(of func(o *results.Op) float64) results.Series {
			all := make(results.Series, len(m.Cells))
			for _, s := range l.Shares {
				for i, value := range m.Ops[s.Op].Each(of) {
					all[i] += s.Share * value
				}
			}
			return all
		}
		if len(l.Shares) > 0 {
			m.Values[Typical] = sum(func(o *results.Op) float64 { return o.OK().At(0.5) })
			m.Values[Mean] = sum(mean)
			for _, x := range Counters {
				m.Values[x] = sum(x.Of)
			}
		}
		if m.Ranked() && math.IsNaN(m.Value(l.By)) {
			m.NotRanked = "its " + l.By.Name() + " is not known"
		}
	}
	slices.SortStableFunc(l.Models, func(a, b *Model) int {
		return cmp.Or(cmp.Compare(a.NotRanked, b.NotRanked), cmp.Compare(a.Value(l.By), b.Value(l.By)))
	})
	l.First = len(l.Models)
	if other := slices.Index(l.Leading(l.By), false); other >= 0 {
		l.First = other
	}
}

// notRanked is why a model is not ranked; "" if it is.
func notRanked(r *results.Run, cs trials.Column) string {
	for i := range r.Audits {
		if a := &r.Audits[i]; a.Model == cs[0].Model && a.Engine == cs[0].Engine && a.Wrong() {
			return "its data is wrong or lost"
		}
	}
	bad := slices.DeleteFunc(slices.Clone(cs), func(c *results.Cell) bool { return c.Verdict == results.OK })
	if 2*len(bad) < len(cs) {
		return ""
	}
	severity := func(a, b *results.Cell) int { return cmp.Compare(a.Verdict.Severity(), b.Verdict.Severity()) }
	switch c := slices.MinFunc(bad, severity); { // overloaded trials count before the others
	case c.Verdict == results.Overloaded && c.Offered != nil:
		return fmt.Sprintf("overloaded: it executed %s of %s operations/s", words.Amount(c.Offered.Achieved),
			words.Amount(c.Offered.Rate))
	case len(cs) == 1: // the report says why above the verdict
		return string(c.Verdict)
	default:
		return fmt.Sprintf("half of the trials or more are %s", c.Verdict)
	}
}

// throughput is the time of an operation as fast as the store answered, in each trial; NaN: not known.
func (m *Model) throughput(r *results.Run) (all results.Series) {
	for _, of := range m.Cells {
		ns := math.NaN()
		for c := range r.All {
			key := of.Key
			key.Phase = c.Phase
			if c.Key == key && c.Measured() && c.Arrivals == "closed" && (c.Phase == Unthrottled || c.Phase == of.Phase) &&
				c.Offered != nil && c.Offered.Achieved > 0 && c.Verdict == results.OK {
				ns = 1e9 / c.Offered.Achieved
				break
			}
		}
		all = append(all, ns)
	}
	return all
}

// shares divides the operations into those that all models support and the others. A model that executed
// nothing is left out of that. All models were sent the same operations, so an operation has the
// mean of its shares.
func (l *Load) shares() {
	var cells []*results.Cell
	var models []*Model
	for _, m := range l.Models {
		if slices.ContainsFunc(results.OpsOf(m.Cells), func(op string) bool { return m.Ops[op].Count > 0 }) {
			models, cells = append(models, m), append(cells, m.Cells...)
		}
	}
	covers, sum := make([]float64, len(models)), 0.0
	for _, op := range results.OpsOf(cells) {
		left, all, parts := Left{Share: Share{Op: op}}, 0.0, make([]float64, len(models))
		for i, m := range models {
			of, due := &m.Ops[op].Sum, int64(0) // due are all that were scheduled, also those that it does not support
			for _, c := range m.Cells {
				if c.Offered != nil {
					due += c.Offered.Due
				}
			}
			n := float64(of.Attempted() + of.NoTarget)
			parts[i], all = n/max(1, float64(due)), all+n
			if m.Ops[op].Count == 0 {
				left.Lacking = append(left.Lacking, m.Name)
			}
		}
		if left.Share.Share = slices.Max(parts); len(left.Lacking) > 0 {
			l.Left = append(l.Left, left)
			continue
		}
		for i := range models {
			covers[i] += parts[i]
		}
		l.Shares, sum = append(l.Shares, Share{op, all}), sum+all
	}
	slices.SortStableFunc(l.Left, func(a, b Left) int { return cmp.Compare(b.Share.Share, a.Share.Share) })
	slices.SortStableFunc(l.Shares, func(a, b Share) int { return cmp.Compare(b.Share, a.Share) })
	l.Covers = slices.Min(append(covers, 1)) // there may be no model
	for i := range l.Shares {
		l.Shares[i].Share /= max(1, sum)
	}
}

// Title names the load that is compared: the whole one, or the operations that all models support.
func (l *Load) Title() string {
	if l.Shared() {
		return "Shared load"
	}
	return "Whole load"
}

// Shared reports whether some models do not support operations of the load.
func (l *Load) Shared() bool { return l.Covers < 0.995 && len(l.Models) > 1 }

// disk is how many bytes a message of the load takes in the engine's files once they are compacted,
// without the log; NaN: not known.
func (m *Model) disk(r *results.Run) float64 {
	perMessage := results.Series{}
	var load *results.Cell
	for s := range r.All {
		e := s.Evidence
		if s.Model != m.Model || s.Engine != m.Engine || s.Point != m.Cells[0].Point || e == nil {
			continue
		}
		switch {
		case s.Kind == results.KindLoad && e.Copies > 0 && e.Load == "" && s.Before != nil && s.Before.DiskBytes >= 0:
			load = s
		case s.Kind == results.KindSettle && e.Settled && load != nil && s.Engines != nil:
			if bytes, known := s.Engines.Disk(); known {
				before, _ := load.Before.Disk()
				perMessage = append(perMessage, float64(bytes-before)/float64(load.Evidence.Copies))
			}
			load = nil
		}
	}
	return results.Median(perMessage)
}

// Value is the median of the trials; NaN: not known.
func (m *Model) Value(x Metric) float64 { return results.Median(m.Values[x]) }

// Ranked reports whether the model takes part in the ranking.
func (m *Model) Ranked() bool { return m.NotRanked == "" }

// Quantile is a quantile of the whole load, the median of the trials.
func (l *Load) Quantile(m *Model, p float64) float64 { return results.Median(m.quantiles(l.Shares, p)) }

// Parts are the operations with the part that each is of the time of all.
func (l *Load) Parts(m *Model) []Share {
	all, sum := slices.Clone(l.Shares), 0.0
	for i := range all {
		all[i].Share *= m.Ops[all[i].Op].Median(mean)
		sum += all[i].Share
	}
	for i := range all {
		all[i].Share /= max(sum, 1)
	}
	return all
}

func mean(o *results.Op) float64 { return o.OK().Mean }

// Leading says which models are best, or level with the best, in a metric. Models that are not ranked
// never are.
func (l *Load) Leading(x Metric) []bool {
	return l.LeadingOf(x.Timed(), func(m *Model) results.Series { return m.Values[x] })
}

// Best is the least value of a metric among the ranked models; NaN if none is known.
func (l *Load) Best(x Metric) float64 {
	if known := by(l.ranked(), x); len(known) > 0 {
		return known[0].Value(x)
	}
	return math.NaN()
}

// LeadingOf is Leading of any value.
func (l *Load) LeadingOf(timed bool, of func(m *Model) results.Series) []bool {
	all := make([]results.Series, len(l.Models))
	for i, m := range l.Models {
		if m.Ranked() {
			all[i] = of(m)
		}
	}
	return Leading(all, timed)
}

// Fact says how long each trial of the first phase measured, and at which rate. A model that did not achieve it is not
// ranked. If the run is whole, it says that no trial was left out.
func Fact(all []*Load, whole bool) string {
	c := all[0].Cell
	s := words.Plural(all[0].Trials, "trial")
	if c.Offered != nil && c.Offered.Span > 0 {
		s += " of " + words.Duration(1e9*c.Offered.Span)
	}
	switch {
	case all[0].Trials > 1 && whole:
		s = "medians of " + s + ", none left out"
	case all[0].Trials > 1:
		s = "medians of up to " + s
	}
	if c.Arrivals == "closed" {
		return s + ", unthrottled, " + words.Plural(c.Clients, "client")
	}
	return s + "; " + strings.TrimSuffix(words.Amount(c.Rate), ".00") + " ops/s offered"
}

// quantiles are the latencies that a part p of the operations with these shares does not exceed, of each trial; NaN
// if one of them has no quantiles, and infinite if it lies among operations that never ended.
func (m *Model) quantiles(shares []Share, p float64) (all results.Series) {
	for trial := range m.Cells {
		unknown := func(s Share) bool { return len(m.Ops[s.Op].Ops[trial].Quantiles) != len(results.QuantileShares) }
		below := func(ns float64) (sum float64) {
			for _, s := range shares {
				sum += s.Share * shareBelow(m.Ops[s.Op].Ops[trial].Quantiles, ns)
			}
			return sum
		}
		low, high := 1.0, 1e15 // 11 days
		switch {
		case len(shares) == 0 || slices.ContainsFunc(shares, unknown):
			high = math.NaN()
		case below(high) < p:
			high = math.Inf(1)
		default:
			for high/low > 1.0001 { // the share grows with the latency, so bisection finds it
				if middle := math.Sqrt(low * high); below(middle) < p {
					low = middle
				} else {
					high = middle
				}
			}
		}
		all = append(all, high)
	}
	return all
}

// shareBelow is which share of the operations took at most ns. Between two quantiles it grows with the
// logarithm of the latency.
func shareBelow(quantiles []int64, ns float64) float64 {
	shares := results.QuantileShares
	for i, q := range quantiles {
		if q != results.NeverEnded && float64(q) <= ns {
			continue
		}
		switch {
		case i == 0:
			return 0
		case q == results.NeverEnded:
			return shares[i-1]
		}
		from, to := math.Log(float64(max(quantiles[i-1], 1))), math.Log(float64(q))
		return shares[i-1] + (shares[i]-shares[i-1])*(math.Log(ns)-from)/(to-from)
	}
	return 1
}
