package results

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/growth"
)

// TestRenamed: results of an earlier build are read with the words of this one.
func TestRenamed(t *testing.T) {
	text, err := os.ReadFile("testdata/sample/run.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.NewReplacer(`"segment":`, `"shard":`, `"segments":`, `"shards":`, `"requests":`, `"calls":`, `"requests_deviation":`,
		`"calls_deviation":`, `"rows_scanned":`, `"rows_examined":`, `"rows_scanned_deviation":`, `"rows_examined_deviation":`, `"kind":"drop-caches"`, `"kind":"cold"`)
	if got, err := Parse([]byte(old.Replace(string(text)))); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with earlier keys the sample is another run: %v", err)
	}
	named := strings.NewReplacer(`"list":{`, `"calls":{`, `"open":{`, `"shards":{`) // operations of a team's own keyspace
	if r, err := Parse([]byte(named.Replace(string(text)))); err != nil || !slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Ops["calls"].Count > 0 && c.Ops["shards"].Count > 0
	}) {
		t.Errorf("operations lost their names: %v", err)
	}
	hiccups := regexp.MustCompile(`"lateness_ns":`).ReplaceAllString(string(text), `"hiccups":{"count":2,"total_ns":9,"stopped_ns":3,
		"lateness":{"p50":1,"p90":2,"p99":3,"p99_9":4,"max":5,"mean":2}},$0`)
	if r, err := Parse([]byte(hiccups)); err != nil || *r.Cells[troubled].Evidence.Hiccups != (Hiccups{2, 9, 5}) {
		t.Errorf("hiccups: %v", err)
	}
	begin, rest, _ := strings.Cut(old.Replace(string(text)), "{")
	r, err := Parse([]byte(begin + `{"answer": ["It needs {list.calls at 1} and scans {list.examined}."], "sweep": {"growth": [
		{"figure": "calls", "class": "flat"}, {"figure": "bytes", "class": "cannot tell"}]}, "workload": {
		"text": "name: own\npatterns: {\"put\": \"write\", \"page\": \"read\"}\nvalues: {}\n"},` + strings.Replace(rest, `"workload"`, `"was"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "It needs {list.requests at 1} and scans {list.scanned}."; !slices.Equal(r.Answer, []string{want}) {
		t.Errorf("answer %q", r.Answer)
	}
	if want := "name: own\npatterns: [\"put\", \"page\"]\nvalues: {}\n"; r.Workload.Text != want {
		t.Errorf("workload %q", r.Workload.Text)
	}
	if g := r.Sweep.Growth; g[0].Figure != Requests || g[1].Figure != Bytes || g[1].Class != growth.Unclear {
		t.Errorf("growth %+v", g)
	}
}
