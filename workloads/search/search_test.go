package search

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// run searches on a store that answers a rate as step does.
func run(from, most float64, step func(rate float64) results.StepVerdict) *results.Search {
	s := &results.Search{From: from, Max: most, Precision: 0.05}
	for rate, more := Next(s); more; rate, more = Next(s) {
		cell := results.Cell{Offered: &results.Offered{Due: 10_000}, Rate: rate}
		s.Steps = append(s.Steps, results.SearchStep{Rate: rate, Verdict: step(rate), Text: "because", Cell: cell})
	}
	return s
}

// limitAt breaks from a rate on.
func limitAt(capacity float64, as results.StepVerdict) func(float64) results.StepVerdict {
	return func(rate float64) results.StepVerdict {
		if rate >= capacity {
			return as
		}
		return results.StepHeld
	}
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		name       string
		from, most float64
		step       func(float64) results.StepVerdict
		limit      results.Limit
		near       float64
		steps      int // at most
	}{
		{"from below", 100, 1e6, limitAt(7777, results.StepBroken), results.LimitStore, 7777, 16},
		{"from above", 1e5, 1e6, limitAt(7777, results.StepBroken), results.LimitStore, 7777, 14},
		{"less than one a second", 1, 1e6, limitAt(0.4, results.StepBroken), results.LimitStore, 0.4, 16},
		{"up to the highest rate", 100, 1e4, limitAt(7e7, results.StepBroken), results.LimitMaxRate, 1e4, 10},
		{"the client ends first", 100, 1e6, limitAt(5000, results.StepClient), results.LimitClient, 4800, 16},
		{"the store ends before the client", 100, 1e6, func(rate float64) results.StepVerdict {
			if rate > 7000 {
				return results.StepClient
			}
			return limitAt(5000, results.StepBroken)(rate)
		}, results.LimitStore, 5000, 18},
		{"nothing holds", 100, 1e6, limitAt(0, results.StepBroken), results.LimitNone, 0, 14},
		{"the client never holds", 100, 1e6, limitAt(0, results.StepClient), results.LimitClient, 0, 5},
		{"too few operations", 100, 1000, limitAt(0, results.StepUnclear), results.LimitUnclear, 1000, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := run(c.from, c.most, c.step)
			f, _ := Found(s)
			if f.Limit != c.limit || math.Abs(f.Rate-c.near) > 0.06*c.near || len(s.Steps) > c.steps {
				t.Errorf("%d steps: %+v, want %s near %g", len(s.Steps), f, c.limit, c.near)
			}
			if f.Limit == results.LimitStore && (f.Low >= c.near || f.High < c.near || f.High/f.Low > 1.06) {
				t.Errorf("%g is not within %+v", c.near, f)
			}
			if f.Limit != results.LimitStore && strings.Contains(f.Text, "±") {
				t.Errorf("sold as the store's: %s", f.Text)
			}
			if again, _ := Found(s); !reflect.DeepEqual(f, again) {
				t.Errorf("judged again: %+v", again)
			}
			s.Steps = s.Steps[:len(s.Steps)-1]
			if f, _ := Found(s); f.Limit != results.LimitUnfinished {
				t.Errorf("without its last step: %+v", f)
			}
		})
	}
}

// One measurement in twenty is wrong, whatever the rate. The result is right all the same,
// or its bounds say how far the measurements differed.
func TestSearchWithNoise(t *testing.T) {
	const capacity, tries = 5000.0, 400
	right, within := 0, 0
	r := rand.New(rand.NewPCG(1, 2))
	for range tries {
		s := run(100, 1e6, func(rate float64) results.StepVerdict {
			v := limitAt(capacity, results.StepBroken)(rate)
			if r.IntN(20) == 0 {
				return map[results.StepVerdict]results.StepVerdict{results.StepHeld: results.StepBroken, results.StepBroken: results.StepHeld}[v]
			}
			return v
		})
		f, _ := Found(s)
		if math.Abs(f.Rate-capacity) < 0.06*capacity {
			right++
		}
		if f.Limit == results.LimitStore && f.Low < capacity && f.High >= capacity {
			within++
		}
	}
	t.Logf("of %d searches %d found the rate, and %d have it within their bounds", tries, right, within)
	if right < tries*93/100 || within < tries*93/100 {
		t.Errorf("of %d searches %d found the rate, and %d have it within their bounds", tries, right, within)
	}
}

// The outcome of a step follows from its cell.
func TestJudge(t *testing.T) {
	missed := results.Attained{Objective: "p99", Verdict: results.Missed, Code: judge.CodeBeyondBound, Shown: "240ms"}
	few := results.Attained{Objective: "errors", Verdict: results.Unclear, Code: judge.CodeTooFew, Text: "few"}
	client := results.Attained{Objective: "p99", Verdict: results.Unclear, Code: judge.CodeClientDecides, Text: "without"}
	met := results.Attained{Objective: "p50", Verdict: results.Met}
	for _, c := range []struct {
		name    string
		verdict results.Verdict
		lacking int64
		found   []results.Attained
		want    results.StepVerdict
	}{
		{"all met", results.OK, 0, []results.Attained{met}, results.StepHeld},
		{"one missed", results.OK, 0, []results.Attained{met, few, client, missed}, results.StepBroken},
		{"overloaded", results.Overloaded, 0, []results.Attained{met}, results.StepBroken},
		{"failed", results.Failed, 0, []results.Attained{met}, results.StepBroken},
		{"invalid", results.Invalid, 0, []results.Attained{met, client}, results.StepClient},
		{"invalid, and behind", results.Invalid, -1, []results.Attained{met}, results.StepClient},
		{"invalid, without bounds", results.Invalid, 0, nil, results.StepClient},
		{"too few", results.OK, 0, []results.Attained{met, few}, results.StepUnclear},
		{"no existing messages", results.OK, 30, []results.Attained{met}, results.StepUnclear},
		{"hardly any without an existing message", results.OK, 10, []results.Attained{met}, results.StepHeld},
		{"nothing measured", results.Empty, 0, nil, results.StepUnclear},
		{"behind", results.OK, -1, []results.Attained{met}, results.StepBroken},
	} {
		cell := results.Cell{Verdict: c.verdict, Reason: &results.Reason{Text: "because"}, Objectives: c.found, Offered: &results.Offered{Due: 1000, NoTarget: c.lacking}}
		if cell.Offered.Span = 5; c.lacking < 0 { // queues grew until the end
			cell.Offered.LastStart = 5.06
		}
		if got, _ := Judge(&cell); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where engine and client share processors that are full, no result says that the store
// can do no more. The time of other programs does not fill them.
func TestSharedMachine(t *testing.T) {
	info := func(share, others float64) results.ClientInfo {
		return results.ClientInfo{CPUShare: share, OthersShare: others, Capacity: 2, Processors: 2}
	}
	for _, c := range []struct {
		e      results.Evidence
		info   results.ClientInfo
		engine float64 // seconds of processor time a second
		want   results.Limit
	}{
		{results.Evidence{InProcess: true}, info(0.95, 0), 0, results.LimitMachine},
		{results.Evidence{InProcess: true}, info(0.5, 0.5), 0, results.LimitStore},
		{results.Evidence{SameMachine: true}, info(0.5, 0.45), 0.9, results.LimitMachine},
		{results.Evidence{SameMachine: true}, info(0.5, 0.45), 0.1, results.LimitStore},
		{results.Evidence{}, info(0.95, 0), 0, results.LimitStore},
	} {
		s := run(100, 1e6, limitAt(5000, results.StepBroken))
		for i := range s.Steps {
			cell := &s.Steps[i].Cell
			cell.Evidence, cell.Client, cell.Seconds = &c.e, &c.info, 10
			cell.Before, cell.Engines = &results.EngineInfo{CPU: 1}, &results.EngineInfo{CPU: 1 + int64(10e9*c.engine)}
		}
		if f, _ := Found(s); f.Limit != c.want {
			t.Errorf("%+v %+v: %+v", c.e, c.info, f)
		}
	}
}

// A search ends after the steps that it may have, whatever they showed.
func TestMostSteps(t *testing.T) {
	s := results.Search{From: 100, Max: 1e6, Precision: 0.05, Most: 3}
	for n := 0; ; n++ {
		rate, more := Next(&s)
		if !more {
			if f, _ := Found(&s); n != 3 || f.Limit == results.LimitUnfinished {
				t.Errorf("ended after %d steps with %+v", n, f)
			}
			return
		}
		s.Steps = append(s.Steps, results.SearchStep{Rate: rate, Verdict: results.StepHeld})
	}
}

// A rate says how much of it the model executes, if it leaves operations out. The cell of a search is the last one that
// held at that rate.
func TestPartly(t *testing.T) {
	s := run(100, 1e6, limitAt(5000, results.StepBroken))
	found, _ := Found(s)
	rate, last := found.Rate, -1
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Cell = results.Cell{Seconds: float64(i), Offered: &results.Offered{Due: 1000, Skipped: 100, Achieved: 900}}
		if step.Rate == rate && step.Verdict == results.StepHeld {
			last = i
		}
	}
	s.Steps = append(s.Steps, results.SearchStep{Rate: rate, Verdict: results.StepBroken})
	if f, c := Found(s); !strings.Contains(f.Text, "does not support 10% of the operations, and carries out 900/s of") ||
		c == nil || c.Seconds != float64(last) {
		t.Errorf("%s; cell %+v, want that of step %d", f.Text, c, last)
	}
}
