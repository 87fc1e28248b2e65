package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
)

// TestProof has a line for each way in which cost shows a finding.
func TestProof(t *testing.T) {
	at := func(scanned, given float64, p50 time.Duration) measuredAt {
		return measuredAt{point: "1000", scanned: scanned, given: given, p50: p50}
	}
	few := at(10, 10, 100*time.Microsecond)
	for _, tc := range []struct {
		rule  string
		shows growth
		at    []measuredAt
		want  string
	}{
		{
			"unbounded-partition", byPart,
			[]measuredAt{few, at(100, 100, time.Millisecond)},
			"confirmed: a partition of t has 10× the rows at 10× the orders (10 → 100), p50 0.1 → 1 ms",
		},
		{"unbounded-read", byRows, []measuredAt{few, at(49, 49, time.Millisecond)}, "not seen up to 1000 orders (10 → 49 rows)"},
		{
			"unbounded-read", byRows,
			[]measuredAt{few, at(50, 50, time.Millisecond)},
			"confirmed: page scans 5× the rows at 10× the orders (10 → 50), p50 0.1 → 1 ms",
		},
		{
			"many-partitions", byItems,
			[]measuredAt{few, at(100, 100, time.Millisecond)},
			"confirmed: page scans 10× the rows at 10× the keys of a call (10 → 100), p50 0.1 → 1 ms",
		},
		{
			"filter-reads-more", byWaste,
			[]measuredAt{few, at(100, 10, time.Millisecond)},
			"confirmed: page scans 100 rows to return 10.0, p50 1 ms",
		},
		{"filter-reads-more", byWaste, []measuredAt{few, at(100, 60, time.Millisecond)}, "not seen up to 1000 orders"},
		{
			"queue", byDeletes,
			[]measuredAt{few, at(10, 10, time.Millisecond)},
			"confirmed: page takes 10× as long at 10× the deleted orders, p50 0.1 → 1 ms",
		},
		{
			"queue", byDeletes,
			[]measuredAt{few, at(10, 10, 290*time.Microsecond)},
			"not seen up to 1000 orders, of which 90% were deleted (p50 0.1 → 0.29 ms)",
		},
		{"queue", byDeletes, []measuredAt{few}, "not measured: no operation succeeded at each point"},
		{"queue", byNothing, nil, "not shown: its pattern is not measured"},
	} {
		p := probe{finding: lint.Finding{Rule: &lint.Rule{ID: tc.rule}, Table: "t"}, op: "page", shows: tc.shows, unit: "orders"}
		if got := p.verdict(tc.at); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.rule, got, tc.want)
		}
	}
}

// TestProbes makes the workload of each flawed design of the lint corpus, and names what it can show.
func TestProbes(t *testing.T) {
	files, err := filepath.Glob("../schemas/lint/testdata/corpus/*/*.yaml")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), err)
	}
	shown := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schemas.Parse(file, src)
		if err != nil {
			t.Fatal(err)
		}
		k, report, err := bundled().keyspaceOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := workloads.Parse(file, []byte(workloadOf(k)), "patterns="+kindsOf(k, false)); err != nil {
			t.Errorf("%v\n%s", err, w.Source)
		}
		probes := probesOf(k, report)
		flawed, can := strings.Contains(file, "flawed"), false
		for _, p := range probes {
			can = can || p.shows != byNothing
			if rules, _, _ := strings.Cut(string(src), "\nschema:"); !flawed && !strings.Contains(rules, p.finding.Rule.ID) {
				t.Errorf("%s: %s is accused of %s", file, p.finding.Table, p.finding.Rule.ID)
			}
		}
		if !can {
			continue
		}
		if flawed {
			shown++
		}
		w, err := workloads.Parse(file, []byte(proveWorkload(k, probes)), "patterns="+kindsOf(k, true))
		if err != nil {
			t.Errorf("%v\n%s", err, proveWorkload(k, probes))
		} else if len(w.Sweep.Points) != 2 {
			t.Errorf("%s: %d points", file, len(w.Sweep.Points))
		}
	}
	if shown < 16 {
		t.Errorf("a run can show the flaws of %d designs, of 16", shown)
	}
}
