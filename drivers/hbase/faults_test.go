package hbase

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/faulty"
	"github.com/mailbench/mailbench/schemas"
)

// TestFaults puts faults between the contract and HBase, those that this
// driver's own way of doing things could have: the contract sees them here, too.
func TestFaults(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	for name, topic := range map[string]string{
		"ignores-limit": "limits", "reverses-desc": "composite", "delete-wins-ties": "ties", "loses-second-family": "nested",
		"loses-statics": "statics", "put-merges": "sets", "put-if-always": "narrow", "halves-batches": "batches",
		"returns-old": "returns", "range-runs-on": "deletes",
	} {
		f := faulty.Faults()[slices.IndexFunc(faulty.Faults(), func(f faulty.Fault) bool { return f.Name == name })]
		at := drivertest.Topics()[slices.IndexFunc(drivertest.Topics(), func(k drivertest.Topic) bool { return k.Name == topic })]
		t.Run(name, func(t *testing.T) {
			wrapped := faulty.Wrap(st, f)
			open := func(t testing.TB, s *schemas.Schema) drivers.Store {
				if err := wrapped.Apply(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				return wrapped
			}
			r := &failing{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer r.clean()
				at.Run(r, open)
			}()
			<-done
			if len(r.said) == 0 {
				t.Errorf("topic %s did not see it: %s", topic, f.Doc)
			}
		})
	}
}

// failing is a test that is to fail. Topics report from their own goroutine only.
type failing struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (r *failing) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *failing) Error(args ...any) { r.said = append(r.said, fmt.Sprintln(args...)) }
func (r *failing) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *failing) Fatal(args ...any)   { r.Error(args...); runtime.Goexit() }
func (r *failing) FailNow()            { r.Fatal("failed") }
func (r *failing) Fail()               { r.Error("failed") }
func (r *failing) Failed() bool        { return len(r.said) > 0 }
func (r *failing) Logf(string, ...any) {}
func (r *failing) Log(...any)          {}
func (r *failing) Cleanup(f func())    { r.cleanups = append(r.cleanups, f) }

func (r *failing) clean() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// TestBatching runs what batching changes with gohbase's own batching on.
func TestBatching(t *testing.T) {
	st := openLive(t, newNamespace(), map[string]string{"batching": "64/1ms"})
	if got := st.Observe().Settings["batching"]; got != "64/1ms" {
		t.Errorf("the effective setting is %q", got)
	}
	for _, topic := range drivertest.Topics() {
		switch topic.Name {
		case "multiget", "batches", "concurrency", "contexts":
			t.Run(topic.Name, func(t *testing.T) {
				topic.Run(t, func(t testing.TB, s *schemas.Schema) drivers.Store {
					if err := st.Apply(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					return st
				})
			})
		}
	}
}
