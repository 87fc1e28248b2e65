package page

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

// hostile is a text that mail and file systems can bring into a result.
const hostile = "\x1b[2J\x07</title></svg><script>alert(1)</script>\u202eevil\u009b31m & \"quoted\" onload='alert(2)'"

// sample is the run of package reports in which everything happens, with the schemas of
// bundled models.
func sample(t testing.TB) Source {
	t.Helper()
	const dir = "../../workloads/results/testdata/sample"
	r, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for c := range r.All {
		for op, o := range c.Ops {
			for _, share := range results.QuantileShares {
				o.Quantiles = append(o.Quantiles, int64(share*float64(o.OK().Max)))
			}
			c.Ops[op] = o
		}
	}
	s, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	r.Schemas[0].Text = string(schemas.Format(s))
	return Source{Name: "sample", Run: r}
}

func write(t testing.TB, s Source) string {
	t.Helper()
	var text strings.Builder
	if err := Write(&text, s); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A style that has a look of its own is a class of the style sheet.
func TestStyles(t *testing.T) {
	page := write(t, sample(t))
	for _, s := range []document.Style{document.Strong, document.Bad, document.Warn, document.Faint, document.Best} {
		if !regexp.MustCompile(`\.` + string(s) + `\b`).MatchString(page) {
			t.Errorf("the style sheet does not have the class %s", s)
		}
	}
}

// runView is the page of a run.
func runView(s Source) *view {
	d := reports.Of(s.Run, "")
	addCharts(d, &s)
	return viewOf(d)
}

// makeHostile replaces every text of the run, whatever field it is in.
func makeHostile(t testing.TB, s Source) Source {
	t.Helper()
	text, err := json.Marshal(s.Run)
	if err != nil {
		t.Fatal(err)
	}
	var all any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a seed has more digits than a float
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	keep := map[string]bool{"format": true, "kind": true, "arrivals": true, "support": true} // words of mailbench
	var walk func(key string, v any) any
	walk = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(k, v[k])
			}
			if ops, ok := v["list"]; ok { // operations
				v["list"+hostile] = ops
			}
		case []any:
			for i := range v {
				v[i] = walk(key, v[i])
			}
		case string:
			if !keep[key] {
				return hostile
			}
		}
		return v
	}
	if text, err = json.Marshal(walk("", all)); err != nil {
		t.Fatal(err)
	}
	r := &results.Run{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return Source{Name: hostile, Run: r}
}

func TestHostileTextsAreEscaped(t *testing.T) {
	one := makeHostile(t, sample(t))
	for name, page := range map[string]string{"one run": write(t, one), "history": writeHistory(t, one, one)} {
		if strings.Count(page, "&lt;script&gt;") < 20 {
			t.Errorf("%s: the hostile texts are not on the page", name)
		}
		for _, bad := range []string{"<script", "</title></svg>", "\x1b", "\x07", "\u202e", "\u009b", "ZgotmplZ"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: the page contains %q", name, bad)
			}
		}
		wellFormed(t, page)
	}
}

// The page loads nothing from elsewhere and runs nothing.
func TestPageIsSelfContained(t *testing.T) {
	for name, page := range map[string]string{
		"one run": write(t, sample(t)), "history": writeHistory(t, sample(t), sample(t)),
	} {
		refused := regexp.MustCompile(`(?i)\s(src|action|on[a-z]+)\s*=|href="[^#]|url\([^#]|@import|<script|<link|<iframe|https?:`)
		if m := refused.FindString(strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")); m != "" {
			t.Errorf("%s: the page contains %q", name, m)
		}
		if !strings.Contains(page, `content="default-src 'none'; style-src 'unsafe-inline'"`) {
			t.Errorf("%s: the page does not forbid requests", name)
		}
		if !Ours([]byte(page[:plainfile.HeadSize])) {
			t.Errorf("%s: the page is not known as mailbench's", name)
		}
	}
	if Ours([]byte("<!DOCTYPE html>\n<title>mine</title>")) {
		t.Error("somebody's page is taken for mailbench's")
	}
}

// wellFormed returns the words of the page's body, which must be XML.
func wellFormed(t *testing.T, page string) string {
	t.Helper()
	body := page[strings.Index(page, "<body>") : strings.Index(page, "</body>")+len("</body>")]
	d := xml.NewDecoder(strings.NewReader(body))
	d.Entity = xml.HTMLEntity
	var text strings.Builder
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return strings.Join(strings.Fields(text.String()), " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tok.(xml.CharData); ok {
			text.Write(s)
			text.WriteByte(' ')
		}
	}
}

func TestPageSaysWhatTheRunHas(t *testing.T) {
	words := wellFormed(t, write(t, sample(t)))
	for _, want := range []string{
		"3 not found", "40 dropped", "7 dropped", "5 too large", "omits fields: from, subject",
		"runs a fallback pattern: message_by_scan", "INTERRUPTED: the results are those up to", "INVALID: james, measure: client late", "FAILED",
		"OVERLOADED: datastax, measure", "EMPTY: elasticinbox, measure: the model cannot store the workload's dataset: folders within folders",
		"durability power", "latency from the scheduled start", "latency from start to end", "4 LOST, 1 CORRUPT", "DATA WRONG OR LOST: james", "late starts: 12.00% of operations",
		"SHA-256 of the schema of james 0123", "mailbench run sample --set phases.measure.rate=500/s", "mailbench run --from sample", "workers 32", "max wait 1.50s",
		"written 300MB, read 80.0MB", "james: longest gap without a successful operation: 4.9 s at 00:04",
		"embedded pebble 2, durability process, replication 3, consistency QUORUM, compression zstd", "Leftovers: namespace q5k2", "3× timed out",
		"conversation message_by_scan 0.50", "name: sample phases: []",
		"not steady: the service time went from 1ms in the first half to 2ms in the second", "not steady: the warm-up had not come to rest",
		"not steady: compaction debt grew by 700MB", "Whole load", "Thresholds", "MISSED", "rows scanned",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(words)
	}
	first := func(s string) int { return strings.Index(words, s) }
	if first("INVALID") > first("Whole load") || first("late starts: 12") < 0 {
		t.Error("tables come before what is wrong, or warnings after the charts")
	}
}

// The glossary knows all operations of the workload language.
func TestGlossaryIsWhole(t *testing.T) {
	terms := map[string]bool{}
	for _, o := range glossary.Operations() {
		terms[o.Word] = true
		if _, ok := workloads.Patterns(nil).Op(o.Word); !ok {
			t.Errorf("the glossary has %s, which is no operation", o.Word)
		}
	}
	for i := range workloads.NumOps {
		if name := workloads.Op(i).String(); !terms[name] {
			t.Errorf("the glossary lacks %s", name)
		}
	}
}

// All that a chart draws is within it.
func TestChartsHoldTheirLines(t *testing.T) {
	s := sample(t)
	v := runView(s)
	charts := map[string]*chart{}
	note := func(where string, cs []chart) {
		for i := range cs {
			charts[where+" "+cs[i].Title] = &cs[i]
		}
	}
	for _, section := range v.Sections {
		note(section.Title, section.Charts)
	}
	single := percentileChart("one operation that took no time", []document.Line{{Points: []document.Point{{X: -math.Log10(0.9), Y: 1}}}})
	note("", []chart{*draw(&single, &palette{}, chartWidth, chartHeight, marginTop)})
	if len(charts) < 6 {
		t.Fatalf("only %d charts", len(charts))
	}
	for name, ch := range charts {
		inside := func(x, y float64) bool {
			const e = 0.06
			return !math.IsNaN(x+y) && x >= ch.Left-e && x <= ch.Right+e && y >= ch.Top-e && y <= ch.Bottom+e
		}
		for _, l := range ch.Lines {
			for point := range strings.FieldsSeq(strings.Join(l.Segments, " ")) {
				xs, ys, _ := strings.Cut(point, ",")
				x, errX := strconv.ParseFloat(xs, 64)
				y, errY := strconv.ParseFloat(ys, 64)
				if errX != nil || errY != nil || !inside(x, y) {
					t.Errorf("%s: point %q of %s is not in the chart", name, point, l.Name)
				}
			}
		}
		if len(ch.Across.Ticks) < 2 || len(ch.Up.Ticks) < 1 || len(ch.Lines) == 0 || ch.Summary == "" {
			t.Errorf("%s has axes %v, %v, %d lines, summary %q", name, ch.Across.Ticks, ch.Up.Ticks, len(ch.Lines), ch.Summary)
		}
	}
}

// A chart over time shows all that a phase went through: lines of times end where nothing was
// ok, and the gap is marked.
func TestTroubleOverTime(t *testing.T) {
	s := sample(t)
	for i := range s.Run.Cells { // one is invalid
		if c := &s.Run.Cells[i]; c.Verdict == results.Invalid {
			c.Verdict = results.OK
		}
	}
	s.Run.Cells = slices.DeleteFunc(s.Run.Cells, func(c results.Cell) bool { return c.Phase != "measure" })
	drawn := overTime(s.Run, reports.NamesIn(s.Run))
	for i := range drawn {
		if drawn[i].Title != "james" {
			continue
		}
		times := draw(&drawn[i], &palette{}, chartWidth, chartHeight, marginTop)
		for _, l := range times.Lines {
			if len(l.Segments) != 2 {
				t.Errorf("%s is drawn in %d segments, want 2", l.Name, len(l.Segments))
			}
		}
		// 4.9 of 12 s.
		if len(times.Bands) != 1 {
			t.Fatalf("the gap is marked as %+v", times.Bands)
		}
		from, to := times.Across.At(times.Bands[0][0]), times.Across.At(times.Bands[0][1])
		if math.Abs((to-from)/(times.Right-times.Left)-4.9/12) > 0.001 {
			t.Errorf("the gap is marked as %+v", times.Bands)
		}
		return
	}
	t.Error("james is not drawn over time")
}

// Runs that measured nothing have a page all the same.
func TestPageOfNothing(t *testing.T) {
	empty := Source{Run: &results.Run{}}
	if words := wellFormed(t, write(t, empty)); !strings.Contains(words, "NOTHING MEASURED") || !strings.Contains(words, "mailbench run --from DIR") {
		t.Errorf("the page says %s", words)
	}
}

// full has no room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	if err := Write(full{}, sample(t)); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
}

func TestAxes(t *testing.T) {
	for e, want := range map[int]string{0: "1 ns", 4: "10 µs", 10: "10 s", 12: "1000 s"} {
		if got := nanoseconds(math.Pow10(e)); got != want {
			t.Errorf("10^%d ns is %q, want %q", e, got, want)
		}
	}
}

// Whatever a reader of results takes can be shown.
func FuzzPage(f *testing.F) {
	text, err := os.ReadFile("../../workloads/results/testdata/sample/run.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"format": "mailbench.run/2", "cells": [{}, {"verdict": "ok", "kind": "measure", "ops": {"": {}}, "timeline": [{},{},{}], "longest_gap": {"seconds": 9}}]}`)
	for _, change := range [][2]string{
		{`"count":`, `"count":0,"was":`},
		{`"max":`, `"max":9223372036854775807,"was":`},
		{`"p99":`, `"p99":-9223372036854775807,"was":`},
		{`"seconds":`, `"seconds":0,"was":`},
		{`"reason":`, `"was":`},
		{`"model":`, `"model":"","was":`},
	} {
		f.Add(strings.ReplaceAll(string(text), change[0], change[1]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, results.RunFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := results.Open(dir)
		if err != nil {
			return
		}
		s := Source{Name: "fuzz", Run: r}
		var page bytes.Buffer
		if err := Write(&page, s); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(page.String(), "NaN") {
			t.Error("the page has NaN")
		}
	})
}

// A search has each measurement in a table.
func TestSearchOnThePage(t *testing.T) {
	s := sample(t)
	words := wellFormed(t, write(t, s))
	for _, want := range []string{s.Run.Searches[0].Found.Text, "Thresholds: errors <0.1%, as the workload has none", "500 500 0.60", "failed"} {
		if !strings.Contains(words, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
