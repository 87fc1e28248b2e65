package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/workloads/results"
)

var began = time.Date(2026, 10, 1, 4, 0, 0, 0, time.UTC)

// nightly is the run of one night: two operations, whose times vary by 2% and by 4%.
func nightly(night int) *results.Run {
	random := rand.New(rand.NewPCG(7, uint64(night)))
	at := began.AddDate(0, 0, night).Format(time.RFC3339)
	op := func(p50, p99 float64) results.Op {
		l := results.Latency{P50: int64(p50 * math.Exp(0.02*random.NormFloat64())), P99: int64(p99 * math.Exp(0.04*random.NormFloat64()))}
		l.P90, l.P999, l.Max = l.P99, l.P99, l.P99
		return results.Op{Count: 1000, Support: results.Native, Times: results.Times{Response: l, Service: l}, Store: results.StoreCost{
			Requests: 2, RowsRead: 20, BytesRead: 500, BytesDeviation: 100, RowsDeviation: 3,
		}}
	}
	return &results.Run{
		Format: results.Format, Workload: results.Workload{Name: "nightly", Text: "version: 1\nname: nightly\n", SHA256: "1"}, Seed: 1,
		Started: at, Ended: at, Machine: results.Machine{ID: "one"}, Segment: results.Segment{Index: 1, Of: 1},
		Environment: results.Environment{
			Version: "0.3.0", Commit: fmt.Sprintf("%08x", 0x10000000+night), Go: "go1.26.8", GOGC: "100", MaxProcs: 2, OS: "linux", Arch: "amd64", CPUs: 2,
		},
		Config:  results.Config{Trials: 1, Durability: "default", Workers: 32, MaxWait: 10},
		Schemas: []results.Schema{{Model: "james", Text: "name: james\n", SHA256: "1"}},
		Phases:  []results.Phase{{Name: "measure", Kind: "measure", Digested: 2000, SHA256: "2"}},
		Cells: []results.Cell{{
			Key:  results.Key{Model: "james", Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1},
			Kind: results.KindMeasure, Started: at, Arrivals: "poisson", Rate: 500, Durability: "power", Verdict: results.OK, Doubts: []results.Doubt{},
			Ops:     map[string]results.Op{"list": op(200e3, 2e6), "open": op(300e3, 3e6)},
			Engines: &results.EngineInfo{Version: "pebble v2.1.7"},
		}},
	}
}

// change changes an operation of the run.
func change(r *results.Run, name string, to func(o *results.Op)) {
	o := r.Cells[0].Ops[name]
	to(&o)
	r.Cells[0].Ops[name] = o
}

// slower makes an operation take 20% longer.
func slower(o *results.Op) {
	for _, l := range []*results.Latency{&o.Response, &o.Service} {
		for _, ns := range []*int64{&l.P50, &l.P90, &l.P99, &l.P999, &l.Max} {
			*ns = *ns * 6 / 5
		}
	}
}

// put writes a run's result into a folder.
func put(t *testing.T, dir, name string, r *results.Run) {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	putText(t, dir, name, string(text))
}

func putText(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name, results.RunFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// slowedAt is the night from which on listing takes 20% longer.
const slowedAt = 18

// nights makes the results of n nights.
func nights(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for night := range n {
		r := nightly(night)
		if night >= slowedAt {
			change(r, "list", slower)
		}
		put(t, dir, fmt.Sprintf("night-%02d", night), r)
	}
	return dir
}

func historyOf(t *testing.T, dir string, selected []compare.Gate) *History {
	t.Helper()
	h, err := Read(dir, selected)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// changes are the changes of a series, a line each.
func changes(s *Series) string {
	var all []string
	for _, c := range s.changed {
		exact := ""
		if c.Exact {
			exact = " exact"
		}
		all = append(all, fmt.Sprintf("%s run %d %s%s", c.of, c.Run, c.Says, exact))
	}
	return strings.Join(all, "\n")
}
