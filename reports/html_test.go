package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func samplePage(t *testing.T) string {
	t.Helper()
	r := sample()
	curves, err := ReadCurves(r, sampleLog(t))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := WriteHTML(&buf, r, curves); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestPageIsAsItWas(t *testing.T) { golden(t, "report.html", []byte(samplePage(t))) }

func TestPageEscapes(t *testing.T) {
	r := sample()
	// Every text of the run is hostile.
	for i := range r.Cells {
		c := &r.Cells[i]
		c.Model, c.Engine, c.Phase, c.Durability, c.Verdict, c.Reason = hostile, hostile, hostile, hostile, hostile, &Reason{hostile, hostile}
		c.Doubts = []Doubt{{Code: hostile, Text: hostile, Ops: []OpCount{{hostile, 1}}}}
		ops := map[string]Op{}
		for name, o := range c.Ops {
			o.Missing, o.Fallback, o.Errors = hostile, hostile, []ErrorCount{{hostile, 1}}
			ops[name+hostile] = o
		}
		c.Ops = ops
		c.Engines = &EngineInfo{Version: hostile, Settings: map[string]string{hostile: hostile}}
	}
	r.Workload, r.Started, r.Settings = Workload{Name: hostile, SHA256: hostile}, hostile, map[string]string{hostile: hostile}
	r.Schemas = []Schema{{Model: hostile, SHA256: hostile}}
	r.Environment = Environment{Version: hostile, Commit: hostile, Go: hostile, OS: hostile, CPU: hostile, Kernel: hostile, Disk: hostile}
	c := &r.Cells[troubled]
	var buf bytes.Buffer
	curves := []Curve{}
	for op := range c.Ops {
		curves = append(curves, Curve{Model: c.Model, Engine: c.Engine, Phase: c.Phase, Op: op, Points: []Point{{0, 10}, {90, 1000}}})
	}
	if err := WriteHTML(&buf, r, curves); err != nil {
		t.Fatal(err)
	}
	page := buf.String()
	if !strings.Contains(page, "<polyline") || strings.Count(page, "&lt;script&gt;") < 30 {
		t.Error("the hostile texts are not on the page")
	}
	for _, bad := range []string{"<script", "\x1b", "\x07", "\u202e", "\u009b", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// The page asks for nothing from elsewhere and runs nothing.
func TestPageIsSelfContained(t *testing.T) {
	page := samplePage(t)
	if m := regexp.MustCompile(`(?i)\s(src|href|action|on[a-z]+)\s*=|url\(|@import|<script|<link|<iframe|https?:`).FindString(page); m != "" {
		t.Errorf("the page contains %q", m)
	}
	if !strings.Contains(page, `content="default-src 'none'; style-src 'unsafe-inline'"`) {
		t.Error("the page does not forbid requests")
	}
}

// The page's body is well-formed, and says in its tables what the text says.
func TestPageIsWellFormed(t *testing.T) {
	page := samplePage(t)
	body := page[strings.Index(page, "<body>") : strings.Index(page, "</body>")+len("</body>")]
	d := xml.NewDecoder(strings.NewReader(body))
	d.Entity = xml.HTMLEntity
	var text strings.Builder
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tok.(xml.CharData); ok {
			text.Write(s)
			text.WriteByte(' ')
		}
	}
	words := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"3 not found", "ok failed unknown rate/s", "7000 2 1 233", "40 dropped", "7 dropped", "5 too large", "lacks from, subject",
		"emulated: message_by_scan", "n/a: james", "Interrupted", "james is INVALID : client late", "james is FAILED",
		"datastax is OVERLOADED", "elasticinbox is EMPTY : the model cannot hold the workload's population: folders within folders",
		"durability power", "response times", "service times", "4 LOST, 1 CORRUPT", "harness 161ns", "late starts: 12.00% of operations",
		"SHA-256 of the schema of james 0123", "command mailbench run sample --set phases.measure.rate=500/s", "workers 32", "max lag 1.50s",
		"achieved, of offered operations a second: james 498 of 505", "written 300MB, read 80.0MB", "james: longest gap without an operation that was ok: 4.9 s at 00:04", "james: operations a second",
		"Engine embedded: pebble 2, durability process and power, replication 3, consistency QUORUM, compression zstd", "Left behind: namespace q5k2", "3× timed out",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestCurves(t *testing.T) {
	r := sample()
	curves, err := ReadCurves(r, sampleLog(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(curves) != 4 {
		t.Fatalf("%d curves, want those of 2 operations of 2 models", len(curves))
	}
	for _, c := range curves {
		unit := map[string]int64{"james": 1000, "conversation": 2000}[c.Model] * map[string]int64{"list": 1, "open": 10}[c.Op]
		near := func(at float64, want int64) {
			t.Helper()
			for _, p := range c.Points {
				if math.Abs(p.Percentile-at) < 1e-6 {
					if math.Abs(float64(p.Nanoseconds)/float64(want)-1) > 0.002 {
						t.Errorf("%s of %s at %v is %d, want %d", c.Op, c.Model, at, p.Nanoseconds, want)
					}
					return
				}
			}
			t.Errorf("%s of %s has no point at %v", c.Op, c.Model, at)
		}
		// 1 to 1000 units, from both intervals of the log.
		near(0, unit)
		near(90, 900*unit)
		near(99, 990*unit)
		near(99.9, 1000*unit)
		for i := 1; i < len(c.Points); i++ {
			if c.Points[i].Nanoseconds < c.Points[i-1].Nanoseconds || c.Points[i].Percentile <= c.Points[i-1].Percentile {
				t.Errorf("%s of %s falls after point %d", c.Op, c.Model, i-1)
			}
		}
	}
}

// A curve is of all trials and shards of a cell.
func TestCurvesOfSeveralTrials(t *testing.T) {
	r := sample()
	second := r.Cells[troubled]
	second.Trial, second.Shard = 2, 3
	r.Cells = append(r.Cells, second)
	log := sampleLog(t).String()
	log += strings.ReplaceAll(log, "james/embedded/measure/1/1/", "james/embedded/measure/2/3/")
	curves, err := ReadCurves(r, strings.NewReader(log))
	if err != nil || len(curves) != 4 || curves[0].Model != "james" {
		t.Fatalf("%v, %+v", err, curves)
	}
	// A curve ends at the percentile that only the slowest operation is beyond.
	const want = 100 * (1 - 1.0/2000)
	if ps := curves[0].Points; math.Abs(ps[len(ps)-1].Percentile-want) > 1e-9 {
		t.Errorf("the curve of 2000 operations ends at %v, want %v", ps[len(ps)-1].Percentile, want)
	}
}

func TestBrokenLogIsRefused(t *testing.T) {
	if _, err := ReadCurves(sample(), strings.NewReader("Tag=james/embedded/measure/1/1/list/response,1,1,1,broken\n")); err == nil {
		t.Error("a broken log is read without an error")
	}
}

// All of every curve is within the chart's area, and higher times are higher.
func TestChart(t *testing.T) {
	curves, err := ReadCurves(sample(), sampleLog(t))
	if err != nil {
		t.Fatal(err)
	}
	single := Curve{Points: []Point{{0, 0}}} // one operation that took no time
	for _, cs := range [][]Curve{curves, {single}} {
		ch := newChart("list", cs, func(c *Curve) string { return c.Model }, func(string) int { return 0 })
		for _, l := range ch.Lines {
			lastY := math.Inf(1)
			for point := range strings.FieldsSeq(strings.Join(l.Segments, " ")) {
				xs, ys, _ := strings.Cut(point, ",")
				x, errX := strconv.ParseFloat(xs, 64)
				y, errY := strconv.ParseFloat(ys, 64)
				if errX != nil || errY != nil || math.IsNaN(x+y) || x < ch.Left || x > ch.Right || y < ch.Top || y > ch.Bottom || y > lastY {
					t.Errorf("point %q after height %v is not in the chart", point, lastY)
				}
				lastY = y
			}
		}
		if len(ch.X) < 3 || len(ch.Y) < 2 || ch.X[1].Label != "90" || ch.X[2].Label != "99" {
			t.Errorf("axes are %v and %v", ch.X, ch.Y)
		}
	}
}

// The charts of a phase show all that it went through: nothing leaves their area, lines
// of times break off where nothing was ok, and the gap is marked.
func TestTimeCharts(t *testing.T) {
	c := &sample().Cells[troubled]
	charts := newTimeCharts("james", c)
	if len(charts) != 2 {
		t.Fatalf("%d charts", len(charts))
	}
	for _, ch := range charts {
		for _, l := range ch.Lines {
			for point := range strings.FieldsSeq(strings.Join(l.Segments, " ")) {
				xs, ys, _ := strings.Cut(point, ",")
				x, errX := strconv.ParseFloat(xs, 64)
				y, errY := strconv.ParseFloat(ys, 64)
				if errX != nil || errY != nil || x < ch.Left || x > ch.Right || y < ch.Top-0.1 || y > ch.Bottom+0.1 {
					t.Errorf("%s: point %q of %s is not in the chart", ch.Title, point, l.Name)
				}
			}
		}
		if len(ch.X) < 4 || len(ch.Y) < 2 || ch.X[0].Label != "00:00" {
			t.Errorf("%s: axes are %v and %v", ch.Title, ch.X, ch.Y)
		}
		// 4.9 of 12 s.
		if ch.Band == nil || math.Abs(ch.Band.Width/(ch.Right-ch.Left)-4.9/12) > 0.001 {
			t.Errorf("%s: the gap is marked as %+v", ch.Title, ch.Band)
		}
	}
	var names []string
	for _, l := range charts[0].Lines {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, ", "); got != "ok, failed, of unknown outcome" {
		t.Errorf("outcomes drawn: %s", got)
	}
	for _, l := range charts[1].Lines {
		if len(l.Segments) != 2 {
			t.Errorf("%s is drawn in %d segments, want 2", l.Name, len(l.Segments))
		}
	}
	c.Timeline = c.Timeline[:2]
	if charts := newTimeCharts("james", c); charts != nil {
		t.Errorf("two intervals make %d charts", len(charts))
	}
}

// A gap is told of where operations were missed in it, and not where there were
// none to miss.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		name    string
		ok      int64
		seconds float64 // of the phase
		gap     Gap
		want    string
	}{
		{"a node that was down", 6000, 60, Gap{14.2, 10.53}, "longest gap without an operation that was ok: 10.5 s at 00:14"},
		{"after an hour", 6000, 6000, Gap{3723, 30}, "longest gap without an operation that was ok: 30.0 s at 1:02:03"},
		{"short", 60000, 60, Gap{14, 0.9}, ""},
		{"few operations", 10, 60, Gap{14, 10}, ""},
		{"none at all", 0, 60, Gap{0, 60}, "longest gap without an operation that was ok: 60.0 s at 00:00"},
	} {
		cell := Cell{Seconds: c.seconds, Gap: &c.gap, Timeline: []Interval{{OK: c.ok}}}
		if got := cell.LongestGap(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		cell.Timeline = nil // of a phase that was broken off within its first interval
		if got := cell.LongestGap(); got != "" {
			t.Errorf("%s, without intervals: %q", c.name, got)
		}
	}
}
