package metrics

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// scraped is the text that Prometheus gets: 3 lists of 2 ms that waited 1 ms, one that failed, and an open that failed.
func scraped(t *testing.T) string {
	t.Helper()
	m, r := New(), latency.NewRecorder(1, 1, true)
	key := results.Key{Model: "james", Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1}
	for range 3 {
		r.Worker(0).Record(0, latency.OK, false, 0, time.Millisecond, 3*time.Millisecond, 0)
		m.Add(key, func(int) string { return "list" }, r.Tick())
	}
	r.Worker(0).Record(0, latency.Failed, false, 0, time.Millisecond, 3*time.Millisecond, 0)
	m.Add(key, func(int) string { return "list" }, r.Tick())
	r.Worker(0).Record(0, latency.Failed, false, 0, time.Millisecond, 3*time.Millisecond, 0)
	m.Add(key, func(int) string { return "open" }, r.Tick())
	m.Progress(0.25)
	at, stop, err := m.Serve(":0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if !strings.HasPrefix(at, "127.0.0.1:") {
		t.Errorf("it listens on %s, not on loopback", at)
	}
	a, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMetrics(t *testing.T) {
	text := scraped(t)
	list := `engine="embedded",KIND,model="james",operation="list",phase="measure",trial="1"`
	kind := func(k string) string { return strings.Replace(list, "KIND", `kind="`+k+`"`, 1) }
	outcome := func(o string) string {
		return `engine="embedded",model="james",operation="list",outcome="` + o + `",phase="measure",trial="1"`
	}
	for _, want := range []string{
		"mailbench_operations_total{" + outcome("ok") + "} 3\n",
		"mailbench_operations_total{" + outcome("failed") + "} 1\n",
		"mailbench_operations_total{" + outcome("dropped") + "} 0\n",
		"mailbench_operation_duration_seconds_count{" + kind("response") + "} 3\n",
		"mailbench_operation_duration_seconds_bucket{" + kind("response") + `,le="0.002"} 0` + "\n",
		"mailbench_operation_duration_seconds_bucket{" + kind("response") + `,le="0.005"} 3` + "\n",
		"mailbench_operation_duration_seconds_bucket{" + kind("lag") + `,le="0.0005"} 0` + "\n",
		"mailbench_operation_duration_seconds_bucket{" + kind("lag") + `,le="0.002"} 3` + "\n",
		"mailbench_run_progress_ratio 0.25\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %sin\n%s", want, text)
		}
	}
}

// An operation of which none succeeded has no times.
func TestNoTimes(t *testing.T) {
	text := scraped(t)
	if !strings.Contains(text, `operation="open",outcome="failed",phase="measure",trial="1"} 1`) {
		t.Errorf("open did not fail:\n%s", text)
	}
	if times := regexp.MustCompile(`duration_seconds_count.*open`).FindString(text); times != "" {
		t.Errorf("open has %s", times)
	}
}

// The dashboard uses only existing metrics and labels.
func TestDashboard(t *testing.T) {
	text := scraped(t)
	b, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`mailbench_\w+`).FindAllString(target.Expr, -1) {
				if asked++; !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
					t.Errorf("%s: there is no %s", p.Title, name)
				}
			}
			for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(target.Expr, -1) {
				for label := range strings.SplitSeq(by[1], ", ") {
					if !strings.Contains(text, label+`="`) {
						t.Errorf("%s: there is no label %s", p.Title, label)
					}
				}
			}
		}
	}
	if asked < 5 {
		t.Errorf("the dashboard asks for %d metrics", asked)
	}
}
