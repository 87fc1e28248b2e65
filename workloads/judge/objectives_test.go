package judge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// served is a healthy cell with metrics of two operations and of all together.
func served() *results.Cell {
	c := healthy()
	lat := func(p50 int64) results.Latency {
		return results.Latency{P50: p50, P90: 2 * p50, P99: 10 * p50, P999: 20 * p50, Max: 50 * p50, Mean: float64(p50)}
	}
	op := func(n int64) results.Op {
		return results.Op{Count: n, Support: results.Native, Rate: float64(n) / 30, Times: results.Times{Response: lat(ms), Service: lat(ms / 2), Wait: lat(ms / 20)}}
	}
	c.Ops = map[string]results.Op{"open": op(50000), "list": op(10000), "purge": {Support: results.NotOffered}}
	c.AllOps = &results.Times{Response: lat(ms), Service: lat(ms / 2), Wait: lat(ms / 20)}
	return c
}

// objective makes one of a text such as "list.p99 < 20ms".
func objective(op, figure, sign string, bound float64) results.Objective {
	return results.Objective{Op: op, Figure: figure, Sign: sign, Bound: bound, Text: sign + "X"}
}

// Every kind of gate is seen to be kept, to fail, and to be unclear where too little is
// known.
func TestObjectives(t *testing.T) {
	const msf = float64(ms)
	change := func(name string, f func(*results.Op)) func(*results.Cell) {
		return func(c *results.Cell) {
			o := c.Ops[name]
			f(&o)
			c.Ops[name] = o
		}
	}
	nothing := func(*results.Cell) {}
	rows, _ := documented(t, "| code of an objective | gives | meaning |")
	for _, c := range []struct {
		name    string
		change  func(*results.Cell)
		o       results.Objective
		verdict results.Attainment
		code    results.Code
		text    string
	}{
		{"p50", nothing, objective("list", "p50", "<", 1.1*msf), results.Met, "", ""},
		{"p50 missed", nothing, objective("list", "p50", "<", msf), results.Missed, CodeBeyondBound, "it is 1.00ms"},
		{"p50 at most", nothing, objective("list", "p50", "<=", msf), results.Met, "", ""},
		{"p90 missed", nothing, objective("list", "p90", "<=", msf), results.Missed, CodeBeyondBound, ""},
		{"p99", nothing, objective("list", "p99", "<", 11*msf), results.Met, "", ""},
		{"p99 missed", nothing, objective("list", "p99", "<", 9*msf), results.Missed, CodeBeyondBound, ""},
		{"p99.9 missed", nothing, objective("open", "p99.9", "<", 19*msf), results.Missed, CodeBeyondBound, ""},
		{"max missed", nothing, objective("open", "max", "<", 50*msf), results.Missed, CodeBeyondBound, ""},
		{"mean missed", nothing, objective("open", "mean", "<", msf), results.Missed, CodeBeyondBound, ""},
		{"mean at least", nothing, objective("open", "mean", ">=", msf), results.Met, "", ""},
		{"all together", nothing, objective("", "p99", "<", 11*msf), results.Met, "", ""},
		{"all together missed", nothing, objective("", "p99", "<", 9*msf), results.Missed, CodeBeyondBound, ""},
		{"service", nothing, objective("list", "service.p99", "<", 6*msf), results.Met, "", ""},
		{"service missed", nothing, objective("list", "service.p99", "<", 4*msf), results.Missed, CodeBeyondBound, ""},
		{"wait", nothing, objective("", "wait.p99", "<", msf), results.Met, "", ""},
		{"wait of an older result", nothing, objective("", "lag.p99", "<", msf), results.Met, "", ""},
		{"wait missed", nothing, objective("", "wait.p99", "<", msf/4), results.Missed, CodeBeyondBound, ""},
		{"wait of a closed loop", func(c *results.Cell) { c.Arrivals = "closed" }, objective("", "wait.p99", "<", msf), results.Unclear, CodeNoFigure, ""},
		{"rate", nothing, objective("list", "rate", ">", 333), results.Met, "", ""},
		{"rate missed", nothing, objective("list", "rate", ">", 334), results.Missed, CodeBeyondBound, ""},
		{"rate of all missed", nothing, objective("", "rate", ">=", 2001), results.Missed, CodeBeyondBound, ""},
		{"achieved", nothing, objective("", "achieved", ">=", 0.99), results.Met, "", ""},
		{"achieved missed", func(c *results.Cell) { c.Offered.Achieved, c.Offered.LastStart = 1900, 32 }, objective("", "achieved", ">=", 0.99), results.Missed, CodeBeyondBound, "it is 95%"},
		{"achieved, with a pause at the very end", func(c *results.Cell) { c.Offered.Achieved, c.Offered.LastStart = 1900, 30.2 }, objective("", "achieved", ">=", 0.99), results.Met, "", ""},
		{"achieved of a closed loop", func(c *results.Cell) { c.Arrivals = "closed" }, objective("", "achieved", ">=", 0.99), results.Unclear, CodeNoFigure, ""},

		{"errors", nothing, objective("", "errors", "<", 0.001), results.Met, "", ""},
		{"errors missed by failures", change("list", func(o *results.Op) { o.Failed = 100 }), objective("list", "errors", "<", 0.001), results.Missed, CodeBeyondBound, "it is 0.99%"},
		{"errors missed by unknown outcomes", change("list", func(o *results.Op) { o.Unknown = 100 }), objective("", "errors", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"errors missed by drops", change("list", func(o *results.Op) { o.Dropped = 100 }), objective("", "errors", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"failed missed", change("list", func(o *results.Op) { o.Failed = 100 }), objective("", "failed", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"unknown missed", change("list", func(o *results.Op) { o.Unknown = 100 }), objective("", "unknown", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"dropped missed", change("list", func(o *results.Op) { o.Dropped = 100 }), objective("", "dropped", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"not-found missed", change("list", func(o *results.Op) { o.NotFound = 100 }), objective("", "not-found", "<", 0.001), results.Missed, CodeBeyondBound, ""},
		{"no failure at all", nothing, objective("", "failed", "<=", 0), results.Met, "", ""},

		// Failing fast is not fast, and a dropped operation took infinitely long.
		{"p99 missed by failures", change("list", func(o *results.Op) {
			o.Failed, o.Due = 300, &results.Latency{P50: ms, P99: 500 * ms}
		}), objective("list", "p99", "<", 20*msf), results.Missed, CodeBeyondBound, "it is 500ms"},
		{"p99 missed by drops", change("list", func(o *results.Op) {
			o.Dropped, o.Due = 300, &results.Latency{P50: ms, P99: results.NeverEnded}
		}), objective("list", "p99", "<", 20*msf), results.Missed, CodeBeyondBound, "it is dropped"},

		// Too few operations do not pass in silence.
		{"few for p99", change("list", func(o *results.Op) { o.Count = 298 }), objective("list", "p99", "<", 11*msf), results.Unclear, CodeTooFew, "needs 299 operations, had 298"},
		{"few for p99, beyond it", change("list", func(o *results.Op) { o.Count = 298 }), objective("list", "p99", "<", 9*msf), results.Unclear, CodeTooFew, ""},
		{"few for p99, with p90 beyond it", change("list", func(o *results.Op) { o.Count = 298 }), objective("list", "p99", "<", msf), results.Missed, CodeBeyondBound, ""},
		{"few for p50", change("list", func(o *results.Op) { o.Count = 4 }), objective("list", "p50", "<", 2*msf), results.Unclear, CodeTooFew, ""},
		{"none", change("list", func(o *results.Op) { o.Count = 0 }), objective("list", "max", "<", 90*msf), results.Unclear, CodeTooFew, ""},
		{"few for errors", change("list", func(o *results.Op) { o.Count = 2994 }), objective("list", "errors", "<", 0.001), results.Unclear, CodeTooFew, "needs 2995"},

		// The client's delays are not part of a latency.
		{"the client's delays do not decide", change("list", func(o *results.Op) {
			o.Latency = &results.Latency{P50: ms, P90: 2 * ms, P99: 95 * ms / 10}
		}), objective("list", "p99", "<", 9.8*msf), results.Met, "", ""},
		{"failures decide", change("list", func(o *results.Op) {
			o.Latency, o.Due = &results.Latency{P50: ms, P90: 2 * ms, P99: 95 * ms / 10}, &results.Latency{P99: 500 * ms}
		}), objective("list", "p99", "<", 11*msf), results.Missed, CodeBeyondBound, ""},
		{"invalid", func(c *results.Cell) { c.Client.CPUShare = 0.95 }, objective("list", "p99", "<", 9*msf), results.Unclear, CodeClientDecides, "the result is invalid"},

		{"not offered", nothing, objective("purge", "p99", "<", msf), results.NoSuch, CodeNoOperation, ""},
		{"a population that the model cannot hold", func(c *results.Cell) { c.Evidence.NotOffered = "no" }, objective("list", "p99", "<", msf), results.NoSuch, CodeNoOperation, ""},
		{"a phase that did not begin", func(c *results.Cell) { c.Ops, c.Error = nil, "disk full" }, objective("list", "p99", "<", msf), results.Unclear, CodeNoFigure, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := served()
			c.change(cell)
			Apply(cell, nil)
			got := Objectives(cell, []results.Objective{c.o})
			if len(got) != 1 || got[0].Verdict != c.verdict || got[0].Code != c.code || !strings.Contains(got[0].Text, c.text) {
				t.Errorf("%+v, want %s %s %q", got, c.verdict, c.code, c.text)
			}
			if c.code != "" && !slices.Contains(rows, entry{c.code, string(c.verdict)}) {
				t.Errorf("docs/results.md does not say that %s gives %s", c.code, c.verdict)
			}
		})
	}
}

// A threshold of one model, engine or phase replaces the general one, and an
// operation that a phase does not have has none.
func TestObjectivesThatHold(t *testing.T) {
	with := func(o results.Objective, model, engine, phase string) results.Objective {
		o.Model, o.Engine, o.Phase = model, engine, phase
		return o
	}
	p99 := objective("list", "p99", "<", 1)
	all := []results.Objective{
		p99, objective("raw", "p99", "<", 1), objective("", "errors", "<", 0.1),
		with(objective("list", "p99", "<", 1e12), "james", "cassandra", "measure"),
		with(p99, "oracle", "", ""), with(p99, "", "hbase", ""), with(p99, "", "", "other"),
	}
	c := served()
	Apply(c, nil)
	got := Objectives(c, all)
	if len(got) != 2 || got[0].Objective != "errors" || got[1].Objective != "list.p99" || got[1].Verdict != results.Met {
		t.Errorf("%+v", got)
	}
	if again := Objectives(c, all); !reflect.DeepEqual(got, again) {
		t.Errorf("judged again: %+v", again)
	}
	c.Kind = results.KindWarmup
	if got := Objectives(c, all); got != nil {
		t.Errorf("a warm-up has objectives: %+v", got)
	}
}

// A threshold of a stream is for that stream's metrics, and no other.
func TestObjectivesOfStreams(t *testing.T) {
	of := func(stream, op, figure, sign string, bound float64) results.Objective {
		o := objective(op, figure, sign, bound)
		o.Stream = stream
		return o
	}
	all := []results.Objective{
		objective("list", "p99", "<", 1e9), of("readers", "list", "p99", "<", 1e9), of("inbound", "list", "p99", "<", 1e9),
		of("inbound", "", "errors", "<", 0.01), of("inbound", "", "achieved", ">=", 0.999), of("readers", "", "achieved", ">=", 0.999),
		of("readers", "", "wait.p50", "<", 1e9), of("readers", "", "p50", "<", 1.5*float64(ms)), of("others", "", "p50", "<", 1),
	}
	c := served()
	slow := c.Ops["list"]
	slow.Response.P99, slow.Failed = 2e9, 900
	delayed := *c.AllOps
	delayed.Response.P50, delayed.Latency, delayed.Due = 2*ms, &results.Latency{P50: ms}, nil
	c.Streams = []results.Stream{
		{
			Name: "readers", Arrivals: "poisson", Offered: results.Offered{Due: 50000, Span: 30, Rate: 1666, Achieved: 1666}, AllOps: &delayed,
			Ops: map[string]results.Op{"list": c.Ops["list"], "open": c.Ops["open"]},
		},
		{
			Name: "inbound", Arrivals: "poisson", Offered: results.Offered{Due: 9000, Span: 30, Rate: 300, Achieved: 290, LastStart: 60},
			AllOps: c.AllOps, Ops: map[string]results.Op{"list": slow},
		},
	}
	Apply(c, nil)
	if c.Verdict != results.Overloaded || !strings.Contains(c.Reason.Text, "stream inbound: achieved 290/s of the offered 300/s") {
		t.Errorf("a stream that is behind is %s: %+v", c.Verdict, c.Reason)
	}
	var got []string
	for _, a := range Objectives(c, all) {
		got = append(got, fmt.Sprint(a.Objective, " ", a.Verdict, " ", a.Code))
	}
	want := []string{
		"list.p99 met ", "readers/list.p99 met ", "inbound/list.p99 missed beyond-bound", "inbound/errors missed beyond-bound",
		"inbound/achieved missed beyond-bound", "readers/achieved met ", "readers/wait.p50 met ", "readers/p50 met ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
