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
	m.operations(&c, parts, func(op string) string { return op })
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
		c := *alone[0]
		c.Key = union(c.Key)
		tagged := func(op string) string { return parts[0].Tagged(&one, op) }
		one.Offered = *total(alone, func(c *results.Cell) *results.Offered { return c.Offered })
		m.operations(&c, alone, tagged)
		one.Ops, one.AllOps = c.Ops, c.AllOps
		all = append(all, one)
	}
	return all
}

// operations merges the operations of a cell, or of one stream of it. Tagged is what the
// latency log calls an operation.
func (m *Merged) operations(c *results.Cell, parts []*results.Cell, tagged func(op string) string) {
	measured := slices.ContainsFunc(parts, func(p *results.Cell) bool { return p.AllOps != nil })
	c.Ops, c.AllOps = map[string]results.Op{}, nil
	var all latency.Op
	for _, name := range results.OpsOf(parts) {
		row := trials.Column(parts).Row(name)
		var recorded latency.Op // by all segments
		for kind := range latency.Kind(latency.NumKinds) {
			recorded.Times[kind].Add(m.histograms[c.Tag(tagged(name), kind.String())])
		}
		recorded.Counts[latency.OK], recorded.Counts[latency.Dropped] = row.Sum.Count, row.Sum.Dropped
		row.Sum.Times, row.Sum.Quantiles = results.TimesOf(&recorded)
		c.Ops[name] = row.Sum
		all.Add(&recorded)
	}
	if measured {
		times, _ := results.TimesOf(&all)
		c.AllOps = &times
	}
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

// engine is the state of the engine, whose stores are those of the segments, or one that they have in common.
func engine(
	parts []*results.Cell, e *results.Evidence, of func(*results.Cell) *results.EngineInfo,
) *results.EngineInfo {
	first := of(parts[0])
	if first == nil || e == nil {
		return first
	}
	sum := *first
	// If a segment does not know its own, a sum would lack it: sizes stay those of the first.
	common := !e.InProcess || slices.ContainsFunc(parts, func(p *results.Cell) bool { return of(p) == nil })
	for _, p := range parts[1:] {
		if seen := of(p); seen != nil {
			sum.Add(seen, common)
		}
	}
	return &sum
}
