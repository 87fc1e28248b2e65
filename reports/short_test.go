package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
)

// mostLines is how many lines a run of five models prints at most, with the three in which the command
// line says where its results are.
const mostLines = 40

func shortText(t *testing.T, r *results.Run, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (Text{Width: width}).Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A run of five models has its answer on one screen.
func TestShortTextFitsAScreen(t *testing.T) {
	many := comparison(t) // as many operations, verdicts, doubts, objectives and engines as there can be
	for i := range many.Cells {
		c := &many.Cells[i]
		if !c.Measured() {
			continue
		}
		for n := range 18 {
			c.Ops[fmt.Sprintf("op-%d", n)] = c.Ops["list"]
		}
		c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: "client-delays", Text: strings.Repeat("client late ", 40)}
		for _, code := range []results.Code{"withheld", "client-lag", "queued", "drifting", "dropped"} {
			c.Doubts = append(c.Doubts, results.Doubt{Code: code, Text: strings.Repeat(string(code)+" ", 60)})
		}
		for n := range 9 {
			c.Objectives = append(c.Objectives, results.Attained{Objective: fmt.Sprintf("op-%d.p99", n), Bound: "<20ms", Verdict: results.Missed})
		}
	}
	for name, r := range map[string]*results.Run{"five models": comparison(t), "everything": many} {
		for _, width := range []int{80, 100, 160} {
			text := string(shortText(t, r, width))
			if n := strings.Count(text, "\n") + 3; n > mostLines {
				t.Errorf("%s at %d columns: %d lines\n%s", name, width, n, text)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s at %d columns: %d in %q", name, width, n, line)
				}
			}
		}
	}
}

func TestShortTextIsAsItWas(t *testing.T) {
	golden(t, "short-80.txt", shortText(t, comparison(t), 80))
	golden(t, "short-160.txt", shortText(t, comparison(t), 160))
	golden(t, "short-trouble.txt", shortText(t, sample(), 80))
}

// Models on engines of other durability are in one overview. Counts are compared, and times of each
// durability among themselves.
func TestEnginesSideBySide(t *testing.T) {
	r := comparison(t)
	n := len(r.Cells)
	for i := range n {
		far := r.Cells[i]
		far.Engine, far.Durability = "cassandra", "memory"
		if far.Measured() {
			ops := map[string]results.Op{}
			for name, o := range far.Ops { // ten times as slow, and a tenth of the calls
				o.Response.P50, o.Response.P99, o.Store.Calls = 10*o.Response.P50, 10*o.Response.P99, o.Store.Calls/10
				ops[name] = o
			}
			far.Ops = ops
		}
		r.Cells = append(r.Cells, far)
	}
	o := OverviewOf(r)
	if len(o.Parts) != 1 || len(o.Parts[0].Columns) != 10 || !o.Parts[0].Apart() {
		t.Fatalf("%d parts with %d columns", len(o.Parts), len(o.Parts[0].Columns))
	}
	list := &o.Parts[0].Rows[0]
	var times, calls []string
	for i := range list.Lines {
		for k := range list.Lines[i].Values {
			value, mark := list.value(&o.Parts[0], &list.Lines[i], k)
			switch list.Lines[i].Figure {
			case results.P50:
				times = append(times, value+mark)
			case results.Calls, results.Bytes:
				calls = append(calls, value)
			}
		}
	}
	if got, want := strings.Join(times, " "), "2.9× 1.0×° ?° 4.1× 4.3×° 2.9×‡ 1.0×‡ ?‡ 4.1×‡ 4.3×‡"; got != want {
		t.Errorf("times %s, want %s", got, want)
	}
	if got := strings.Join(calls, " "); strings.Count(got, "1.0×") != 2 || strings.Contains(got, "‡") {
		t.Errorf("counts %s", got)
	}
	a := AnswersOf(r, o)
	if len(a) != 1 || len(a[0].Rows) != 10 || !strings.Contains(strings.Join(a[0].Says, " "),
		"Times are ranked within a durability only: process (elasticinbox/embedded, ") {
		t.Errorf("%+v", a)
	}
	if first, far := a[0].Line(results.Calls).Values[4], a[0].Line(results.Calls).Values[9]; !far.Best || first.Ratio < 9.9 {
		t.Errorf("calls of both engines are not compared: %+v, %+v", first, far)
	}
	for _, width := range []int{80, 160} {
		text := string(shortText(t, r, width))
		if !strings.Contains(text, "‡") || strings.Count(text, "\n")+3 > mostLines+5 {
			t.Errorf("%d lines\n%s", strings.Count(text, "\n"), text)
		}
	}
	golden(t, "short-engines.txt", shortText(t, r, 80))
}

// A time that is alone in its durability is shown, and not ranked.
func TestOneOfEachDurability(t *testing.T) {
	r := &results.Run{}
	for n := range 4 {
		near := trial("james", n+1, results.OK, map[string]results.Op{"list": asked(results.StoreCost{Calls: 2})})
		far := trial("james", n+1, results.OK, map[string]results.Op{"list": slow(asked(results.StoreCost{Calls: 1}))})
		far.Engine, far.Durability = "cassandra", "memory"
		r.Cells = append(r.Cells, near, far)
	}
	p := &OverviewOf(r).Parts[0]
	value, mark := p.Rows[0].value(p, &p.Rows[0].Lines[0], 1)
	if p.Rows[0].Lines[0].Figure != results.P50 || value != "1.00µs" || mark != MarkApart {
		t.Errorf("%s %s%s", p.Rows[0].Lines[0].Figure, value, mark)
	}
}
