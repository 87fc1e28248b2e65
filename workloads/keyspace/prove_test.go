package keyspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

// measured is what an operation cost at a number of rows.
type measured struct {
	rows int
	results.Op
}

// TestProof has a line for each way in which cost shows a finding.
func TestProof(t *testing.T) {
	at := func(rows int, scanned, given, bytes, ms float64) measured {
		return measured{rows, results.Op{
			Count: 1,
			Store: results.StoreCost{RowsScanned: &scanned, RowsRead: given, BytesRead: bytes},
			Times: results.Times{Service: results.Latency{P50: int64(ms * 1e6)}},
		}}
	}
	few := at(1000, 10, 10, 100, 0.1)
	for _, tc := range []struct {
		shows *growth
		at    []measured
		want  string
	}{
		{
			byPart,
			[]measured{few, at(10000, 100, 100, 1000, 1)},
			"confirmed: a partition of t has 10× the rows at 10× the rows (10 → 100), p50 100µs → 1.00ms",
		},
		{
			byRows,
			[]measured{few, at(10000, 49, 49, 490, 1)},
			"not seen: up to 10,000 rows, page scans 4.90× the rows at 10× the rows (10 → 49), p50 100µs → 1.00ms",
		},
		{
			byRows,
			[]measured{few, at(10000, 50, 50, 500, 1)},
			"confirmed: page scans 5× the rows at 10× the rows (10 → 50), p50 100µs → 1.00ms",
		},
		{
			byItems,
			[]measured{few, at(1000, 49, 49, 490, 1)},
			"not seen: up to 1,000 rows, page has 4.90× the rows at 10× the keys of a call (10 → 49), p50 100µs → 1.00ms",
		},
		{
			byWaste,
			[]measured{few, at(10000, 100, 10, 100, 1)},
			"confirmed: page scans 10 rows for each that it returns, p50 1.00ms",
		},
		{
			byWaste,
			[]measured{few, at(10000, 100, 60, 100, 1)},
			"not seen: up to 10,000 rows, page scans 1.67 rows for each that it returns, p50 1.00ms",
		},
		{
			byDeletes,
			[]measured{few, at(1000, 10, 10, 100, 0.2)},
			"confirmed: page takes 2× the time after 90% of the rows are deleted, p50 100µs → 200µs",
		},
		{
			byDeletes,
			[]measured{few, at(1000, 10, 10, 100, 0.19)},
			"not seen: up to 1,000 rows, page takes 1.90× the time after 90% of the rows are deleted, p50 100µs → 190µs",
		},
		{
			bySize,
			[]measured{few, at(10000, 10, 10, 900, 0.2)},
			"confirmed: page reads 9× the bytes a row at 10× the size of its collection or content (10 → 90), p50 100µs → 200µs",
		},
		{ // the row has other columns, too
			bySize,
			[]measured{few, at(10000, 10, 10, 250, 0.2)},
			"confirmed: page reads 2.50× the bytes a row at 10× the size of its collection or content (10 → 25), p50 100µs → 200µs",
		},
		{
			byRows,
			[]measured{few, at(1_000_000, 10_000, 10_000, 1e5, 1)},
			"confirmed: page scans 1000× the rows at 1000× the rows (10 → 10.0k), p50 100µs → 1.00ms",
		},
		{byDeletes, []measured{few}, "not measured: no operation succeeded at each point"},
		{byRows, []measured{few, few}, "not measured: no operation succeeded at each point"},
		{nil, nil, "not shown: why"},
	} {
		p := probe{finding: lint.Finding{Table: "t"}, op: "page", shows: tc.shows, why: "why"}
		r := &results.Run{Sweep: &results.Sweep{}}
		for i, m := range tc.at {
			point, phase := fmt.Sprint(m.rows), provePhase
			if i > 0 && tc.shows.after != "" {
				phase = tc.shows.after
			}
			if i == 0 || m.rows != tc.at[0].rows {
				r.Sweep.Points = append(r.Sweep.Points, results.SweepPoint{Value: point, Messages: m.rows})
			}
			for _, c := range []struct {
				key results.Key
				op  results.Op
			}{
				{results.Key{Engine: "e", Phase: "warmup"}, results.Op{Count: 1}},
				{results.Key{Engine: "e", Phase: phase}, m.Op},
				{results.Key{Engine: "other", Phase: phase}, results.Op{Count: 1}},
			} {
				c.key.Point = point
				r.Cells = append(r.Cells, results.Cell{Key: c.key, Ops: map[string]results.Op{"page": c.op}})
			}
		}
		if verdict, measured := p.verdict(r, "e"); verdict+": "+measured != tc.want {
			t.Errorf("%s: %s\nwant %s", verdict, measured, tc.want)
		}
	}
}

// TestProbes makes the workload of each flawed design of the lint corpus, and names what it can show.
func TestProbes(t *testing.T) {
	files, err := filepath.Glob("../../schemas/lint/testdata/corpus/*/*.yaml")
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
		k, err := Of(s, engines.All())
		if err != nil {
			t.Fatal(err)
		}
		if w, err := workloads.Parse(file, []byte(k.Workload()), k.Operations(false)); err != nil {
			t.Errorf("%v\n%s", err, w.Source)
		}
		flawed, can := strings.Contains(file, "flawed"), false
		for _, p := range k.probes {
			can = can || p.shows != nil
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
		text, err := k.ProofWorkload("")
		if err != nil {
			t.Fatal(err)
		}
		w, err := workloads.Parse(file, []byte(text), k.Operations(true))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		} else if len(w.Sweep.Points) != 2 {
			t.Errorf("%s: %d points", file, len(w.Sweep.Points))
		}
	}
	if shown < 21 {
		t.Errorf("a run can show the flaws of %d designs, of 21", shown)
	}
}
