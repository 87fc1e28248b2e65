package merge

import (
	"slices"

	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/summary"
)

// client is what all load generators used. Processors, memory and workers are sums; shares and
// losses are those of the worst load generator.
func client(parts []*results.Cell) *results.ClientInfo {
	var sum results.ClientInfo
	for i, p := range parts {
		c := p.Client
		if c == nil {
			return nil
		}
		if i == 0 {
			sum.Limits, sum.OthersShare = c.Limits, c.OthersShare
		}
		sum.Add(c)
	}
	return &sum
}

// evidence is what all shards showed.
func (m *Merged) evidence(c *results.Cell, parts []*results.Cell) *results.Evidence {
	sum := results.Evidence{Settled: true, Warm: true, Shards: verdicts(parts)}
	workers := 0.0
	for _, p := range parts {
		e := p.Evidence
		if e == nil {
			return nil
		}
		sum.Add(e)
		if p.Client != nil {
			sum.Occupancy += e.Occupancy * float64(p.Client.Workers)
			workers += float64(p.Client.Workers)
		}
	}
	sum.Occupancy /= max(1, workers)
	sum.Windows, sum.Lags = windows(parts)
	if t, ok := judge.Trend(sum.Windows); ok {
		sum.Trend = &t
	}
	m.times(c, parts, &sum)
	return &sum
}

// times sets the figures that come from the histograms.
func (m *Merged) times(c *results.Cell, parts []*results.Cell, sum *results.Evidence) {
	if sum.Hiccups == nil {
		return
	}
	sum.Hiccups.Lateness = summary.Of(m.histograms[c.Tag("client", "hiccup")])
	if c.AllOps == nil {
		return
	}
	d := summary.Delays(c.AllOps)
	for _, p := range parts {
		if of := p.Evidence.Delays; of != nil {
			d.Operations, d.Dropped = d.Operations+of.Operations, d.Dropped+of.Dropped
		}
	}
	sum.Delays = &d
}

// windows are the medians of the shards' service times, and their largest lags, window by
// window, as far as all shards have windows.
func windows(parts []*results.Cell) (service []float64, lags []int64) {
	shortest := len(parts[0].Evidence.Windows)
	for _, p := range parts {
		shortest = min(shortest, len(p.Evidence.Windows), len(p.Evidence.Lags))
	}
	for i := range shortest {
		var values []float64
		lag := int64(0)
		for _, p := range parts {
			values = append(values, p.Evidence.Windows[i])
			lag = max(lag, p.Evidence.Lags[i])
		}
		service, lags = append(service, results.Median(values)), append(lags, lag)
	}
	return service, lags
}

// engine is the state of the engine. If the shards have a store in common, it is what the first
// shard saw, with the nodes that any shard missed. If each has its own store, sizes are sums.
func engine(
	parts []*results.Cell, e *results.Evidence, of func(*results.Cell) *results.EngineInfo,
) *results.EngineInfo {
	first := of(parts[0])
	if first == nil || e == nil {
		return first
	}
	own := e.InProcess && !slices.ContainsFunc(parts, func(p *results.Cell) bool { return of(p) == nil })
	sum := *first
	for _, p := range parts[1:] {
		if own {
			sum.Add(of(p))
		} else if seen := of(p); seen != nil {
			sum.AddMissing(seen)
		}
	}
	return &sum
}
