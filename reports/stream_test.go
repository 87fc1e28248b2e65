package reports

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// streamed is the sample with streams in the measured phase of one model.
func streamed() *results.Run {
	r := sample()
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Kind != results.KindMeasure || c.Model != "james" || len(c.Timeline) == 0 {
			continue
		}
		c.Verdict, c.Reason = results.OK, nil
		due := results.Latency{P50: 3_000_000, P90: 4_000_000, P99: 5_000_000, P999: results.NeverEnded, Max: results.NeverEnded, Mean: results.NeverEnded}
		few := results.Op{Count: 5, Support: results.Native, Times: results.Times{Response: results.Latency{P50: 1000}}}
		c.Streams = []results.Stream{
			{
				Name: "readers", Arrivals: "poisson", Rate: 450,
				Offered: results.Offered{Due: 15007, Skipped: 2, Dropped: 40, Span: 30, Rate: 450.5, Achieved: 449.5},
				AllOps:  &results.Times{Due: &due}, Ops: map[string]results.Op{"list": {Count: 14965, Dropped: 40, Support: results.Native, Times: results.Times{Due: &due}}},
			},
			{
				Name: "inbound", Arrivals: "poisson", Rate: 1, Offered: results.Offered{Due: 5, Span: 30, Rate: 0.17, Achieved: 0.17},
				AllOps: &results.Times{Response: few.Response}, Ops: map[string]results.Op{"deliver": few, "list": few},
			},
		}
	}
	return r
}

// Every form of a run has the metrics of its streams.
func TestStreamsAreReported(t *testing.T) {
	r := streamed()
	fitsSchema(t, r)
	text := writtenOf(t, r, func(w io.Writer, r *results.Run) error { return writeText(w, r, 120) })
	for _, want := range []string{
		`(?m)^MEASURE, STREAM READERS: LATENCY  open loop, 450/s poisson; latency from the scheduled start;`,
		`(?m)^list\njames +15000 +0\.25 +0\.50 +1\.25`,
		`(?m)^MEASURE, STREAM INBOUND: LATENCY  open loop, 1/s poisson`,
		`(?m)^deliver\njames +5 `,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the text has no %s:\n%s", want, text)
		}
	}
	markdown := writtenOf(t, r, writeMarkdown)
	if want := "<summary>measure, stream readers: latency</summary>"; !strings.Contains(markdown, want) {
		t.Errorf("the Markdown has no %s:\n%s", want, markdown)
	}
}

// The streams are those of all cells: the first one may have failed. The gap is that of the phase, and not of a stream.
func TestStreamsOfSomeCells(t *testing.T) {
	r := streamed()
	first := r.Select((*results.Cell).Measured)[0]
	first.Streams, first.Verdict = nil, results.Failed
	second := *first
	second.Trial, second.Streams = 2, streamed().Select((*results.Cell).Measured)[0].Streams
	second.Gap, second.Evidence = &results.Gap{Seconds: 20, At: 3}, nil
	r.Cells = append(r.Cells, second)
	text := writtenOf(t, r, func(w io.Writer, r *results.Run) error { return writeText(w, r, 120) })
	if !strings.Contains(text, "MEASURE, STREAM READERS: LATENCY") {
		t.Errorf("it has no streams:\n%s", text)
	}
	if n := strings.Count(text, "operation: 20.0 s"); n != 1 {
		t.Errorf("the gap is there %d times:\n%s", n, text)
	}
}

// An operation of one stream only is in the log once, under its own name.
func TestTags(t *testing.T) {
	c := results.Cell{Streams: []results.Stream{
		{Name: "a", Ops: map[string]results.Op{"list": {}, "open": {}}}, {Name: "b", Ops: map[string]results.Op{"list": {}}},
	}}
	got := []string{c.Tagged(&c.Streams[0], "list"), c.Tagged(&c.Streams[0], "open"), c.Tagged(&c.Streams[1], "list")}
	if want := []string{"a:list", "open", "b:list"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func writtenOf(t *testing.T, r *results.Run, write func(io.Writer, *results.Run) error) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeText writes all of the run for a terminal of that width, without colors.
func writeText(w io.Writer, r *results.Run, width int) error {
	return Text{Width: width, Full: true}.Write(w, r)
}
