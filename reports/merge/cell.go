package merge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/summary"
)

// cell merges one cell of all shards.
//
// Counts, rates, clients and workers are sums. Times come from the histograms. Losses of
// processor time are those of the worst load generator, because the shards together get no
// better verdict than each by itself. The longest gap is not known.
func (m *Merged) cell(parts []*reports.Cell) reports.Cell {
	c := *parts[0]
	c.Key, c.Gap, c.Stack, c.Error, c.Clients = union(c.Key), nil, "", "", 0
	began, ended := stamp(c.Started), stamp(c.Ended)
	var wrong []string
	for _, p := range parts {
		c.Clients += p.Clients
		c.Seconds = max(c.Seconds, p.Seconds)
		if at := stamp(p.Started); at.Before(began) {
			began, c.Started = at, p.Started
		}
		if at := stamp(p.Ended); at.After(ended) {
			ended, c.Ended = at, p.Ended
		}
		if p.Error != "" {
			wrong = append(wrong, fmt.Sprintf("shard %d: %s", p.Shard, p.Error))
		}
		c.Stack = cmp.Or(c.Stack, p.Stack)
	}
	c.Error = strings.Join(wrong, "; ")
	c.Offered = offered(parts)
	c.Streams = m.streams(parts)
	m.ops(&c, parts)
	c.Timeline = timeline(parts, began)
	c.Client = client(parts)
	c.Evidence = m.evidence(&c, parts)
	c.Before = engine(parts, c.Evidence, func(p *reports.Cell) *reports.EngineInfo { return p.Before })
	c.Engines = engine(parts, c.Evidence, func(p *reports.Cell) *reports.EngineInfo { return p.Engines })
	return c
}

// stamp parses a time of a cell. There is no error to handle: mailbench wrote the time.
func stamp(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

func offered(parts []*reports.Cell) *reports.Offered {
	var sum reports.Offered
	for _, p := range parts {
		o := p.Offered
		if o == nil {
			return nil
		}
		sum.Due += o.Due
		sum.Skipped += o.Skipped
		sum.Replaced += o.Replaced
		sum.NoTarget += o.NoTarget
		sum.Dropped += o.Dropped
		sum.Span, sum.LastStart = max(sum.Span, o.Span), max(sum.LastStart, o.LastStart)
		sum.Rate += o.Rate
		sum.Achieved += o.Achieved
	}
	return &sum
}

// streams merges each stream as if it were a cell of its own.
func (m *Merged) streams(parts []*reports.Cell) (all []reports.Stream) {
	for i := range parts[0].Streams {
		one := parts[0].Streams[i]
		one.Late, one.Queued, one.Clients, one.Undelayed = 0, 0, 0, nil
		var alone []*reports.Cell
		for _, p := range parts {
			if s := p.Stream(one.Name); s != nil {
				one.Late, one.Queued, one.Clients = one.Late+s.Late, one.Queued+s.Queued, one.Clients+s.Clients
				alone = append(alone, p.Alone(s))
			}
		}
		c := *alone[0]
		c.Key = union(c.Key)
		tagged := func(op string) string { return parts[0].Tagged(&one, op) }
		one.Offered = *offered(alone)
		recorded := m.operations(&c, alone, tagged)
		one.Ops, one.AllOps = c.Ops, c.AllOps
		if d := summary.Delays(recorded, reported(&c)); d.Operations > 0 {
			one.Undelayed = &d.Undelayed
		}
		all = append(all, one)
	}
	return all
}

func (m *Merged) ops(c *reports.Cell, parts []*reports.Cell) {
	m.operations(c, parts, func(op string) string { return op })
}

// operations merges the operations of a cell, or of one stream of it. Tagged is what the
// latency log calls an operation.
func (m *Merged) operations(c *reports.Cell, parts []*reports.Cell, tagged func(op string) string) []*latency.Op {
	names := map[string]bool{}
	measured := false
	for _, p := range parts {
		for name := range p.Ops {
			names[name] = true
		}
		measured = measured || p.AllOps != nil
	}
	c.Ops, c.AllOps = map[string]reports.Op{}, nil
	var all []*latency.Op
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var ops []reports.Op
		for _, p := range parts {
			if o, ok := p.Ops[name]; ok {
				ops = append(ops, o)
			}
		}
		o := operation(ops)
		recorded := m.histograms.op(c.Key, tagged(name), &o)
		summary.Times(&o, recorded, reported(c))
		c.Ops[name], all = o, append(all, recorded)
	}
	if measured {
		c.AllOps = summary.All(all, reported(c))
	}
	return all
}

// reported is the kind of time that the cell reports.
func reported(c *reports.Cell) latency.Kind {
	if c.Arrivals == "closed" || c.Arrivals == "none" {
		return latency.Service
	}
	return latency.Response
}

// operation adds up what the shards counted of one operation.
func operation(parts []reports.Op) reports.Op {
	var o reports.Op
	var fallbacks, missing []string
	for _, p := range parts {
		o.Count += p.Count
		o.NotFound += p.NotFound
		o.Failed += p.Failed
		o.Unknown += p.Unknown
		o.Dropped += p.Dropped
		o.NoTarget += p.NoTarget
		o.TooLarge += p.TooLarge
		o.Clamped += p.Clamped
		o.Rate += p.Rate
		if slices.Index(supports, p.Support) > slices.Index(supports, o.Support) {
			o.Support = p.Support
		}
		fallbacks, missing = names(fallbacks, p.Fallback), names(missing, p.Missing)
	}
	o.Fallback, o.Missing = strings.Join(fallbacks, ", "), strings.Join(missing, ", ")
	o.Store = cost(parts, o.Count)
	o.Patterns = patterns(parts, o.Count)
	o.Errors = errorTexts(parts)
	return o
}

// supports are in order: the merged cell has the last one that a shard saw.
var supports = []reports.Support{reports.NotObserved, reports.Native, reports.EmulatedOp, reports.NotOffered}

func names(have []string, more string) []string {
	for _, n := range strings.Split(more, ", ") {
		if n != "" && !slices.Contains(have, n) {
			have = append(have, n)
		}
	}
	return have
}

// cost is the mean cost of all operations, with the deviation among all of them.
func cost(parts []reports.Op, n int64) reports.StoreCost {
	var sum reports.StoreCost
	if n == 0 {
		return sum
	}
	for _, p := range parts {
		w, s := float64(p.Count)/float64(n), p.Store
		sum.Calls += w * s.Calls
		sum.RowsRead += w * s.RowsRead
		sum.RowsWritten += w * s.RowsWritten
		sum.BytesRead += w * s.BytesRead
		sum.BytesWritten += w * s.BytesWritten
	}
	deviation := func(of func(reports.StoreCost) (mean, deviation float64)) float64 {
		mean, _ := of(sum)
		squares := 0.0
		for _, p := range parts {
			if p.Count > 0 {
				own, d := of(p.Store)
				squares += d*d*float64(p.Count-1) + float64(p.Count)*(own-mean)*(own-mean)
			}
		}
		if n < 2 || squares <= 1e-12*mean*mean*float64(n) {
			return 0
		}
		return math.Sqrt(squares / float64(n-1))
	}
	sum.CallsDeviation = deviation(func(s reports.StoreCost) (float64, float64) { return s.Calls, s.CallsDeviation })
	sum.RowsDeviation = deviation(func(s reports.StoreCost) (float64, float64) {
		return s.RowsRead + s.RowsWritten, s.RowsDeviation
	})
	sum.BytesDeviation = deviation(func(s reports.StoreCost) (float64, float64) {
		return s.BytesRead + s.BytesWritten, s.BytesDeviation
	})
	return sum
}

func patterns(parts []reports.Op, n int64) []reports.PatternCalls {
	calls := map[string]float64{}
	for _, p := range parts {
		for _, c := range p.Patterns {
			calls[c.Name] += c.Calls * float64(p.Count) / float64(max(1, n))
		}
	}
	var all []reports.PatternCalls
	for name, c := range calls {
		all = append(all, reports.PatternCalls{Name: name, Calls: c})
	}
	slices.SortFunc(all, func(a, b reports.PatternCalls) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// errorTexts adds the counts of equal texts. The most frequent text is first, OtherErrors last.
func errorTexts(parts []reports.Op) []reports.ErrorCount {
	var all []reports.ErrorCount
	for _, p := range parts {
		for _, e := range p.Errors {
			if i := slices.IndexFunc(all, func(a reports.ErrorCount) bool { return a.Text == e.Text }); i >= 0 {
				all[i].Count += e.Count
			} else {
				all = append(all, e)
			}
		}
	}
	rank := func(e reports.ErrorCount) int64 {
		if e.Text == reports.OtherErrors {
			return -1
		}
		return e.Count
	}
	slices.SortStableFunc(all, func(a, b reports.ErrorCount) int { return cmp.Compare(rank(b), rank(a)) })
	return all
}

// timeline adds the intervals of all shards to those of the first shard.
func timeline(parts []*reports.Cell, began time.Time) []reports.Interval {
	var all []reports.Interval
	for n, p := range parts {
		shift := stamp(p.Started).Sub(began).Seconds()
		for _, in := range p.Timeline {
			in.At += shift
			middle := in.At + in.Seconds/2
			i := slices.IndexFunc(all, func(a reports.Interval) bool { return middle < a.At+a.Seconds })
			switch {
			case n == 0:
				in.Ops, in.Streams = maps.Clone(in.Ops), maps.Clone(in.Streams)
				all = append(all, in)
			case len(all) == 0:
			case i < 0:
				all[len(all)-1].Add(&in)
			default:
				all[i].Add(&in)
			}
		}
	}
	return all
}

// verdicts are the verdicts on each shard's own cell.
func verdicts(parts []*reports.Cell) []reports.ShardVerdict {
	var all []reports.ShardVerdict
	for _, p := range parts {
		j := judge.Judge(p)
		all = append(all, reports.ShardVerdict{Shard: p.Shard, Started: p.Started, Verdict: j.Verdict, Reason: j.Reason})
	}
	return all
}
