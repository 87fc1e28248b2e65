package merge

import (
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// cell merges one cell of all segments.
//
// Counts, rates, clients and workers are sums. Times come from the histograms. Losses of
// processor time are those of the worst load generator, because the segments together get no
// better verdict than each by itself. The longest gap is not known.
func (m *Merged) cell(parts []*results.Cell) results.Cell {
	c := *parts[0]
	c.Key, c.Gap, c.Stack, c.Error, c.Clients = union(c.Key), nil, "", "", 0
	for _, p := range parts {
		c.Clients += p.Clients
		c.Seconds = max(c.Seconds, p.Seconds)
		if stamp(p.Started).Before(stamp(c.Started)) {
			c.Started = p.Started
		}
		if stamp(p.Ended).After(stamp(c.Ended)) {
			c.Ended = p.Ended
		}
		if c.Error == "" && p.Error != "" {
			c.Error, c.Stack = fmt.Sprintf("segment %d: %s", p.Segment, p.Error), p.Stack
		}
	}
	c.Offered = total(parts, func(c *results.Cell) *results.Offered { return c.Offered })
	c.Streams = m.streams(parts)
	c.Ops, c.AllOps = m.operations(parts, func(op string) string { return op })
	c.Timeline = timeline(parts, stamp(c.Started))
	c.Client = total(parts, func(c *results.Cell) *results.ClientInfo { return c.Client })
	c.Evidence = evidence(parts)
	c.Before = engine(parts, c.Evidence, func(p *results.Cell) *results.EngineInfo { return p.Before })
	c.Engines = engine(parts, c.Evidence, func(p *results.Cell) *results.EngineInfo { return p.Engines })
	return c
}

// stamp parses a time of a cell. There is no error to handle: mailbench wrote the time.
func stamp(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

// total adds up what the cells have; nil if one has none.
func total[T any](parts []*results.Cell, of func(*results.Cell) *T) *T {
	first := of(parts[0])
	if first == nil {
		return nil
	}
	sum := *first
	for _, p := range parts[1:] {
		one := of(p)
		if one == nil {
			return nil
		}
		results.Add(&sum, one)
	}
	return &sum
}

// streams merges each stream as if it were a cell of its own.
func (m *Merged) streams(parts []*results.Cell) (all []results.Stream) {
	for i := range parts[0].Streams {
		one := parts[0].Streams[i]
		one.Clients = 0
		var alone []*results.Cell
		for _, p := range parts {
			if s := p.Alone(one.Name); s != nil {
				one.Clients += s.Clients
				alone = append(alone, s)
			}
		}
		one.Offered = *total(alone, func(c *results.Cell) *results.Offered { return c.Offered })
		one.Ops, one.AllOps = m.operations(alone, func(op string) string { return parts[0].Tagged(&one, op) })
		all = append(all, one)
	}
	return all
}

// operations merges the operations of a cell, or of one stream of it, and has the times of all together. Tagged is what
// the latency log calls an operation.
func (m *Merged) operations(
	parts []*results.Cell, tagged func(op string) string,
) (ops map[string]results.Op, together *results.Times) {
	ops = map[string]results.Op{}
	var all latency.Op
	for _, name := range results.OpsOf(parts) {
		row := trials.Column(parts).Row(name)
		var recorded latency.Op // by all segments
		for kind := range latency.Kind(latency.NumKinds) {
			recorded.Times[kind].Add(m.histograms[union(parts[0].Key).Tag(tagged(name), kind.String())])
		}
		recorded.Counts[latency.OK], recorded.Counts[latency.Dropped] = row.Sum.Count, row.Sum.Dropped
		row.Sum.Times, row.Sum.Quantiles = results.TimesOf(&recorded)
		ops[name] = row.Sum
		all.Add(&recorded)
	}
	if slices.ContainsFunc(parts, func(p *results.Cell) bool { return p.AllOps != nil }) {
		times, _ := results.TimesOf(&all)
		together = &times
	}
	return ops, together
}

// timeline adds the intervals of all segments to those of the first segment.
func timeline(parts []*results.Cell, began time.Time) []results.Interval {
	var all []results.Interval
	for n, p := range parts {
		shift := stamp(p.Started).Sub(began).Seconds()
		for _, in := range p.Timeline {
			in.At += shift
			middle := in.At + in.Seconds/2
			i := slices.IndexFunc(all, func(a results.Interval) bool { return middle < a.At+a.Seconds })
			if i < 0 {
				i = len(all) - 1
			}
			if n == 0 {
				all = append(all, in)
			} else if len(all) > 0 {
				all[i].Add(&in)
			}
		}
	}
	return all
}

// evidence is what all segments showed.
func evidence(parts []*results.Cell) *results.Evidence {
	sum := results.Evidence{Settled: true, Warm: true}
	for _, p := range parts {
		if p.Evidence == nil {
			return nil
		}
		results.Add(&sum, p.Evidence)
		own := *p
		judge.Apply(&own, nil)
		sum.Segments = append(sum.Segments, results.SegmentVerdict{
			Segment: p.Segment, Started: p.Started, Verdict: own.Verdict, Reason: own.Reason,
		})
	}
	// Windows of segments cannot be added. All load one engine, so those of the first show how it drifts.
	sum.Windows = parts[0].Evidence.Windows
	return &sum
}

// engine is the state of the engine, whose stores are those of the segments, or one that they have in common. Sizes of
// one store are those that the first segment saw; of several they are sums, and not known if a segment does not report
// its own. Version and settings are those of the first.
func engine(
	parts []*results.Cell, e *results.Evidence, of func(*results.Cell) *results.EngineInfo,
) *results.EngineInfo {
	first := of(parts[0])
	if first == nil || e == nil {
		return first
	}
	sum := *first
	// If a segment has no state at all, a sum would lack its size.
	common := !e.InProcess || slices.ContainsFunc(parts, func(p *results.Cell) bool { return of(p) == nil })
	for _, p := range parts[1:] {
		seen := of(p)
		if seen == nil {
			continue
		}
		if !common {
			results.Add(&sum, seen)
		}
		nodes := slices.Concat(sum.Missing, seen.Missing)
		sum.Missing = results.Distinct(nodes, func(node string) string { return node })
	}
	return &sum
}
