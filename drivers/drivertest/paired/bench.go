package paired

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Variable names the environment variable that says how many pairs of blocks a
// benchmark runs and how long a block is, such as 15x10s; 3x1s without it.
const Variable = "MAILBENCH_PAIRED"

// maxWarmUp bounds the warm-up of a benchmark.
const maxWarmUp = time.Minute

// Benchmark compares driver with bare at 1, 16 and 64 clients, each once,
// whatever -benchtime says. It prints tables, reports the ratios as metrics, and
// fails if the bounds do not hold.
func Benchmark(b *testing.B, bare, driver Side) {
	b.Helper()
	p := Plan{Pairs: 3, Block: time.Second, WarmUp: maxWarmUp}
	if v := os.Getenv(Variable); v != "" {
		var err error
		if p.Pairs, p.Block, err = parse(v); err != nil {
			b.Fatalf("%s: %v", Variable, err)
		}
	}
	for _, p.Clients = range []int{1, 16, 64} {
		name := fmt.Sprintf("clients=%d", p.Clients)
		var missed error
		b.Run(name, func(b *testing.B) { missed = report(b, bare, driver, p) })
		if missed != nil { // here, since a benchmark that fails prints no metrics
			b.Errorf("%s: %v", name, missed)
		}
	}
}

func parse(v string) (pairs int, block time.Duration, err error) {
	n, d, _ := strings.Cut(v, "x")
	pairs, err = strconv.Atoi(n)
	if err == nil {
		block, err = time.ParseDuration(d)
	}
	if err != nil || pairs < 1 || block <= 0 {
		return 0, 0, fmt.Errorf("%q; expected pairs of blocks and the length of a block, such as 15x10s", v)
	}
	return pairs, block, nil
}

// report runs one comparison and says which bound it misses.
func report(b *testing.B, bare, driver Side, p Plan) error {
	r, err := Run(b.Context(), bare, driver, p)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%v", r)
	t, cpu := r.Throughput(), r.CPU()
	b.ReportMetric(0, "ns/op") // of all of it: left out
	b.ReportMetric(t.Median, "throughput-ratio")
	b.ReportMetric(t.Low, "ratio-low")
	b.ReportMetric(t.High, "ratio-high")
	b.ReportMetric(cpu.Median, "cpu-ratio")
	if p.Pairs < MinPairs {
		return nil
	}
	return r.Kept()
}
