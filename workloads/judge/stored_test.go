package judge

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

var update = flag.Bool("update", false, "rewrite testdata/cases/run.json")

// cases are the results that hold the cells of TestJudge.
const cases = "testdata/cases"

// A saved run that is judged again gets the same verdicts and warnings.
func TestStoredResultsAreJudgedAsTheyWere(t *testing.T) {
	if *update {
		store(t)
	}
	files, err := filepath.Glob("testdata/*/" + results.RunFile)
	if err != nil || len(files) == 0 {
		t.Fatalf("no stored results (go test -update writes some): %v", err)
	}
	for _, file := range files {
		r, err := results.Open(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Cells) == 0 {
			t.Errorf("%s has no cells", file)
		}
		for i := range r.Cells {
			c := &r.Cells[i]
			if got := again(c); !reflect.DeepEqual(got, *c) {
				t.Errorf("%s: cell %d, %s: judged\n%s, stored is\n%s", file, i, c, encoded(t, got), encoded(t, c))
			}
		}
	}
}

// again is the cell judged again, without objectives.
func again(c *results.Cell) results.Cell {
	own := *c
	Apply(&own, nil)
	return own
}

// Apply reads no judgment that is in the cell, and changes nothing that its evidence refers to.
func TestJudgeIsPure(t *testing.T) {
	for _, c := range slices.Concat(verdicts, doubts) {
		judged := c.cell()
		Apply(judged, nil)
		before := encoded(t, judged)
		if got := again(judged); !reflect.DeepEqual(got, again(c.cell())) {
			t.Errorf("%s: judged again: %s", c.name, encoded(t, got))
		}
		if after := encoded(t, judged); after != before {
			t.Errorf("%s: the cell was\n%s, is\n%s", c.name, before, after)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// store writes the results of cases.
func store(t *testing.T) {
	t.Helper()
	r := &results.Run{Format: results.Format, Started: "2026-11-21T05:27:59Z"}
	for i, c := range slices.Concat(verdicts, doubts) {
		cell := c.cell()
		Apply(cell, nil)
		cell.Trial = i + 1
		r.Cells = append(r.Cells, *cell)
	}
	dir := filepath.Join(t.TempDir(), "results")
	d, err := results.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(r); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, results.RunFile))
	if err == nil {
		err = os.MkdirAll(cases, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(cases, results.RunFile), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
