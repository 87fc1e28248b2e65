package reports

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// swept is a run that swept the messages of a folder: james is flat, oracle reads the whole
// folder, and datastax gave out at the third point. A login returns 3 rows in all models; james
// and oracle examine many more for them.
func swept() *results.Run {
	r := sample()
	for _, model := range []string{"james", "oracle"} {
		s, err := schemas.Bundled(model)
		if err != nil {
			panic(err)
		}
		r.Schemas = append(r.Schemas, results.Schema{Model: model, SHA256: digest, Text: string(s.Source)})
	}
	r.Cells, r.Searches, r.Audits, r.Interrupted = nil, nil, nil, false
	r.Sweep = &results.Sweep{Path: "population.messages"}
	for i, n := range []float64{100, 300, 1000, 3000, 10000} {
		value := fmt.Sprint(int(n))
		p := results.SweepPoint{Value: value, Size: n, SHA256: digest, Users: 1, Folders: 1, Messages: int(n)}
		for _, m := range []struct {
			name        string
			p50, rows   float64
			failed      bool
			partition   float64
			rowsDeviate float64
			login       float64 // rows scanned
			pattern     string
		}{
			{"james", 21e3 * (1 + 0.01*math.Mod(float64(i*7), 5)), 25, false, 700 * n, 0, 3 * n, "mailboxes_of"},
			{"oracle", 900 * n * (1 + 0.01*math.Mod(float64(i*3), 4)), n + 1, false, 1100 * n, 2, n, "scan_by_address"},
			{"datastax", 30e3, 26, i == 2, 4e6, 0, 3, "any_folder"},
		} {
			c := results.Cell{
				Key:  results.Key{Model: m.name, Engine: "embedded", Phase: "measure", Point: value, Trial: 1, Segment: 1},
				Kind: results.KindMeasure, Started: "2026-11-21T05:28:00Z", Ended: "2026-11-21T05:28:10Z", Seconds: 10,
				Arrivals: "closed", Clients: 1, Durability: "process", Verdict: results.OK, Doubts: []results.Doubt{}, Ops: map[string]results.Op{},
			}
			if m.failed {
				c.Verdict, c.Reason = results.Failed, &results.Reason{Code: "failed", Text: "disk full"}
			} else {
				ns := int64(m.p50)
				c.Ops["list"] = results.Op{
					Count: 1000, Support: results.Native, Rate: 100, Times: results.Times{Response: results.Latency{P50: ns, P90: ns, P99: ns, P999: ns, Max: ns, Mean: m.p50}},
					Store: results.StoreCost{Requests: 1, RowsRead: m.rows, RowsDeviation: m.rowsDeviate, BytesRead: 300 * m.rows},
				}
				login := results.Op{
					Count: 100, Support: results.Native, Rate: 10, Patterns: []results.PatternRequests{{Name: m.pattern, Requests: 1}},
					Times: results.Times{Response: results.Latency{P50: 40e3, P90: 40e3, P99: 40e3, P999: 40e3, Max: 40e3, Mean: 40e3}},
					Store: results.StoreCost{Requests: 1, RowsScanned: &m.login, RowsRead: 3, BytesRead: 90},
				}
				if m.name == "oracle" {
					login.Support, login.Fallback = results.EmulatedOp, "user_by_address"
				}
				c.Ops["login"] = login
			}
			r.Cells = append(r.Cells, c)
			p.Partitions = append(p.Partitions, results.Partition{Model: m.name, Engine: "embedded", Table: "t", Bytes: m.partition})
		}
		r.Sweep.Points = append(r.Sweep.Points, p)
	}
	r.Sweep.Growth = trials.Growths(r)
	return r
}

func TestGrowths(t *testing.T) {
	want := map[string]growth.Class{
		"james list p50": growth.Flat, "james list rows": growth.Flat, "james list requests": growth.Flat, "james partition size": growth.Linear,
		"oracle list p50": growth.Linear, "oracle list rows": growth.Linear, "oracle list bytes": growth.Linear, "oracle list requests": growth.Flat,
		"datastax list p50": growth.Flat, "datastax partition size": growth.Flat,
	}
	for _, g := range trials.Growths(swept()) {
		name := g.Model + " " + g.Op + " " + string(g.Figure)
		if c, ok := want[name]; ok && c != g.Class {
			t.Errorf("%s is %s, want %s: %+v", name, g.Class, c, g)
		}
		if n := len(g.Points); n != 5 && (g.Model != "datastax" || g.Phase == "" || n != 4) {
			t.Errorf("%s has %d points", name, n)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not fitted: %v", want)
	}
	if g := trials.Growths(sample()); g != nil {
		t.Errorf("a run without a sweep: %v", g)
	}
	// Trials of one point are put together: the median counts.
	r := swept()
	for _, c := range r.Cells {
		for trial, factor := range map[int]int64{2: 1, 3: 50} {
			one := c
			one.Trial, one.Ops = trial, map[string]results.Op{}
			for name, o := range c.Ops {
				o.Service.P50 *= factor
				one.Ops[name] = o
			}
			r.Cells = append(r.Cells, one)
		}
	}
	for _, g := range trials.Growths(r) {
		if g.Model == "james" && g.Op == "list" && g.Figure == results.P50 && (g.Points[0].Value != 21e3 || g.Class != growth.Flat) {
			t.Errorf("medians of trials: %+v", g)
		}
	}
}

func TestGrowthText(t *testing.T) {
	for _, width := range []int{60, 80, 100} {
		var buf bytes.Buffer
		if err := writeText(&buf, swept(), width); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("sweep-%d.txt", width), buf.Bytes())
	}
	for width := 80; width <= 130; width += 5 {
		var buf bytes.Buffer
		if err := writeText(&buf, swept(), width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(buf.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		text := strings.Join(strings.Fields(buf.String()), " ")
		for _, want := range []string{
			"oracle 0.090 0.28 0.92 2.73 9.00 linear 1.00 (0.99 to 1.01)", "The same at every size: list requests", "p50, ms",
			"Grows with population.messages: list of oracle (linear); login of james (linear), oracle (linear); largest partition of",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d columns the text does not say %q:\n%s", width, want, text)
			}
		}
	}
}

// TestScansAreNotFlat: a login that examines every mailbox is not called flat because it returns
// few rows. Models whose pattern is emulated are named.
func TestScansAreNotFlat(t *testing.T) {
	text := func(r *results.Run) string {
		var b bytes.Buffer
		if err := writeText(&b, r, 400); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	got := text(swept())
	for _, want := range []string{
		"login requests, login bytes", "fallback pattern: login of oracle (user_by_address)",
		"login datastax 3 3 - 3 3 no 0.00 (0.00 to 0.00) login oracle 100 300 1000 3000 10.0k linear 1.00 (1.00 to 1.00) login james 300",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the text does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "login rows") {
		t.Errorf("the rows that a scan returns are called flat:\n%s", got)
	}
	r := swept()
	for i := range r.Cells {
		if login := r.Cells[i].Ops["login"]; r.Cells[i].Model == "james" {
			login.Store.RowsScanned = nil
			r.Cells[i].Ops["login"] = login
		}
	}
	if got := text(r); strings.Contains(got, "login rows") {
		t.Errorf("nobody knows what james examines, and the rows that it returns are called flat:\n%s", got)
	}
	for i := range r.Cells { // no model reports them
		login := r.Cells[i].Ops["login"]
		login.Store.RowsScanned = nil
		r.Cells[i].Ops["login"] = login
	}
	if got := text(r); !strings.Contains(got, "login rows") {
		t.Errorf("the rows returned are not called flat:\n%s", got)
	}
}

// A time of an operation whose counters are the same at every size is not among the inconclusive metrics.
func TestInconclusiveTimes(t *testing.T) {
	r := swept()
	for i := range r.Cells {
		for _, name := range []string{"login", "list"} {
			o := r.Cells[i].Ops[name]
			o.Times.Response.P50 = []int64{40e3, 400e3, 20e3, 900e3, 10e3}[i/3]
			r.Cells[i].Ops[name] = o
			if name == "login" {
				o.Store.RowsScanned = nil
				r.Cells[i].Ops[name] = o
			}
		}
	}
	var b bytes.Buffer
	if err := writeText(&b, r, 200); err != nil {
		t.Fatal(err)
	}
	if want := "Inconclusive: the growth of 3 of 24 metrics"; !strings.Contains(b.String(), want) {
		t.Errorf("not %q:\n%s", want, b.String())
	}
}

func TestGrowthInOtherFormats(t *testing.T) {
	r := swept()
	fitsSchema(t, r)
	var b bytes.Buffer
	if err := writeMarkdown(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"measure: cost against", "| p50, ms | list | james | 0.021 |", "| rows scanned per operation | login | oracle | 100 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the Markdown:\n%s", want, b.String())
		}
	}
}

// Results that no run can have are refused; texts of others harm nothing.
func TestHostileSweep(t *testing.T) {
	for _, size := range []float64{0, -1, 1e300} {
		r := swept()
		r.Sweep.Points[1].Size = size
		var text bytes.Buffer
		if err := results.WriteJSON(&text, r); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Parse(text.Bytes()); err == nil {
			t.Errorf("a point of size %g is taken", size)
		}
	}
	r := swept()
	r.Sweep.Path = hostile
	for i := range r.Sweep.Points {
		was := r.Sweep.Points[i].Value
		r.Sweep.Points[i].Value = hostile + was
		for j := range r.Cells {
			if r.Cells[j].Point == was {
				r.Cells[j].Point = hostile + was
			}
		}
	}
	var b bytes.Buffer
	for name, write := range map[string]func() error{
		"text":     func() error { return writeText(&b, r, 80) },
		"markdown": func() error { return writeMarkdown(&b, r) },
		"csv":      func() error { return document.WriteCSV(&b, Of(r, "")) },
	} {
		b.Reset()
		if err := write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.ContainsAny(b.String(), "\x1b\x07\u202e\u009b") || name == "markdown" && strings.Contains(b.String(), "<script>") {
			t.Errorf("%s holds harmful characters: %q", name, b.String())
		}
	}
	for _, points := range [][]results.SweepPoint{nil, r.Sweep.Points[:1]} {
		r := swept()
		r.Sweep.Points = points
		if err := writeText(&b, r, 80); err != nil {
			t.Errorf("%d points: %v", len(points), err)
		}
	}
}
