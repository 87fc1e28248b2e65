package judge

import (
	"time"

	"github.com/mailbench/mailbench/reports/results"
)

// apartMost is how far apart shards may begin a phase, as a share of its length.
const apartMost = 0.05

// shards judges a merged cell by its shards. A percentile of all shards hides what one load
// generator did to its part, so the merged cell is no better than its worst generator.
func (j *Judgement) shards(c *results.Cell, e *results.Evidence) {
	for _, s := range e.Shards {
		if (s.Verdict == results.Invalid || s.Verdict == results.Failed) && s.Reason != nil {
			j.because(s.Verdict, CodeShard, "shard %d: %s", s.Shard, s.Reason.Text)
		}
	}
	if apart := apart(e.Shards); !e.InProcess && apart > apartMost*c.Seconds {
		j.because(results.Invalid, CodeShardsApart,
			"the shards began up to %.1f s apart, in a phase of %.1f s: they did not load the engine together; set the clocks of their machines",
			apart, c.Seconds)
	}
}

// apart is how far apart shards began, in seconds.
func apart(shards []results.ShardVerdict) float64 {
	var first, last time.Time
	for i, s := range shards {
		at, err := time.Parse(time.RFC3339Nano, s.Started)
		if err != nil {
			return 0
		}
		if i == 0 || at.Before(first) {
			first = at
		}
		if i == 0 || at.After(last) {
			last = at
		}
	}
	return last.Sub(first).Seconds()
}
