package page

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/results"
)

// Times that no other figure of a run looks like. Ideal are those without the client's delays.
var (
	telling = results.Latency{P50: 61_100_000, P90: 72_200_000, P99: 83_300_000, P999: 94_400_000, Max: 95_500_000, Mean: 66.6e6}
	ideal   = results.Latency{P50: 31_100_000, P90: 32_200_000, P99: 33_300_000, P999: 34_400_000, Max: 35_500_000, Mean: 36.6e6}
	sound   = results.Latency{P50: 11_700_000, P90: 12_700_000, P99: 13_300_000, P999: 14_700_000, Max: 15_700_000, Mean: 16.7e6}
)

// told finds a time of telling or ideal in an output: as people read it, or in nanoseconds. Quantiles
// and windows have 41.1ms and more.
var told = regexp.MustCompile(`\b(61\.1|72\.2|83\.3|94\.4|95\.5|66\.6|31\.1|32\.2|33\.3|34\.4|35\.5|36\.6|4\d\.\d)ms|` +
	`\b(611|722|833|944|955|666|311|322|333|344|355|366)00000\b`)

// measured is a trial whose every time is l. The client delayed it if delayed is set.
func measuredWith(trial int, l results.Latency, delayed *results.Latency) results.Cell {
	due := l
	due.P50, due.P99, due.P999 = 2*l.P50, 3*l.P99, results.NeverEnded
	op := func() results.Op {
		o := results.Op{
			Count: 15000, Failed: 300, Dropped: 30, Support: results.Native, Rate: 500, Response: l, Service: l, Lag: l,
			Undelayed: delayed, Least: delayed,
			Store:  results.StoreCost{Calls: 2, RowsRead: 25, BytesRead: 12_345, Throttled: 0.5, Backoff: float64(l.P50)},
			Errors: []results.ErrorCount{{Text: "refused", Count: 300}},
		}
		for range results.QuantileShares {
			o.Quantiles = append(o.Quantiles, l.P50)
		}
		return o
	}
	slow := op()
	slow.Due = &due
	all := &results.AllOps{Response: l, Service: l, Lag: l}
	c := results.Cell{
		Key:  results.Key{Model: "james", Engine: "embedded", Phase: "measure", Trial: trial, Shard: 1},
		Kind: results.KindMeasure, Started: "2026-11-21T05:28:31Z", Ended: "2026-11-21T05:29:01Z", Seconds: 30,
		Arrivals: "poisson", Rate: 1000, Durability: "process",
		Ops: map[string]results.Op{"list": op(), "open": slow}, AllOps: all,
		Streams: []results.Stream{{
			Name: "readers", Arrivals: "poisson", Rate: 500, Offered: results.Offered{Due: 15000, Span: 30, Rate: 500, Achieved: 500},
			AllOps: all, Undelayed: delayed, Least: delayed, Ops: map[string]results.Op{"list": op()},
		}},
		Offered: &results.Offered{Due: 30000, Span: 30, LastStart: 30, Rate: 1000, Achieved: 1000},
		Client:  &results.ClientInfo{Workers: 8, Processors: 2, Capacity: 2, CPUShare: 0.2},
		Evidence: &results.Evidence{
			Settled: true, Warm: true, Started: 30000, Hiccups: &results.Hiccups{Total: 1e9},
			Delays: &results.Delays{Operations: 9000, Response: l, Undelayed: l},
		},
	}
	if delayed != nil {
		c.Evidence.Delays.Undelayed = *delayed
	}
	for i := range 10 {
		of := results.OpInterval{OK: 1000, P50: l.P50, P99: l.P99, Max: l.Max}
		c.Timeline = append(c.Timeline, results.Interval{
			At: 3 * float64(i), Seconds: 3, OK: 2000, P50: l.P50, P99: l.P99, Max: l.Max,
			Ops: map[string]results.OpInterval{"list": of, "open": of}, Streams: map[string]results.OpInterval{"readers": of},
		})
		if delayed != nil { // a trend
			c.Evidence.Windows = append(c.Evidence.Windows, float64(41_100_000+800_000*i))
		}
	}
	return c
}

// judgedRun is a run of these trials with bounds and a search, as a run judges it and run.json has it.
func judgedRun(t *testing.T, cells ...results.Cell) *results.Run {
	t.Helper()
	r := &results.Run{
		Format: results.Format, Workload: results.Workload{Name: "telling"}, Started: "2026-11-21T05:28:00Z", Seconds: 60,
		Objectives: []results.Objective{
			{Op: "list", Figure: "p99", Sign: "<", Bound: 200e6, Text: "<200ms"},
			{Op: "list", Figure: "p50", Sign: "<", Bound: 50e6, Text: "<50ms"},
			{Op: "list", Figure: "service.p99", Sign: "<", Bound: 50e6, Text: "<50ms"},
		},
		Cells: cells,
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		judge.Apply(c)
		c.Objectives = judge.Objectives(c, r.Objectives)
	}
	r.Searches = []results.Search{{
		Arrivals: "poisson", Key: cells[0].Key, From: 1000, Max: 4000, Precision: 0.1, Unfinished: "interrupted",
	}}
	for i, rate := range []float64{1000, 2000, 4000} {
		r.Searches[0].Steps = append(r.Searches[0].Steps,
			results.SearchStep{Rate: rate, Verdict: results.StepClient, Cell: r.Cells[i%len(r.Cells)]})
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := results.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// writers are all forms of a run but run.json, which has all that was measured.
var writers = map[string]func(w io.Writer, r *results.Run) error{
	"short text": func(w io.Writer, r *results.Run) error { return reports.Text{Width: 160}.Write(w, r) },
	"text":       func(w io.Writer, r *results.Run) error { return reports.Text{Width: 160, Full: true}.Write(w, r) },
	"Markdown":   reports.WriteMarkdown,
	"JUnit":      reports.WriteJUnit,
	"bench":      reports.WriteBench,
	"CSV":        reports.WriteCSV,
	"page":       func(w io.Writer, r *results.Run) error { return Write(w, Source{Name: "one", Run: r}) },
	"several runs": func(w io.Writer, r *results.Run) error {
		return Write(w, Source{Name: "one", Run: r}, Source{Name: "two", Run: r})
	},
}

// TestInvalidHasNoTimes: an invalid cell prints no time anywhere, and what was counted. A bound that
// it keeps all the same is said to be one.
func TestInvalidHasNoTimes(t *testing.T) {
	for name, write := range writers {
		text := func(cells ...results.Cell) string {
			var b bytes.Buffer
			if err := write(&b, judgedRun(t, cells...)); err != nil {
				t.Fatal(err)
			}
			return strings.ReplaceAll(b.String(), "≤83.3ms", "")
		}
		if ok := text(measuredWith(1, telling, nil)); !told.MatchString(ok) && name != "JUnit" {
			t.Errorf("%s tells no time of a sound cell, so this test does not see where they are:\n%s", name, ok)
		}
		invalid := text(measuredWith(1, telling, &ideal))
		if at := told.FindStringIndex(invalid); at != nil {
			t.Errorf("%s has a time of an invalid cell: …%s…", name, invalid[max(0, at[0]-80):min(len(invalid), at[1]+40)])
		}
		if head := "withheld  all times (client-delays) [all]\n"; name == "short text" && !strings.Contains(invalid, head) {
			t.Errorf("%s does not say %q:\n%s", name, head, invalid)
		}
		if !strings.Contains(invalid, "nvalid") && !strings.Contains(invalid, "INVALID") {
			t.Errorf("%s does not say that the cell is invalid:\n%s", name, invalid)
		}
	}
}

// TestSoundTrialsStay: an invalid trial takes no times from the sound ones, whichever comes first.
func TestSoundTrialsStay(t *testing.T) {
	for name, write := range writers {
		for order, cells := range map[string][]results.Cell{
			"first": {measuredWith(1, telling, &ideal), measuredWith(2, sound, nil), measuredWith(3, sound, nil)},
			"last":  {measuredWith(1, sound, nil), measuredWith(2, sound, nil), measuredWith(3, telling, &ideal)},
		} {
			var b bytes.Buffer
			r := judgedRun(t, cells...)
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(b.String(), "≤83.3ms", "")
			if at := told.FindStringIndex(text); at != nil {
				t.Errorf("%s, invalid trial %s: a time of it: …%s…", name, order, text[max(0, at[0]-80):min(len(text), at[1]+40)])
			}
			if want := regexp.MustCompile(`11\.7ms|11700000`); !want.MatchString(text) && name != "JUnit" {
				t.Errorf("%s, invalid trial %s: no p50 of the sound trials:\n%s", name, order, text)
			}
			for _, prints := range []string{"text", "Markdown", "page"} {
				if name == prints && !strings.Contains(text, "figures of 2 of 3 trials") {
					t.Errorf("%s, invalid trial %s: it does not say that one is left out:\n%s", name, order, text)
				}
			}
		}
	}
}
