package latency_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads/latency"
)

func Example() {
	const workers = 2
	operations := []string{"open", "list"}
	rec := latency.NewRecorder(len(operations), workers, true)

	// Each worker records into its own Worker. An operation was scheduled at 0,
	// started 1 ms later and took 4 ms.
	rec.Worker(0).Record(0, latency.OK, false, 0, time.Millisecond, 5*time.Millisecond, 0)
	rec.Worker(1).Record(1, latency.Failed, false, 0, 0, time.Second, 0)

	// One goroutine takes what they recorded since the last tick.
	interval := rec.Tick()
	fmt.Println("open in this interval:", interval[0].Counts[latency.OK], "ok")

	open := &rec.Total[0]
	for _, k := range []latency.Kind{latency.Response, latency.Service, latency.Wait} {
		took := time.Duration(open.Times[k].At(99.9, 0))
		fmt.Println("open,", k, "at p99.9:", took.Round(100*time.Microsecond))
	}
	fmt.Println("list:", rec.Total[1].Counts[latency.Failed], "failed")
	// Output:
	// open in this interval: 1 ok
	// open, response at p99.9: 5ms
	// open, service at p99.9: 4ms
	// open, lag at p99.9: 1ms
	// list: 1 failed
}

// A log has a line for each interval, operation and kind of time.
func ExampleLog() {
	var text strings.Builder
	start := time.Unix(1_700_000_000, 0)
	log, err := latency.NewLog(&text, start)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	rec := latency.NewRecorder(1, 1, false)
	rec.Worker(0).Record(0, latency.OK, false, 0, 0, time.Millisecond, 0)
	tag := func(op, kind string) string { return "james/embedded/measure/1/1/" + op + "/" + kind }
	log.Write(tag, []string{"open"}, rec.Tick(), start, start.Add(time.Second))
	if err := log.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	times, err := latency.ReadLog(strings.NewReader(text.String()), func(tag string) (string, bool) { return tag, true })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for tag, h := range times {
		fmt.Println(tag, h.Count())
	}
	// Unordered output: james/embedded/measure/1/1/open/service 1
	// james/embedded/measure/1/1/open/latency 1
}
