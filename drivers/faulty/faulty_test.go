package faulty_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/faulty"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

var all = flag.Bool("all", false, "run all topics over each fault and log which of them see it")

func TestMain(m *testing.M) {
	flag.Parse()
	// The rules must fail here: no time for finding the shortest example.
	for name, value := range map[string]string{"rapid.shrinktime": "0s", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// sees names topics of drivertest that are there to see each fault: of those
// that do (-all logs them), the ones whose subject it is, and none that needs luck.
var sees = map[string][]string{
	"ignores-limit":       {"rows", "composite", "nested", "indexes"},
	"reverses-desc":       {"keys", "composite", "statics", "nested", "indexes"},
	"repeats-after":       {"keys", "rows"},
	"closes-open-bounds":  {"keys", "composite", "indexes"},
	"filters-late":        {"rows"},
	"skips-row":           {"rows", "composite"},
	"ignores-list-order":  {"rows", "composite"},
	"late-rows":           {"rows", "composite"},
	"swallows-errors":     {"rows", "composite", "nested"},
	"empty-is-null":       {"rows", "narrow", "conditions"},
	"reverses-lists":      {"collections"},
	"loses-write":         {"rows", "collections"},
	"loses-second-family": {"nested", "batches"},
	"loses-statics":       {"statics"},
	"drops-chunk":         {"rows", "nested"},
	"delete-wins-ties":    {"rows", "batches"},
	"truncates":           {"rows"},
	"cuts-at-nul":         {"keys", "rows", "collections", "nested"},
	"keeps-arguments":     {"rows", "narrow", "composite"},
	"replaces-rows":       {"rows", "collections"},
	"put-merges":          {"collections"},
	"deletes-children":    {"nested"},
	"prefix-too-short":    {"composite", "nested", "indexes"},
	"retries-adds":        {"counters", "collections"},
	"stale-counters":      {"counters"},
	"returns-old":         {"counters"},
	"put-if-always":       {"conditions"},
	"claims-applied":      {"conditions"},
	"halves-batches":      {"batches", "rows"},
	"tears-batches":       {"batches"},
	"counts-parts":        {"batches"},
	"counts-returned":     {"rows"},
	"ignores-contexts":    {"rows"},
	"emulates-in-silence": {"indexes"},
	"applies-anything":    {"rows"},
	"inspects-no-order":   {"statics", "nested"},
	"inspects-too-little": {"rows", "nested"},
	"inspects-no-index":   {"indexes"},
}

// open returns one store that all topics share.
func open(t *testing.T, f faulty.Fault) drivertest.Open {
	ctx := context.Background()
	st, err := pebble.Engine().Open(ctx, drivers.Options{Dir: t.TempDir() + "/data", Durability: drivers.Process})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	wrapped := faulty.Wrap(st, f)
	return func(testing.TB, *schemas.Schema) drivers.Store { return wrapped }
}

// TestNoFault: a wrapper that breaks nothing passes, so a failure is due to the fault.
func TestNoFault(t *testing.T) { drivertest.Run(t, open(t, faulty.Fault{})) }

// TestFaults: each fault is seen by the topics that are there for it.
func TestFaults(t *testing.T) {
	topics := make(map[string]drivertest.Topic)
	for _, topic := range drivertest.Topics() {
		topics[topic.Name] = topic
	}
	for _, f := range faulty.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			open := open(t, f)
			if *all {
				for _, topic := range drivertest.Topics() {
					if why := failure(t, topic, open); why != "" {
						t.Logf("%s: %.200s", topic.Name, why)
					}
				}
			}
			if len(sees[f.Name]) == 0 {
				t.Errorf("no topic is there to see it")
			}
			for _, name := range sees[f.Name] {
				topic, ok := topics[name]
				if !ok {
					t.Fatalf("drivertest has no topic %s", name)
				}
				if failure(t, topic, open) == "" {
					t.Errorf("%s did not see it: %s", name, f.Doc)
				}
			}
		})
	}
}

// failure runs one topic and returns why it failed, or "".
func failure(t *testing.T, topic drivertest.Topic, open drivertest.Open) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.clean()
		topic.Run(r, open)
	}()
	<-done
	return strings.Join(r.messages, "; ")
}

// recorder is a test that may fail. Topics report from their own goroutine only.
type recorder struct {
	testing.TB
	messages []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.messages = append(r.messages, fmt.Sprintln(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any)   { r.Error(args...); runtime.Goexit() }
func (r *recorder) FailNow()            { r.Fatal("failed") }
func (r *recorder) Fail()               { r.Error("failed") }
func (r *recorder) Failed() bool        { return len(r.messages) > 0 }
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Log(...any)          {}
func (r *recorder) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }

func (r *recorder) clean() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}
