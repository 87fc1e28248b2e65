//go:build campaigns && unix

package campaigns

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/mailbench/mailbench/workloads/results"
)

const scrapedWorkload = `version: 1
name: scraped
population: {users: 3, folders: 2, messages: 10}
phases:
  - load: {}
  - measure: {name: first, rate: 500/s, operations: 300, mix: {list: 1, open: 1, deliver: 1}}
  - measure: {name: second, rate: 50/s, duration: 10m, mix: {list: 1}}
`

// A run that Prometheus scrapes while it goes on shows the same counts as its results. When the second
// phase has begun, the first has all its counts; then the run is interrupted.
func TestMetricsOfARun(t *testing.T) {
	file := t.TempDir() + "/scraped.yaml"
	if err := os.WriteFile(file, []byte(scrapedWorkload), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startRun(t, file, "-m", "james", "--no-overhead", "--metrics", "127.0.0.1:0")
	address := regexp.MustCompile(`(?m)^metrics: (http://127\.0\.0\.1:\d+/metrics)$`)
	p.await("its address is told", func() bool { return address.MatchString(p.printed("stderr")) })
	url := address.FindStringSubmatch(p.printed("stderr"))[1]

	var text []byte
	var got map[string]*dto.MetricFamily
	p.await("the second phase is scraped", func() bool {
		text, got = scrape(t, url)
		return samples(got["mailbench_operations_total"], "phase", "second") != nil
	})
	if problems, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("Prometheus' linter says %v, %v", problems, err)
	}
	for name := range got {
		if known := map[string]bool{
			"mailbench_operations_total": true, "mailbench_operation_duration_seconds": true, "mailbench_run_progress_ratio": true,
		}; !known[name] {
			t.Errorf("unknown metric %s", name)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r := p.end(exitInterrupted)
	var first *results.Cell
	for i := range r.Cells {
		if r.Cells[i].Phase == "first" {
			first = &r.Cells[i]
		}
	}
	if first == nil || len(first.Ops) != 3 {
		t.Fatalf("the results lack the first phase: %+v", first)
	}
	for name, o := range first.Ops {
		for outcome, want := range map[string]int64{
			"ok": o.Count, "not_found": o.NotFound, "failed": o.Failed, "unknown": o.Unknown, "too_large": o.TooLarge, "dropped": o.Dropped,
		} {
			one := samples(got["mailbench_operations_total"], "phase", "first", "operation", name, "outcome", outcome)
			if len(one) != 1 || one[0].GetCounter().GetValue() != float64(want) {
				t.Errorf("%s %s: scraped %v, in run.json %d", name, outcome, one, want)
			}
		}
		for kind, l := range map[string]results.Latency{"response": o.Response, "service": o.Service, "lag": o.Wait} {
			one := samples(got["mailbench_operation_duration_seconds"], "phase", "first", "operation", name, "kind", kind)
			if o.Count == 0 && len(one) == 0 {
				continue
			}
			if len(one) != 1 || one[0].GetHistogram().GetSampleCount() != uint64(o.Count) {
				t.Errorf("%s %s: scraped %v, in run.json %d times", name, kind, one, o.Count)
				continue
			}
			// A histogram holds a value to its third digit.
			sum, want := one[0].GetHistogram().GetSampleSum(), l.Mean*float64(o.Count)/1e9
			if math.Abs(sum-want) > 0.01*want {
				t.Errorf("%s %s: scraped %g s in all, in run.json %g s", name, kind, sum, want)
			}
		}
	}
}

// scrape reads the metrics with Prometheus' own parser.
func scrape(t *testing.T, url string) ([]byte, map[string]*dto.MetricFamily) {
	t.Helper()
	a, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%s: %s, %s, %v", url, a.Status, a.Header.Get("Content-Type"), err)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return text, families
}

// samples are those that have all the labels, given as names and values.
func samples(f *dto.MetricFamily, labels ...string) []*dto.Metric {
	var all []*dto.Metric
	for _, m := range f.GetMetric() {
		of := map[string]string{}
		for _, l := range m.GetLabel() {
			of[l.GetName()] = l.GetValue()
		}
		has := true
		for i := 0; i < len(labels); i += 2 {
			has = has && of[labels[i]] == labels[i+1]
		}
		if has {
			all = append(all, m)
		}
	}
	return all
}
