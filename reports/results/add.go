package results

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Add adds what b counted to o: the same operation in another trial, on another shard, or in
// another stream. Rates are added; the store's cost becomes the mean over the operations of
// both. Latencies stay those of o: only histograms can be added (package summary).
func (o *Op) Add(b *Op) {
	n, m := o.Count, b.Count
	o.Store.add(n, &b.Store, m)
	o.Patterns = addPatterns(o.Patterns, n, b.Patterns, m)
	o.Count += b.Count
	o.NotFound += b.NotFound
	o.Failed += b.Failed
	o.Unknown += b.Unknown
	o.Dropped += b.Dropped
	o.NoTarget += b.NoTarget
	o.TooLarge += b.TooLarge
	o.Clamped += b.Clamped
	o.Queued += b.Queued
	o.Rate += b.Rate
	if slices.Index(supports, b.Support) > slices.Index(supports, o.Support) {
		o.Support = b.Support
	}
	o.Fallback, o.Missing = addNames(o.Fallback, b.Fallback), addNames(o.Missing, b.Missing)
	o.Errors = addErrors(o.Errors, b.Errors)
}

// supports are in order: a sum has the last one that a part has.
var supports = []Support{NotObserved, Native, EmulatedOp, NotOffered}

// addNames adds the names of b, a list with commas, that a lacks.
func addNames(a, b string) string {
	for name := range strings.SplitSeq(b, ", ") {
		if name != "" && !slices.Contains(strings.Split(a, ", "), name) {
			a = strings.TrimPrefix(a+", "+name, ", ")
		}
	}
	return a
}

// add makes s, the mean cost of n operations, that of these and m others.
func (s *StoreCost) add(n int64, b *StoreCost, m int64) {
	if n+m == 0 {
		return
	}
	mean := func(x, y float64) float64 { return (x*float64(n) + y*float64(m)) / float64(n+m) }
	sum := StoreCost{
		Calls: mean(s.Calls, b.Calls), Retries: mean(s.Retries, b.Retries),
		Throttled: mean(s.Throttled, b.Throttled), Backoff: mean(s.Backoff, b.Backoff),
		RowsRead: mean(s.RowsRead, b.RowsRead), RowsWritten: mean(s.RowsWritten, b.RowsWritten),
		BytesRead: mean(s.BytesRead, b.BytesRead), BytesWritten: mean(s.BytesWritten, b.BytesWritten),
		BytesAdded: mean(s.BytesAdded, b.BytesAdded),
		BlobCalls:  mean(s.BlobCalls, b.BlobCalls), BlobBytesRead: mean(s.BlobBytesRead, b.BlobBytesRead),
		BlobBytesWritten: mean(s.BlobBytesWritten, b.BlobBytesWritten),
	}
	sum.CallsDeviation = addDeviations(n, s.Calls, s.CallsDeviation, m, b.Calls, b.CallsDeviation)
	sum.RowsDeviation = addDeviations(n, s.RowsRead+s.RowsWritten, s.RowsDeviation,
		m, b.RowsRead+b.RowsWritten, b.RowsDeviation)
	sum.BytesDeviation = addDeviations(n, s.BytesRead+s.BytesWritten, s.BytesDeviation,
		m, b.BytesRead+b.BytesWritten, b.BytesDeviation)
	sum.addExamined(s, n, b, m)
	*s = sum
}

// addExamined sets the rows examined of n operations with the cost a and of m with the cost b.
// They are known if those of each operation are.
func (s *StoreCost) addExamined(a *StoreCost, n int64, b *StoreCost, m int64) {
	switch {
	case m == 0:
		s.RowsExamined, s.Traced, s.ExaminedDeviation = a.RowsExamined, a.Traced, a.ExaminedDeviation
		return
	case n == 0:
		s.RowsExamined, s.Traced, s.ExaminedDeviation = b.RowsExamined, b.Traced, b.ExaminedDeviation
		return
	case a.RowsExamined == nil || b.RowsExamined == nil:
		return
	case a.Traced > 0 && b.Traced > 0: // each is the mean of the traced operations
		n, m = a.Traced, b.Traced
	}
	s.Traced = a.Traced + b.Traced
	mean := (*a.RowsExamined*float64(n) + *b.RowsExamined*float64(m)) / float64(n+m)
	s.RowsExamined = &mean
	s.ExaminedDeviation = addDeviations(n, *a.RowsExamined, a.ExaminedDeviation, m, *b.RowsExamined, b.ExaminedDeviation)
}

// addDeviations is the standard deviation of n values with the mean a and the deviation da, and
// of m values with the mean b and the deviation db (T. F. Chan, G. H. Golub, R. J. LeVeque,
// Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
func addDeviations(n int64, a, da float64, m int64, b, db float64) float64 {
	switch {
	case n == 0:
		return db
	case m == 0:
		return da
	}
	x, y := float64(n), float64(m)
	between := (b - a) * (b - a) * x * y / (x + y)
	if between <= 1e-12*max(a*a, b*b) { // equal means that were rounded
		between = 0
	}
	return math.Sqrt((da*da*(x-1) + db*db*(y-1) + between) / (x + y - 1))
}

// addPatterns is how many calls of each pattern n operations and m others made, on average.
func addPatterns(a []PatternCalls, n int64, b []PatternCalls, m int64) []PatternCalls {
	if n+m == 0 {
		return a
	}
	var sum []PatternCalls
	add := func(p PatternCalls, of int64) {
		calls := p.Calls * float64(of) / float64(n+m)
		at := slices.IndexFunc(sum, func(have PatternCalls) bool { return have.Name == p.Name })
		if at < 0 {
			at, sum = len(sum), append(sum, PatternCalls{Name: p.Name})
		}
		sum[at].Calls += calls
		sum[at].add(p.Count, p.Service)
	}
	for _, p := range a {
		add(p, n)
	}
	for _, p := range b {
		add(p, m)
	}
	slices.SortStableFunc(sum, func(a, b PatternCalls) int { return cmp.Compare(b.Calls, a.Calls) })
	return sum
}

// addErrors adds the counts of equal texts. The most frequent text is first, OtherErrors last.
func addErrors(a, b []ErrorCount) []ErrorCount {
	sum := slices.Clone(a)
	for _, e := range b {
		if at := slices.IndexFunc(sum, func(have ErrorCount) bool { return have.Text == e.Text }); at >= 0 {
			sum[at].Count += e.Count
		} else {
			sum = append(sum, e)
		}
	}
	rank := func(e ErrorCount) int64 {
		if e.Text == OtherErrors {
			return -1
		}
		return e.Count
	}
	slices.SortStableFunc(sum, func(a, b ErrorCount) int { return cmp.Compare(rank(b), rank(a)) })
	return sum
}

// Add adds what the schedule of another load generator asked for at the same time.
func (o *Offered) Add(b *Offered) {
	o.Due += b.Due
	o.Skipped += b.Skipped
	o.Replaced += b.Replaced
	o.NoTarget += b.NoTarget
	o.Dropped += b.Dropped
	o.Span, o.LastStart = max(o.Span, b.Span), max(o.LastStart, b.LastStart)
	o.Rate += b.Rate
	o.Achieved += b.Achieved
}

// Add adds what another load generator used at the same time. Processors, memory and workers
// are sums; shares and losses become those of the worst generator. Limits stay those of c.
func (c *ClientInfo) Add(b *ClientInfo) {
	c.Workers += b.Workers
	c.Processors += b.Processors
	c.Capacity += b.Capacity
	c.CPUSeconds += b.CPUSeconds
	c.GCSeconds += b.GCSeconds
	c.PeakRSS += b.PeakRSS
	c.CPUShare = max(c.CPUShare, b.CPUShare)
	c.OthersShare = max(c.OthersShare, b.OthersShare)
	c.StealShare = max(c.StealShare, b.StealShare)
	c.Throttled = max(c.Throttled, b.Throttled)
	c.SchedP99 = max(c.SchedP99, b.SchedP99)
	c.GCPauses = max(c.GCPauses, b.GCPauses)
}

// Add adds what another load generator showed at the same time. Counts are sums; times are
// those of the worst generator. What follows from all generators together stays as it is:
// Occupancy, Windows, Lags, Trend, Delays, Shards, Held, and the distribution of the hiccups.
func (e *Evidence) Add(b *Evidence) {
	e.InProcess, e.Beside = e.InProcess || b.InProcess, e.Beside || b.Beside
	e.Discards = e.Discards || b.Discards
	e.Settled, e.Warm = e.Settled && b.Settled, e.Warm && b.Warm
	e.NotCold, e.NotOffered = cmp.Or(e.NotCold, b.NotCold), cmp.Or(e.NotOffered, b.NotOffered)
	e.Load = cmp.Or(e.Load, b.Load)
	e.Missed += b.Missed
	e.Messages += b.Messages
	e.Copies += b.Copies
	e.MailBytes += b.MailBytes
	e.Lateness = max(e.Lateness, b.Lateness)
	e.Started += b.Started
	e.Late += b.Late
	e.Queued += b.Queued
	e.Crowded += b.Crowded
	e.Cap += b.Cap
	e.LargeWaits += b.LargeWaits
	e.Own += b.Own
	e.Service += b.Service
	e.ServiceFree, e.ServiceQueued = max(e.ServiceFree, b.ServiceFree), max(e.ServiceQueued, b.ServiceQueued)
	if b.Hiccups != nil {
		if e.Hiccups == nil {
			e.Hiccups = &Hiccups{}
		}
		e.Hiccups.Count += b.Hiccups.Count
		e.Hiccups.Total = max(e.Hiccups.Total, b.Hiccups.Total)
		e.Hiccups.Stopped = max(e.Hiccups.Stopped, b.Hiccups.Stopped)
	}
}

// Add adds the sizes of another store of the same engine. What one of them does not tell is not
// known of both. Version and Settings stay those of i.
func (i *EngineInfo) Add(b *EngineInfo) {
	for _, n := range []struct{ to, from *int64 }{
		{&i.DiskBytes, &b.DiskBytes},
		{&i.LogBytes, &b.LogBytes},
		{&i.CacheBytes, &b.CacheBytes},
		{&i.CompactionDebt, &b.CompactionDebt},
		{&i.WrittenBytes, &b.WrittenBytes},
		{&i.ReadBytes, &b.ReadBytes},
		{&i.Tombstones, &b.Tombstones},
	} {
		if *n.to >= 0 && *n.from >= 0 {
			*n.to += *n.from
		} else {
			*n.to = -1
		}
	}
	i.TombstonesRead = max(i.TombstonesRead, b.TombstonesRead)
	i.RowCacheReads, i.RowCacheHits = max(i.RowCacheReads, b.RowCacheReads), max(i.RowCacheHits, b.RowCacheHits)
	i.CPU = max(i.CPU, b.CPU) // both saw the same processes
	i.AddMissing(b)
}

// AddMissing adds the nodes that another load generator could not reach.
func (i *EngineInfo) AddMissing(b *EngineInfo) {
	for _, node := range b.Missing {
		if !slices.Contains(i.Missing, node) {
			i.Missing = append(slices.Clip(i.Missing), node)
		}
	}
}

// Add adds what the audit of another shard found. Common says that both audited one store: what
// each found in all of it is then not added up, and the larger number holds.
func (a *Audit) Add(b *Audit, common bool) {
	for _, n := range []struct{ to, from *int64 }{
		{&a.Delivered, &b.Delivered},
		{&a.Deleted, &b.Deleted},
		{&a.Verified, &b.Verified},
		{&a.Lost, &b.Lost},
		{&a.Corrupt, &b.Corrupt},
		{&a.Resurrected, &b.Resurrected},
		{&a.Unknown, &b.Unknown},
		{&a.BadUIDs, &b.BadUIDs},
		{&a.Unread, &b.Unread},
	} {
		*n.to += *n.from
	}
	for _, n := range []struct{ to, from *int64 }{
		{&a.Accounts, &b.Accounts},
		{&a.Folders, &b.Folders},
		{&a.Messages, &b.Messages},
		{&a.Purgeable, &b.Purgeable},
		{&a.Unreferenced, &b.Unreferenced},
		{&a.Dangling, &b.Dangling},
		{&a.Duplicated, &b.Duplicated},
		{&a.BrokenBodies, &b.BrokenBodies},
		{&a.BrokenOff, &b.BrokenOff},
		{&a.CounterDrift, &b.CounterDrift},
	} {
		if common {
			*n.to = max(*n.to, *n.from)
		} else {
			*n.to += *n.from
		}
	}
	a.Interrupted, a.Exact = a.Interrupted || b.Interrupted, a.Exact && b.Exact
	if !strings.Contains(a.Fault, b.Fault) {
		a.Fault = strings.TrimPrefix(a.Fault+"; "+b.Fault, "; ")
	}
	if !strings.Contains(a.Error, b.Error) {
		a.Error = strings.TrimPrefix(a.Error+"; "+b.Error, "; ")
	}
	a.Notes = append(a.Notes, b.Notes...)
}
