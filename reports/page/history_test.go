package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/workloads/results"
)

// writeHistory is the page of runs, of which each began a day after the one before. Every
// second needs one request more to list.
func writeHistory(t testing.TB, sources ...Source) string {
	t.Helper()
	dir := t.TempDir()
	for i := range sources {
		r := *sources[i].Run
		r.Started = fmt.Sprintf("2026-11-%02dT04:00:00Z", i+1)
		r.Interrupted, r.Searches, r.Segment = false, nil, results.Segment{Index: 1, Of: 1}
		r.Cells = append([]results.Cell(nil), r.Cells...)
		for n := range r.Cells {
			ops := map[string]results.Op{}
			for name, o := range r.Cells[n].Ops {
				o.Store.Requests += float64(i % 2)
				ops[name] = o
			}
			r.Cells[n].Ops, r.Cells[n].Verdict = ops, results.OK
			readers := ops["list"]
			readers.Count = max(0, readers.Count-1)
			r.Cells[n].Streams = []results.Stream{{Name: "readers", Arrivals: "poisson", Ops: map[string]results.Op{"list": readers}}}
		}
		text, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("run ", i)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("run ", i), results.RunFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "notes <script>"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes <script>", results.RunFile), []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Folder = "results"
	var b strings.Builder
	if err := Document(&b, h.Document(false)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page of a history names the changes, draws them, and names skipped results.
func TestHistoryPage(t *testing.T) {
	got := writeHistory(t, sample(t), sample(t), sample(t))
	for _, want := range []string{
		"<h1>history of results: 3 runs, 1 folder skipped</h1>", "<h2>Changed</h2>", "james/embedded/measure", "list.requests", "regression, exact",
		"<figcaption>list p50, ", "<figcaption>list requests, ", "<h2>Whole load</h2>", "typical",
		"<polyline", "notes &lt;script&gt;", "it is not of mailbench",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
