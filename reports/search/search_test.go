package search

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
)

// run searches on a store that answers with what step says of a rate.
func run(from, most float64, step func(rate float64) reports.StepVerdict) *reports.Search {
	s := &reports.Search{From: from, Max: most, Precision: 0.05}
	for rate, more := Next(s); more; rate, more = Next(s) {
		cell := reports.Cell{Offered: &reports.Offered{Due: 10_000}, Rate: rate}
		s.Steps = append(s.Steps, reports.SearchStep{Rate: rate, Verdict: step(rate), Text: "because", Cell: cell})
	}
	return s
}

// limitAt breaks from a rate on.
func limitAt(capacity float64, as reports.StepVerdict) func(float64) reports.StepVerdict {
	return func(rate float64) reports.StepVerdict {
		if rate >= capacity {
			return as
		}
		return reports.StepHeld
	}
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		name       string
		from, most float64
		step       func(float64) reports.StepVerdict
		limit      reports.Limit
		near       float64
		steps      int // at most
	}{
		{"from below", 100, 1e6, limitAt(7777, reports.StepBroken), reports.LimitStore, 7777, 16},
		{"from above", 1e5, 1e6, limitAt(7777, reports.StepBroken), reports.LimitStore, 7777, 14},
		{"less than one a second", 1, 1e6, limitAt(0.4, reports.StepBroken), reports.LimitStore, 0.4, 16},
		{"up to the highest rate", 100, 1e4, limitAt(7e7, reports.StepBroken), reports.LimitMaxRate, 1e4, 10},
		{"the client ends first", 100, 1e6, limitAt(5000, reports.StepClient), reports.LimitClient, 4800, 16},
		{"the store ends before the client", 100, 1e6, func(rate float64) reports.StepVerdict {
			if rate > 7000 {
				return reports.StepClient
			}
			return limitAt(5000, reports.StepBroken)(rate)
		}, reports.LimitStore, 5000, 18},
		{"nothing holds", 100, 1e6, limitAt(0, reports.StepBroken), reports.LimitNone, 0, 14},
		{"the client never holds", 100, 1e6, limitAt(0, reports.StepClient), reports.LimitClient, 0, 4},
		{"too few operations", 100, 1000, limitAt(0, reports.StepUnclear), reports.LimitUnclear, 1000, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := run(c.from, c.most, c.step)
			f := Found(s)
			if f.Limit != c.limit || math.Abs(f.Rate-c.near) > 0.06*c.near || len(s.Steps) > c.steps {
				t.Errorf("%d steps: %+v, want %s near %g", len(s.Steps), f, c.limit, c.near)
			}
			if f.Limit == reports.LimitStore && (f.Low >= c.near || f.High < c.near || f.High/f.Low > 1.06) {
				t.Errorf("%g is not within %+v", c.near, f)
			}
			if f.Limit != reports.LimitStore && strings.Contains(f.Text, "±") {
				t.Errorf("sold as the store's: %s", f.Text)
			}
			if again := Found(s); !reflect.DeepEqual(f, again) {
				t.Errorf("judged again: %+v", again)
			}
			s.Steps = s.Steps[:len(s.Steps)-1]
			if f := Found(s); f.Limit != reports.LimitUnfinished {
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
		s := run(100, 1e6, func(rate float64) reports.StepVerdict {
			v := limitAt(capacity, reports.StepBroken)(rate)
			if r.IntN(20) == 0 {
				return map[reports.StepVerdict]reports.StepVerdict{reports.StepHeld: reports.StepBroken, reports.StepBroken: reports.StepHeld}[v]
			}
			return v
		})
		f := Found(s)
		if math.Abs(f.Rate-capacity) < 0.06*capacity {
			right++
		}
		if f.Limit == reports.LimitStore && f.Low < capacity && f.High >= capacity {
			within++
		}
	}
	t.Logf("of %d searches %d found the rate, and %d have it within their bounds", tries, right, within)
	if right < tries*93/100 || within < tries*93/100 {
		t.Errorf("of %d searches %d found the rate, and %d have it within their bounds", tries, right, within)
	}
}

// What a step shows follows from its cell.
func TestJudge(t *testing.T) {
	missed := reports.Attained{Objective: "p99", Verdict: reports.Missed, Code: judge.CodeBeyondBound, Shown: "240ms"}
	few := reports.Attained{Objective: "errors", Verdict: reports.Unclear, Code: judge.CodeTooFew, Text: "few"}
	client := reports.Attained{Objective: "p99", Verdict: reports.Unclear, Code: judge.CodeClientDecides, Text: "without"}
	met := reports.Attained{Objective: "p50", Verdict: reports.Met}
	for _, c := range []struct {
		name    string
		verdict reports.Verdict
		lacking int64
		found   []reports.Attained
		want    reports.StepVerdict
	}{
		{"all met", reports.OK, 0, []reports.Attained{met}, reports.StepHeld},
		{"one missed", reports.OK, 0, []reports.Attained{met, few, client, missed}, reports.StepBroken},
		{"overloaded", reports.Overloaded, 0, []reports.Attained{met}, reports.StepBroken},
		{"failed", reports.Failed, 0, []reports.Attained{met}, reports.StepBroken},
		{"invalid", reports.Invalid, 0, []reports.Attained{missed}, reports.StepClient},
		{"the client's delays decide", reports.OK, 0, []reports.Attained{met, few, client}, reports.StepClient},
		{"too few", reports.OK, 0, []reports.Attained{met, few}, reports.StepUnclear},
		{"no live messages", reports.OK, 30, []reports.Attained{met}, reports.StepUnclear},
		{"hardly any without a live message", reports.OK, 10, []reports.Attained{met}, reports.StepHeld},
		{"nothing measured", reports.Empty, 0, nil, reports.StepUnclear},
		{"behind", reports.OK, -1, []reports.Attained{met}, reports.StepBroken},
	} {
		cell := reports.Cell{Verdict: c.verdict, Reason: &reports.Reason{Text: "because"}, Objectives: c.found, Offered: &reports.Offered{Due: 1000, NoTarget: c.lacking}}
		if cell.Offered.Span = 5; c.lacking < 0 { // queues grew until the end
			cell.Offered.LastStart = 5.06
		}
		if got, _ := Judge(&cell); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where engine and client share processors that are full, nobody is told that the store
// can do no more.
func TestSharedMachine(t *testing.T) {
	for _, c := range []struct {
		e    reports.Evidence
		info reports.ClientInfo
		want reports.Limit
	}{
		{reports.Evidence{InProcess: true}, reports.ClientInfo{CPUShare: 0.95}, reports.LimitMachine},
		{reports.Evidence{InProcess: true}, reports.ClientInfo{CPUShare: 0.5, OthersShare: 0.5}, reports.LimitStore},
		{reports.Evidence{Beside: true}, reports.ClientInfo{CPUShare: 0.5, OthersShare: 0.45}, reports.LimitMachine},
		{reports.Evidence{}, reports.ClientInfo{CPUShare: 0.95}, reports.LimitStore},
	} {
		s := run(100, 1e6, limitAt(5000, reports.StepBroken))
		for i := range s.Steps {
			s.Steps[i].Cell.Evidence, s.Steps[i].Cell.Client = &c.e, &c.info
		}
		if f := Found(s); f.Limit != c.want {
			t.Errorf("%+v %+v: %+v", c.e, c.info, f)
		}
	}
}
