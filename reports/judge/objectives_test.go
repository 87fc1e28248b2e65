package judge

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
)

// served is a healthy cell with figures of two operations and of all together.
func served() *reports.Cell {
	c := healthy()
	lat := func(p50 int64) reports.Latency {
		return reports.Latency{P50: p50, P90: 2 * p50, P99: 10 * p50, P999: 20 * p50, Max: 50 * p50, Mean: float64(p50)}
	}
	op := func(n int64) reports.Op {
		return reports.Op{Count: n, Support: reports.Native, Rate: float64(n) / 30, Response: lat(ms), Service: lat(ms / 2), Lag: lat(ms / 20)}
	}
	c.Ops = map[string]reports.Op{"open": op(50000), "list": op(10000), "purge": {Support: reports.NotOffered}}
	c.AllOps = &reports.AllOps{Response: lat(ms), Service: lat(ms / 2), Lag: lat(ms / 20)}
	c.Evidence.Delays = &reports.Delays{Response: lat(ms), Undelayed: lat(ms)}
	return c
}

// objective makes one of a text such as "list.p99 < 20ms".
func objective(op, figure, sign string, bound float64) reports.Objective {
	return reports.Objective{Op: op, Figure: figure, Sign: sign, Bound: bound, Text: sign + "X"}
}

// Every kind of gate is seen to be kept, to fail, and to be unclear where too little is
// known.
func TestObjectives(t *testing.T) {
	const msf = float64(ms)
	change := func(name string, f func(*reports.Op)) func(*reports.Cell) {
		return func(c *reports.Cell) {
			o := c.Ops[name]
			f(&o)
			c.Ops[name] = o
		}
	}
	nothing := func(*reports.Cell) {}
	for _, c := range []struct {
		name    string
		change  func(*reports.Cell)
		o       reports.Objective
		verdict reports.Attainment
		code    reports.Code
		text    string
	}{
		{"p50", nothing, objective("list", "p50", "<", 1.1*msf), reports.Met, "", ""},
		{"p50 missed", nothing, objective("list", "p50", "<", msf), reports.Missed, CodeBeyondBound, "it is 1.00ms"},
		{"p50 at most", nothing, objective("list", "p50", "<=", msf), reports.Met, "", ""},
		{"p90 missed", nothing, objective("list", "p90", "<=", msf), reports.Missed, CodeBeyondBound, ""},
		{"p99", nothing, objective("list", "p99", "<", 11*msf), reports.Met, "", ""},
		{"p99 missed", nothing, objective("list", "p99", "<", 9*msf), reports.Missed, CodeBeyondBound, ""},
		{"p99.9 missed", nothing, objective("open", "p99.9", "<", 19*msf), reports.Missed, CodeBeyondBound, ""},
		{"max missed", nothing, objective("open", "max", "<", 50*msf), reports.Missed, CodeBeyondBound, ""},
		{"mean missed", nothing, objective("open", "mean", "<", msf), reports.Missed, CodeBeyondBound, ""},
		{"mean at least", nothing, objective("open", "mean", ">=", msf), reports.Met, "", ""},
		{"all together", nothing, objective("", "p99", "<", 11*msf), reports.Met, "", ""},
		{"all together missed", nothing, objective("", "p99", "<", 9*msf), reports.Missed, CodeBeyondBound, ""},
		{"service", nothing, objective("list", "service.p99", "<", 6*msf), reports.Met, "", ""},
		{"service missed", nothing, objective("list", "service.p99", "<", 4*msf), reports.Missed, CodeBeyondBound, ""},
		{"lag", nothing, objective("", "lag.p99", "<", msf), reports.Met, "", ""},
		{"lag missed", nothing, objective("", "lag.p99", "<", msf/4), reports.Missed, CodeBeyondBound, ""},
		{"lag of a closed loop", func(c *reports.Cell) { c.Arrivals = "closed" }, objective("", "lag.p99", "<", msf), reports.Unclear, CodeNoFigure, ""},
		{"rate", nothing, objective("list", "rate", ">", 333), reports.Met, "", ""},
		{"rate missed", nothing, objective("list", "rate", ">", 334), reports.Missed, CodeBeyondBound, ""},
		{"rate of all missed", nothing, objective("", "rate", ">=", 2001), reports.Missed, CodeBeyondBound, ""},
		{"achieved", nothing, objective("", "achieved", ">=", 0.99), reports.Met, "", ""},
		{"achieved missed", func(c *reports.Cell) { c.Offered.Achieved, c.Offered.LastStart = 1900, 32 }, objective("", "achieved", ">=", 0.99), reports.Missed, CodeBeyondBound, "it is 95%"},
		{"achieved, with a pause at the very end", func(c *reports.Cell) { c.Offered.Achieved, c.Offered.LastStart = 1900, 30.2 }, objective("", "achieved", ">=", 0.99), reports.Met, "", ""},
		{"achieved of a closed loop", func(c *reports.Cell) { c.Arrivals = "closed" }, objective("", "achieved", ">=", 0.99), reports.Unclear, CodeNoFigure, ""},

		{"errors", nothing, objective("", "errors", "<", 0.001), reports.Met, "", ""},
		{"errors missed by failures", change("list", func(o *reports.Op) { o.Failed = 100 }), objective("list", "errors", "<", 0.001), reports.Missed, CodeBeyondBound, "it is 0.99%"},
		{"errors missed by unknown outcomes", change("list", func(o *reports.Op) { o.Unknown = 100 }), objective("", "errors", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"errors missed by drops", change("list", func(o *reports.Op) { o.Dropped = 100 }), objective("", "errors", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"failed missed", change("list", func(o *reports.Op) { o.Failed = 100 }), objective("", "failed", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"unknown missed", change("list", func(o *reports.Op) { o.Unknown = 100 }), objective("", "unknown", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"dropped missed", change("list", func(o *reports.Op) { o.Dropped = 100 }), objective("", "dropped", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"not-found missed", change("list", func(o *reports.Op) { o.NotFound = 100 }), objective("", "not-found", "<", 0.001), reports.Missed, CodeBeyondBound, ""},
		{"no failure at all", nothing, objective("", "failed", "<=", 0), reports.Met, "", ""},

		// Failing fast is not fast, and what was dropped took for ever.
		{"p99 missed by failures", change("list", func(o *reports.Op) {
			o.Failed, o.Due = 300, &reports.Latency{P50: ms, P99: 500 * ms}
		}), objective("list", "p99", "<", 20*msf), reports.Missed, CodeBeyondBound, "it is 500ms"},
		{"p99 missed by drops", change("list", func(o *reports.Op) {
			o.Dropped, o.Due = 300, &reports.Latency{P50: ms, P99: reports.NeverEnded}
		}), objective("list", "p99", "<", 20*msf), reports.Missed, CodeBeyondBound, "it is never"},

		// Too few operations do not pass in silence.
		{"few for p99", change("list", func(o *reports.Op) { o.Count = 298 }), objective("list", "p99", "<", 11*msf), reports.Unclear, CodeTooFew, "takes 299 operations to tell, and there were 298"},
		{"few for p99, beyond it", change("list", func(o *reports.Op) { o.Count = 298 }), objective("list", "p99", "<", 9*msf), reports.Unclear, CodeTooFew, ""},
		{"few for p99, with p90 beyond it", change("list", func(o *reports.Op) { o.Count = 298 }), objective("list", "p99", "<", msf), reports.Missed, CodeBeyondBound, ""},
		{"few for p50", change("list", func(o *reports.Op) { o.Count = 4 }), objective("list", "p50", "<", 2*msf), reports.Unclear, CodeTooFew, ""},
		{"none", change("list", func(o *reports.Op) { o.Count = 0 }), objective("list", "max", "<", 90*msf), reports.Unclear, CodeTooFew, ""},
		{"few for errors", change("list", func(o *reports.Op) { o.Count = 2994 }), objective("list", "errors", "<", 0.001), reports.Unclear, CodeTooFew, "takes 2995"},

		// Whose delays they are.
		{"the client's delays decide", func(c *reports.Cell) { c.Evidence.Delays.Undelayed.P99 = 95 * ms / 10 }, objective("", "p99", "<", 9.8*msf), reports.Unclear, CodeClientDecides, "it would be 9.50ms"},
		{"the client's delays do not decide", func(c *reports.Cell) { c.Evidence.Delays.Undelayed.P99 = 95 * ms / 10 }, objective("", "p99", "<", 9.4*msf), reports.Missed, CodeBeyondBound, ""},
		{"the client's delays decide of an operation", change("list", func(o *reports.Op) {
			o.Undelayed = &reports.Latency{P50: ms, P90: 2 * ms, P99: 95 * ms / 10}
		}), objective("list", "p99", "<", 9.8*msf), reports.Unclear, CodeClientDecides, ""},
		{"failures decide, not the client's delays", change("list", func(o *reports.Op) {
			o.Undelayed, o.Due = &reports.Latency{P50: ms, P90: 2 * ms, P99: 95 * ms / 10}, &reports.Latency{P99: 500 * ms}
		}), objective("list", "p99", "<", 11*msf), reports.Missed, CodeBeyondBound, ""},
		{"invalid", func(c *reports.Cell) { c.Client.CPUShare = 0.95 }, objective("list", "p99", "<", 11*msf), reports.Unclear, CodeClientDecides, "the cell is invalid"},

		{"not offered", nothing, objective("purge", "p99", "<", msf), reports.NoSuch, CodeNoOperation, ""},
		{"a population that the model cannot hold", func(c *reports.Cell) { c.Evidence.NotOffered = "no" }, objective("list", "p99", "<", msf), reports.NoSuch, CodeNoOperation, ""},
		{"a phase that did not begin", func(c *reports.Cell) { c.Ops, c.Error = nil, "disk full" }, objective("list", "p99", "<", msf), reports.Unclear, CodeNoFigure, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := served()
			c.change(cell)
			Apply(cell)
			got := Objectives(cell, []reports.Objective{c.o})
			if len(got) != 1 || got[0].Verdict != c.verdict || got[0].Code != c.code || !strings.Contains(got[0].Text, c.text) {
				t.Errorf("%+v, want %s %s %q", got, c.verdict, c.code, c.text)
			}
		})
	}
}

// What is said of one model, engine or phase replaces what is said of all, and an
// operation that a phase does not have is not asked for.
func TestObjectivesThatHold(t *testing.T) {
	with := func(o reports.Objective, model, engine, phase string) reports.Objective {
		o.Model, o.Engine, o.Phase = model, engine, phase
		return o
	}
	p99 := objective("list", "p99", "<", 1)
	all := []reports.Objective{
		p99, objective("raw", "p99", "<", 1), objective("", "errors", "<", 0.1),
		with(objective("list", "p99", "<", 1e12), "james", "cassandra", "measure"),
		with(p99, "oracle", "", ""), with(p99, "", "hbase", ""), with(p99, "", "", "other"),
	}
	c := served()
	Apply(c)
	got := Objectives(c, all)
	if len(got) != 2 || got[0].Objective != "errors" || got[1].Objective != "list.p99" || got[1].Verdict != reports.Met {
		t.Errorf("%+v", got)
	}
	if again := Objectives(c, all); !reflect.DeepEqual(got, again) {
		t.Errorf("judged again: %+v", again)
	}
	c.Kind = reports.KindWarmup
	if got := Objectives(c, all); got != nil {
		t.Errorf("a warm-up has objectives: %+v", got)
	}
}

// A bound of a stream is of that stream's figures, and no other.
func TestObjectivesOfStreams(t *testing.T) {
	of := func(stream, op, figure, sign string, bound float64) reports.Objective {
		o := objective(op, figure, sign, bound)
		o.Stream = stream
		return o
	}
	all := []reports.Objective{
		objective("list", "p99", "<", 1e9), of("readers", "list", "p99", "<", 1e9), of("inbound", "list", "p99", "<", 1e9),
		of("inbound", "", "errors", "<", 0.01), of("inbound", "", "achieved", ">=", 0.999), of("readers", "", "achieved", ">=", 0.999),
		of("readers", "", "lag.p50", "<", 1e9), of("readers", "", "p50", "<", 1.5*float64(ms)), of("others", "", "p50", "<", 1),
	}
	c := served()
	slow := c.Ops["list"]
	slow.Response.P99, slow.Failed = 2e9, 900
	delayed := *c.AllOps
	delayed.Response.P50, delayed.Due = 2*ms, nil
	c.Streams = []reports.Stream{
		{
			Name: "readers", Arrivals: "poisson", Offered: reports.Offered{Due: 50000, Span: 30, Rate: 1666, Achieved: 1666}, AllOps: &delayed,
			Undelayed: &reports.Latency{P50: ms}, Ops: map[string]reports.Op{"list": c.Ops["list"], "open": c.Ops["open"]},
		},
		{
			Name: "inbound", Arrivals: "poisson", Offered: reports.Offered{Due: 9000, Span: 30, Rate: 300, Achieved: 290, LastStart: 60},
			AllOps: c.AllOps, Ops: map[string]reports.Op{"list": slow},
		},
	}
	Apply(c)
	if c.Verdict != reports.Overloaded || !strings.Contains(c.Reason.Text, "stream inbound: only 290/s of the offered 300/s") {
		t.Errorf("a stream that is behind is %s: %+v", c.Verdict, c.Reason)
	}
	var got []string
	for _, a := range Objectives(c, all) {
		got = append(got, fmt.Sprint(a.Objective, " ", a.Verdict, " ", a.Code))
	}
	want := []string{
		"list.p99 met ", "readers/list.p99 met ", "inbound/list.p99 missed beyond-bound", "inbound/errors missed beyond-bound",
		"inbound/achieved missed beyond-bound", "readers/achieved met ", "readers/lag.p50 met ", "readers/p50 unclear client-decides",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestObjectiveCodesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ObjectiveCodes() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", e.Code, e.Verdict, e.Doc); !strings.Contains(string(b), row) {
			t.Errorf("docs/results.md lacks %s", row)
		}
	}
}
