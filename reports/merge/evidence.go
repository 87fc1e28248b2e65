package merge

import (
	"slices"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/summary"
)

// client is what all load generators used. Processors, memory and workers are sums; shares and
// losses are those of the worst load generator.
func client(parts []*reports.Cell) *reports.ClientInfo {
	var sum reports.ClientInfo
	for i, p := range parts {
		c := p.Client
		if c == nil {
			return nil
		}
		if i == 0 {
			sum.Limits, sum.OthersShare = c.Limits, c.OthersShare
		}
		sum.Workers += c.Workers
		sum.Processors += c.Processors
		sum.Capacity += c.Capacity
		sum.CPUSeconds += c.CPUSeconds
		sum.GCSeconds += c.GCSeconds
		sum.PeakRSS += c.PeakRSS
		sum.CPUShare = max(sum.CPUShare, c.CPUShare)
		sum.OthersShare = max(sum.OthersShare, c.OthersShare)
		sum.StealShare = max(sum.StealShare, c.StealShare)
		sum.Throttled = max(sum.Throttled, c.Throttled)
		sum.SchedP99 = max(sum.SchedP99, c.SchedP99)
		sum.GCPauses = max(sum.GCPauses, c.GCPauses)
	}
	return &sum
}

// evidence is what all shards showed.
func (m *Merged) evidence(c *reports.Cell, parts []*reports.Cell) *reports.Evidence {
	sum := reports.Evidence{Settled: true, Warm: true, Shards: verdicts(parts)}
	workers := 0.0
	for _, p := range parts {
		e := p.Evidence
		if e == nil {
			return nil
		}
		sum.InProcess, sum.Beside = sum.InProcess || e.InProcess, sum.Beside || e.Beside
		sum.Discards = sum.Discards || e.Discards
		sum.Settled, sum.Warm = sum.Settled && e.Settled, sum.Warm && e.Warm
		if e.NotCold != "" {
			sum.NotCold = e.NotCold
		}
		if e.NotOffered != "" {
			sum.NotOffered = e.NotOffered
		}
		sum.Missed += e.Missed
		sum.Messages += e.Messages
		sum.Lateness = max(sum.Lateness, e.Lateness)
		sum.Started += e.Started
		sum.Late += e.Late
		sum.Queued += e.Queued
		sum.Crowded += e.Crowded
		sum.LargeWaits += e.LargeWaits
		sum.Cap += e.Cap
		sum.Own += e.Own
		sum.Service += e.Service
		if p.Client != nil {
			sum.Occupancy += e.Occupancy * float64(p.Client.Workers)
			workers += float64(p.Client.Workers)
		}
		hiccups(&sum, e.Hiccups)
	}
	sum.Occupancy /= max(1, workers)
	sum.Windows, sum.Lags = windows(parts)
	if t, ok := judge.Trend(sum.Windows); ok {
		sum.Trend = &t
	}
	m.times(c, parts, &sum)
	return &sum
}

// hiccups adds the number of hiccups of a load generator; the times are those of the worst one.
func hiccups(sum *reports.Evidence, h *reports.Hiccups) {
	if h == nil {
		return
	}
	if sum.Hiccups == nil {
		sum.Hiccups = &reports.Hiccups{}
	}
	sum.Hiccups.Count += h.Count
	sum.Hiccups.Total, sum.Hiccups.Stopped = max(sum.Hiccups.Total, h.Total), max(sum.Hiccups.Stopped, h.Stopped)
}

// times sets the figures that come from the histograms.
func (m *Merged) times(c *reports.Cell, parts []*reports.Cell, sum *reports.Evidence) {
	if sum.Hiccups == nil {
		return
	}
	sum.Hiccups.Lateness = summary.Of(m.histograms[c.Tag("client", "hiccup")])
	var all []*latency.Op
	for name, o := range c.Ops {
		all = append(all, m.histograms.op(c.Key, name, &o))
	}
	d := summary.Delays(all, reported(c))
	for _, p := range parts {
		if p.Evidence.Delays != nil {
			d.Dropped += p.Evidence.Delays.Dropped
		}
	}
	sum.Delays = &d
	for i := range parts {
		e := parts[i].Evidence
		sum.ServiceFree, sum.ServiceQueued = max(sum.ServiceFree, e.ServiceFree), max(sum.ServiceQueued, e.ServiceQueued)
	}
}

// windows are the medians of the shards' service times, and their largest lags, window by
// window, as far as all shards have windows.
func windows(parts []*reports.Cell) (service []float64, lags []int64) {
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
		service, lags = append(service, judge.Median(values)), append(lags, lag)
	}
	return service, lags
}

// engine is the state of the engine. If the shards have a store in common, it is what the first
// shard saw. If each has its own store, sizes are sums.
func engine(
	parts []*reports.Cell, e *reports.Evidence, of func(*reports.Cell) *reports.EngineInfo,
) *reports.EngineInfo {
	first := of(parts[0])
	if first == nil || e == nil || !e.InProcess || slices.ContainsFunc(parts, func(p *reports.Cell) bool {
		return of(p) == nil
	}) {
		return first
	}
	sum := *first
	for _, p := range parts[1:] {
		i := of(p)
		for _, n := range []struct{ to, from *int64 }{
			{&sum.DiskBytes, &i.DiskBytes},
			{&sum.LogBytes, &i.LogBytes},
			{&sum.CacheBytes, &i.CacheBytes},
			{&sum.CompactionDebt, &i.CompactionDebt},
			{&sum.WrittenBytes, &i.WrittenBytes},
			{&sum.ReadBytes, &i.ReadBytes},
			{&sum.Tombstones, &i.Tombstones},
		} {
			if *n.to >= 0 && *n.from >= 0 {
				*n.to += *n.from
			} else {
				*n.to = -1
			}
		}
	}
	return &sum
}
