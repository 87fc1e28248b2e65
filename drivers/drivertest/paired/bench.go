package paired

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// BlockVariable names the environment variable that sets the length of a block
// in benchmarks, such as 10s; 1s without it.
const BlockVariable = "MAILBENCH_BLOCK"

// maxWarmUp bounds the warm-up of a benchmark.
const maxWarmUp = time.Minute

// Benchmark compares driver with bare at 1, 16 and 64 clients, over as many
// pairs of blocks as there are iterations: -benchtime 15x runs fifteen. It
// prints a table, reports the ratios as metrics, and fails if the bounds do
// not hold.
func Benchmark(b *testing.B, bare, driver Side) {
	b.Helper()
	block := time.Second
	if v := os.Getenv(BlockVariable); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			b.Fatalf("%s=%q: expected a duration such as 10s", BlockVariable, v)
		}
		block = d
	}
	for _, clients := range []int{1, 16, 64} {
		name := fmt.Sprintf("clients=%d", clients)
		var missed error
		b.Run(name, func(b *testing.B) {
			missed = report(b, bare, driver, Plan{Clients: clients, Pairs: b.N, Block: block, WarmUp: maxWarmUp})
		})
		if missed != nil { // here, since a benchmark that fails prints no metrics
			b.Errorf("%s: %v", name, missed)
		}
	}
}

// report runs one comparison and says which bound it misses.
func report(b *testing.B, bare, driver Side, p Plan) error {
	r, err := Run(b.Context(), bare, driver, p)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%v", r)
	t, cpu := r.Throughput(), r.CPU()
	b.ReportMetric(0, "ns/op") // of a pair: left out
	b.ReportMetric(t.Median, "throughput-ratio")
	b.ReportMetric(t.Low, "ratio-low")
	b.ReportMetric(t.High, "ratio-high")
	b.ReportMetric(cpu.Median, "cpu-ratio")
	if p.Pairs < MinPairs {
		return nil
	}
	return r.Kept()
}
