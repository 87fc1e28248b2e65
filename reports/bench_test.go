package reports

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The format of Go's benchmarks (golang.org/design/14313-benchmark-format): a
// name that ends at a space, the number of iterations, then values with units.
var (
	benchConfig = regexp.MustCompile(`^[a-z][^A-Z\s]*: \S.*$`)
	benchResult = regexp.MustCompile(`^Benchmark[A-Z][^ \t]*-\d+\s+\d+(\t[0-9.e+-]+ [^\s]+)+$`)
)

func TestBenchIsAsItWas(t *testing.T) {
	var buf bytes.Buffer
	if err := WriteBench(&buf, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench.txt", buf.Bytes())
}

func TestBenchFormat(t *testing.T) {
	r := sample()
	r.Cells[0].Model = "a b/c\nd" + hostile
	r.Environment.CPU = "Some\nCPU" + hostile
	var buf bytes.Buffer
	if err := WriteBench(&buf, r); err != nil {
		t.Fatal(err)
	}
	results := 0
	config := map[string]string{}
	for line := range strings.Lines(buf.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case benchConfig.MatchString(line):
			key, value, _ := strings.Cut(line, ": ")
			config[key] = value
		case benchResult.MatchString(line):
			results++
			checkResult(t, line, config)
		default:
			t.Errorf("not a line of the format: %q", line)
		}
	}
	// 3 by james (invalid), 3 by conversation, 3 synced, 3 overloaded, 3 closed.
	if results != 15 {
		t.Errorf("%d results, want 15:\n%s", results, buf.String())
	}
	for key, want := range map[string]string{"goos": "linux", "goarch": "amd64", "workload": "sample"} {
		if config[key] != want {
			t.Errorf("%s is %q, want %q", key, config[key], want)
		}
	}
}

// checkResult compares lines with the sample.
func checkResult(t *testing.T, line string, config map[string]string) {
	t.Helper()
	fields := strings.Fields(line)
	values := map[string]float64{}
	for i := 2; i < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			t.Error(err)
		}
		values[fields[i+1]] = v
	}
	var want map[string]float64
	switch {
	case strings.HasPrefix(fields[0], "BenchmarkMail/model=james/op=open-2"):
		want = map[string]float64{
			"requests/op": 2, "B/op": 12_412, "failed": 2, "unknown": 1, "dropped": 40,
		}
		if values["p50-ns"] == 0 || config["verdict"] != "invalid" || config["durability"] != "process" || fields[1] != "7000" {
			t.Errorf("%v: %s", config, line)
		}
	case strings.Contains(fields[0], "/op=purge"):
		want = map[string]float64{"dropped": 7}
		if len(values) > 1 {
			t.Errorf("a latency of no operation: %s", line)
		}
	case strings.Contains(fields[0], "model=conversation/op=list") && config["phase"] == "closed":
		want = map[string]float64{"p50-ns": 480_000} // service
	}
	for unit, v := range want {
		if got, ok := values[unit]; !ok || got != v {
			t.Errorf("%s is %v, want %v: %s", unit, got, v, line)
		}
	}
}
