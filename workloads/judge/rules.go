package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

type (
	cell     = *results.Cell
	evidence = *results.Evidence
	counts   = *results.Op
)

// run are the kinds of cells that run operations.
const run = measured | loads

// lowerRate is what to do if the load is too much.
const lowerRate = "--set a lower phases.PHASE.rate"

// rules are in the order of their doubts. Of the rules with one verdict the first that applies is its reason.
var rules = []rule{
	{"not-offered", results.Empty, refused, "", func(_ cell, e evidence) string {
		return "the model cannot store the workload's dataset: " + e.NotOffered
	}},

	// A percentile of all segments hides what one load generator did to its part, so a merged cell is no better
	// than its worst generator.
	{"segment", results.Failed, observed, "", segmentThat(results.Failed)},
	{"segment", results.Invalid, observed, "", segmentThat(results.Invalid)},
	{"segments-apart", results.Invalid, observed, "segments apart: set clocks", func(c cell, e evidence) string {
		apart := apart(e.Segments)
		return when(!e.InProcess && apart > 0.05*c.Seconds, "the segments began up to %.1f s apart, in a phase of "+
			"%.1f s: they did not load the engine together; set the clocks of their machines", apart, c.Seconds)
	}},

	// The load generator.
	{"shared-machine", results.OK, observed, "", func(_ cell, e evidence) string {
		where := "on one machine"
		if e.InProcess {
			where = "in one process"
		}
		return when(e.InProcess || e.SameMachine, "shared machine: engine and client run %s and share its processors; "+
			"such values rank models, they do not size clusters", where)
	}},
	{"client-delays", results.Invalid, observed, "machine busy: use a quieter one", func(c cell, e evidence) string {
		text, invalid := delays(c, e)
		return when(invalid, "%s", text)
	}},
	{"client-delay", results.OK, observed, "", func(c cell, e evidence) string {
		text, invalid := delays(c, e)
		return when(!invalid, "%s", text)
	}},
	{"queued", results.OK, observed, "", func(c cell, e evidence) string {
		queued := share(e.Queued, e.Started)
		return when(queued > lateInvalid, "queued: %.0f%% of the operations found all %d workers busy, and their response times "+
			"contain the wait", 100*queued, c.Client.Workers)
	}},
	{"large-waits", results.OK, observed, "", func(_ cell, e evidence) string {
		waits := share(e.LargeWaits, e.Started)
		return when(waits > lateInvalid, "large messages: %s of the operations waited for memory that other operations on large "+
			"messages had, so fewer ran concurrently than there are clients; set GOMEMLIMIT=2GiB to allow more", results.Percent(waits))
	}},

	// The engine.
	{"other-size", results.OK, observed, "", func(_ cell, e evidence) string { // at a point of a sweep
		h := e.Held
		if h == nil || h.Said <= 0 {
			return ""
		}
		off := max(math.Abs(float64(h.Before-h.Said)), math.Abs(float64(h.After-h.Said)))
		// If sizes differ by ten, a difference of a tenth changes an exponent by 0.04.
		return when(off > 0.1*float64(h.Said), "other size: the phase began with %d messages and ended with %d, and the "+
			"workload says %d; measure fewer operations, or operations that do not change the size", h.Before, h.After, h.Said)
	}},
	{"drifting", results.OK, observed, "latency changed during a trial: measure longer", func(_ cell, e evidence) string {
		t, ok := Trend(e.Windows)
		return when(ok && Drifts(t), "drifting: the service time went from %s to %s (%s; 99%% interval %s to %s)",
			words.Duration(t.From), words.Duration(t.To), change(t.Change), change(t.Low), change(t.High))
	}},
	{"short", results.OK, observed, "", func(_ cell, e evidence) string {
		return when(len(e.Windows) < trendWindows, "short: %d of the %d windows needed to detect a trend of the service "+
			"time; measure longer", len(e.Windows), trendWindows)
	}},
	{
		"not-settled", results.OK, observed, "compaction may have run during the measurement: lengthen the phase settle",
		func(_ cell, e evidence) string {
			return when(!e.Settled, "not settled: compaction was still running at the end of the wait, "+
				"or the engine does not report it")
		},
	},
	{"not-warm", results.OK, observed, "", func(_ cell, e evidence) string {
		return when(!e.Warm, "not warm: service times were not steady at the end of the warm-up; increase its duration")
	}},
	{
		"debt-grows", results.OK, observed, "compaction fell behind: measure longer, or lower the rate",
		func(c cell, _ evidence) string {
			grown := c.Engines.CompactionDebt - c.Before.CompactionDebt
			most := max(64<<20, 0.1*float64(c.Engines.DiskBytes)) // a memtable, or a tenth of the data
			return when(c.Before.CompactionDebt >= 0 && float64(grown) > most,
				"debt grows: the compaction debt grew by %s; measure longer, or lower the rate", words.Size(float64(grown)))
		},
	},
	{"in-memory", results.OK, observed, "reads were served from memory: use more data than the cache holds", inMemory},
	{"missing-nodes", results.OK, observed, "nodes could not be reached: start them", func(c cell, _ evidence) string {
		return when(len(c.Engines.Missing) > 0, "nodes are missing: %s could not be reached, so the others did their work; start them, or "+
			"look at the network between", strings.Join(c.Engines.Missing, ", "))
	}},

	// The generator, and not the engine, was the bottleneck. Queueing alone is no sign of that.
	{"client-cpu", results.Invalid, observed, "client CPU full: " + lowerRate, func(c cell, e evidence) string {
		return when(!e.InProcess && c.Client.CPUShare >= cpuFull, "client saturated: mailbench used %.0f%% of the processors that "+
			"it may use (%.3g), and the engine runs elsewhere; use more machines or a lower rate",
			100*c.Client.CPUShare, c.Client.Capacity)
	}},
	{"client-busy", results.Invalid, observed, "client busy: " + lowerRate, func(c cell, e evidence) string {
		// A quarter of the phase: workers may catch up for a moment after a pause of the engine.
		busy := seconds(e.Own) > 0.25*c.Seconds*float64(min(c.Client.Workers, c.Client.Processors))
		own := float64(e.Own) / max(1, float64(e.Own+e.Service))
		return when(busy && own > 0.5 && e.Started >= 10*leastSlower, "client saturated: busy workers spent %.0f%% "+
			"of their time on creating and recording operations, so the times are those of mailbench; lower the rate", 100*own)
	}},
	{"few-workers", results.Invalid, observed, "too few workers: raise --concurrency", func(c cell, e evidence) string {
		crowded := share(e.Crowded, e.Started) // more workers would only wait for an engine that fails
		return when(waited(c, e) && !Full(c) && crowded > lateInvalid && failures(c) == "", "too few workers: %s of the "+
			"operations waited for one of the %d workers while calls took no longer than usual; raise --concurrency",
			results.Percent(crowded), c.Client.Workers)
	}},
	{
		"workers-busy", results.Overloaded, observed, "engine busy: " + lowerRate,
		func(c cell, e evidence) string {
			return when(waited(c, e) && Full(c), "%s of the operations waited for one of the %d workers, and the processors are "+
				"full; more workers would not help: lower the rate", results.Percent(share(e.Queued, e.Started)), c.Client.Workers)
		},
	},

	// The model's load is not that of models that support all operations of the mix.
	{"lighter-load", results.OK, measured, "", func(c cell, _ evidence) string {
		runs := func(name string) bool { return c.Ops[name].Support != results.NotOffered }
		names := slices.DeleteFunc(sortedOps(c.Ops), runs)
		return when(c.Offered.Skipped > 0, "lighter load: %s of the operations were skipped, because the model does not "+
			"support %s; give them no weight in the mix (--set phases.NAME.mix.OPERATION=0) to compare the others",
			results.Percent(share(c.Offered.Skipped, c.Offered.Due)), cmp.Or(strings.Join(names, ", "), "them"))
	}},

	// Less was executed than was offered.
	{"dropped", results.Overloaded, measured, "engine busy: " + lowerRate, func(c cell, _ evidence) string {
		o := c.Offered
		return when(Overloaded(c) && o.Dropped > 0, "%d of %d scheduled operations were never started (offered %s, achieved %s); %s",
			o.Dropped, o.Due-o.Skipped-o.NoTarget, perSecond(o.Rate), perSecond(o.Achieved),
			cmp.Or(failures(c), "lower the rate, or raise --max-wait to measure their wait"))
	}},
	{"behind", results.Overloaded, measured, "engine busy: " + lowerRate, func(c cell, _ evidence) string {
		if text := behind(c); text != "" {
			return text
		}
		for i := range c.Streams { // a small stream may lose much that is little of the whole phase
			if text := behind(c.Alone(c.Streams[i].Name)); text != "" {
				return fmt.Sprintf("stream %s: %s", c.Streams[i].Name, text)
			}
		}
		return ""
	}},

	// Nothing or little was executed. Figures of a phase in which most operations had errors are those of the
	// few that a store in trouble still executed.
	{"nothing-succeeded", results.Failed, measured, "", func(c cell, _ evidence) string {
		ok, _ := succeeded(c)
		name, text := firstError(c.Ops)
		return when(ok == 0 && name != "", "no %s succeeded: %s", name, text)
	}},
	{"most-failed", results.Failed, measured, "", func(c cell, _ evidence) string {
		ok, wrong := succeeded(c)
		return when(ok > 0 && wrong > ok, "%s", failures(c))
	}},
	{"nothing-measured", results.Empty, measured, "", func(c cell, _ evidence) string {
		ok, _ := succeeded(c)
		why := "no operation succeeded"
		switch sum := c.Op(""); {
		case !sum.Offered():
			why = "the model supports no operation of the mix"
		case sum.NoTarget > 0:
			why = "there was no existing message to work on"
		}
		return when(ok == 0, "nothing was measured: %s", why)
	}},

	// A load runs as fast as it can: only what is missing from its figures gives doubts.
	{
		"incomplete", results.OK, loads, "the load could not deliver all messages: find the errors in --full",
		func(_ cell, e evidence) string {
			return when(e.Missed > 0, "incomplete: %d of %d messages of the load could not be delivered", e.Missed, e.Messages)
		},
	},
	{"unfinished", results.Failed, loads, "", func(c cell, e evidence) string {
		tried := e.Missed
		for _, o := range c.Ops {
			tried += o.Count + o.TooLarge
		}
		return when(tried < e.Messages && c.Error == "", "the load was interrupted after %d of %d messages",
			tried, e.Messages)
	}},
	{"not-cold", results.OK, colds, "caches were warm: find the reason in --full", func(_ cell, e evidence) string {
		return when(e.NotCold != "", "not cold: %s; the next phases ran with warm caches", e.NotCold)
	}},
	{"error", results.Failed, every, "", func(c cell, _ evidence) string { return c.Error }},
}

// countRules are about operations that are not in the figures, or are wrong in them.
var countRules = []countRule{
	{"dropped", run, "operations never started: lower the rate", "dropped: never started", func(o counts) int64 {
		return o.Dropped
	}},
	{"failed", run, "operations failed: find the errors in --full", "failed", func(o counts) int64 { return o.Failed }},
	{"unknown", run, "operations have an unknown outcome: find the errors in --full", "outcome unknown", func(o counts) int64 {
		return o.Unknown
	}},
	{
		"too-large", run, "messages were too large for the engine: use smaller ones", "too large for the engine",
		func(o counts) int64 { return o.TooLarge },
	},
	{"not-found", run, "", "not found", func(o counts) int64 { return o.NotFound }},
	{"no-target", run, "", "left out: no existing message to work on", func(o counts) int64 { return o.NoTarget }},
	{"clamped", run, "", "times beyond 100 s, counted as that", func(o counts) int64 { return o.Clamped }},
	{"few-operations", measured, "", "p99.9 is trustworthy from 10,000 operations on; too few of", func(o counts) int64 {
		if o.Count >= 10000 { // ten of them are slower
			return 0
		}
		return o.Count
	}},
}

// when is the text if the condition holds, else "".
func when(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// segmentThat is the rule of segments with a verdict.
func segmentThat(v results.Verdict) func(cell, evidence) string {
	return func(_ cell, e evidence) string {
		for _, s := range e.Segments {
			if s.Verdict == v && s.Reason != nil {
				return fmt.Sprintf("segment %d: %s", s.Segment, s.Reason.Text)
			}
		}
		return ""
	}
}

// inMemory says that reads were served from memory. A log may have grown since files were counted.
func inMemory(c *results.Cell, e *results.Evidence) string {
	a := c.Engines
	onDisk := max(0, a.DiskBytes-a.LogBytes)
	small := a.DiskBytes == 0 || a.DiskBytes > 0 && (onDisk < a.CacheBytes || onDisk < a.LogBytes)
	cache := when(a.CacheBytes >= 0, ", and the block cache has %s", words.Size(float64(a.CacheBytes)))
	return when(small && !e.Discards, "in memory: %s of the data is on disk, the rest in the log and memtables%s, so few reads "+
		"reach the disk; use a larger population", words.Size(float64(onDisk)), cache)
}

// change writes a share by which something changed.
func change(share float64) string {
	if share >= trendHighest {
		return "any more"
	}
	return fmt.Sprintf("%+.0f%%", 100*share)
}
