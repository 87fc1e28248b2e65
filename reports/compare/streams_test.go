package compare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/results"
)

// streamed are two sides whose phase runs two streams: both list, and one alone delivers.
func streamed(n int) (base, new Side) {
	base, new = pairOf(n)
	for _, s := range []Side{base, new} {
		for i := range s.Runs[0].Cells {
			c := &s.Runs[0].Cells[i]
			slower := int64(1000 * i)
			deliver := op(500, 400_000+slower, 4_000_000+slower)
			c.Ops = map[string]results.Op{"list": op(3000, 200_000+slower, 2_000_000+slower), "deliver": deliver}
			c.Streams = []results.Stream{
				{Name: "readers", Arrivals: "poisson", Ops: map[string]results.Op{"list": op(2000, 200_000+slower, 2_000_000+slower)}},
				{Name: "crawler", Arrivals: "poisson", Ops: map[string]results.Op{"list": op(1000, 210_000+slower, 2_100_000+slower)}},
				{Name: "inbound", Arrivals: "poisson", Ops: map[string]results.Op{"deliver": deliver}},
			}
		}
	}
	return base, new
}

// changeStream applies a change to an operation of a stream of all trials.
func changeStream(s Side, stream, name string, to func(o *results.Op)) {
	for i := range s.Runs[0].Cells {
		ops := s.Runs[0].Cells[i].Alone(stream).Ops
		o := ops[name]
		to(&o)
		ops[name] = o
	}
}

// judged are the metrics of a comparison with a verdict, as STREAM:OPERATION.METRIC.
func judged(c *Comparison, v Verdict) (all []string) {
	for i := range c.Cells[0].Figures {
		if f := &c.Cells[0].Figures[i]; f.Verdict == v {
			all = append(all, f.of.String()+"."+f.Name)
		}
	}
	return all
}

// A change in one stream only is found and named in all forms, and an operation of one stream only
// is there once.
func TestStreams(t *testing.T) {
	base, fresh := streamed(10)
	changeStream(fresh, "readers", "list", func(o *results.Op) { o.Response.P99, o.Store.Requests = o.Response.P99*2, 3 })
	c := compared(t, base, fresh, "*", false)
	if got, want := judged(c, Worse), []string{"readers:list.p99", "readers:list.requests"}; !slices.Equal(got, want) {
		t.Errorf("worse: %q, want %q", got, want)
	}
	if want := []string{"james/embedded/measure readers:list.p99", "james/embedded/measure readers:list.requests"}; !slices.Equal(c.Regressions, want) {
		t.Errorf("regressions: %q, want %q", c.Regressions, want)
	}
	var names []string
	for i := range c.Cells[0].Figures {
		if f := &c.Cells[0].Figures[i]; f.Name == "requests" {
			names = append(names, f.of.String())
		}
	}
	if want := []string{"list", "readers:list", "crawler:list", "inbound:deliver"}; !slices.Equal(names, want) {
		t.Errorf("operations %q, want %q", names, want)
	}
	var wide, narrow, markdown, js bytes.Buffer
	for _, err := range []error{
		text(c, &wide, 80, false), text(c, &narrow, 60, true), document.WriteMarkdown(&markdown, c.Document()), json.NewEncoder(&js).Encode(c),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []struct{ name, text, want string }{
		{"text", wide.String(), "\nreaders:list p99      2.00ms 4.01ms 2.000 "},
		{"narrow text", narrow.String(), "\ninbound:deliver errors "},
		{"Markdown", markdown.String(), "| readers:list p99 | 2.00ms | 4.01ms |"},
		{"JSON", js.String(), `{"stream":"readers","op":"list","figure":"p99"`},
	} {
		if !strings.Contains(of.text, of.want) {
			t.Errorf("%s has no %q:\n%s", of.name, of.want, of.text)
		}
	}
}

// Gates name streams, with or without a limit; without a stream they hold for all of them.
func TestGatesOfStreams(t *testing.T) {
	for gates, want := range map[string]int{
		"readers:list.p99": 1, "readers:list.p99:50%": 1, "readers:p99": 1, "list.p99": 1, "james/embedded/read*:*.p9*:20%": 1,
		"crawler:list.p99": 0, "readers:list.p99:150%": 0, ":list.p99": 0, "*:p99": 1, "inbound:requests": 0,
	} {
		base, fresh := streamed(10)
		changeStream(fresh, "readers", "list", func(o *results.Op) { o.Response.P99 *= 2 })
		if c := compared(t, base, fresh, gates, false); len(c.Regressions) != want {
			t.Errorf("%s: regressions %q, want %d", gates, c.Regressions, want)
		}
	}
	gates, err := ParseGates("reader:list.p99")
	if err != nil {
		t.Fatal(err)
	}
	base, fresh := streamed(4)
	_, err = Runs(base, fresh, Options{Gates: gates})
	if err == nil || !strings.Contains(err.Error(), "reader:list.p99 matches no metric") || !strings.Contains(err.Error(), `unknown stream "reader"; did you mean "readers"?`) {
		t.Errorf("a stream that there is not: %v", err)
	}
}

// A stream or operation that only one side has is said, and the phase's metrics are compared all the same.
func TestStreamsOfOneSide(t *testing.T) {
	base, fresh := streamed(10)
	for i := range fresh.Runs[0].Cells {
		c := &fresh.Runs[0].Cells[i]
		c.Streams = c.Streams[:1]
		c.Streams[0].Name = "users"
		delete(c.Ops, "deliver")
	}
	c := compared(t, base, fresh, "*", true)
	want := []string{
		"only base executed deliver: not compared", "only base executed readers:list: not compared",
		"only base executed crawler:list: not compared", "only base executed inbound:deliver: not compared",
		"only new executed users:list: not compared",
	}
	if !slices.Equal(c.Cells[0].Notes, want) {
		t.Errorf("notes %q, want %q", c.Cells[0].Notes, want)
	}
	for i := range c.Cells[0].Figures {
		if f := &c.Cells[0].Figures[i]; f.Stream != "" || f.Verdict != Same {
			t.Errorf("%s.%s is %s", f.of, f.Name, f.Verdict)
		}
	}
}

// Percentiles of a stream of clients are compared, and its rate.
func TestStreamsOfClients(t *testing.T) {
	base, fresh := streamed(10)
	for _, s := range []Side{base, fresh} {
		for i := range s.Runs[0].Cells {
			s.Runs[0].Cells[i].Arrivals = "closed"
			for j := range s.Runs[0].Cells[i].Streams {
				s.Runs[0].Cells[i].Streams[j].Arrivals = "closed"
			}
		}
		changeStream(s, "readers", "list", func(o *results.Op) { o.Rate = 100 })
	}
	changeStream(fresh, "readers", "list", func(o *results.Op) { o.Rate, o.Response.P50 = 80, 2*o.Response.P50 })
	c := compared(t, base, fresh, "*", false)
	if got, want := judged(c, Worse), []string{"readers:list.p50", "readers:list.rate"}; !slices.Equal(got, want) {
		t.Errorf("worse: %q, want %q", got, want)
	}
}
