package plan

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// A phase is scaled as a whole: streams keep their shares, and nothing of the phase that
// it was made from changes.
func TestAtRate(t *testing.T) {
	w, err := workloads.Parse("rate.yaml", []byte(`
version: 1
name: rate
population: {users: 5, messages: 5}
phases:
  - load: {}
  - measure: {name: one, clients: 7, operations: 9, mix: {list: 1}}
  - measure:
      name: two
      duration: 10s
      streams: [{rate: 30/s, mix: {list: 1}}, {rate: 10/s, arrivals: poisson, mix: {open: 1}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	one, err := AtRate(w.Phases[1], 50, time.Minute)
	if err != nil || one.Arrivals != workloads.Poisson || one.Clients != 0 || one.Operations != 0 || one.Duration != time.Minute || one.Rate.PerSecond() != 50 {
		t.Errorf("%+v, %v", one, err)
	}
	two, err := AtRate(w.Phases[2], 80, time.Minute)
	if err != nil || two.Rate.PerSecond() != 80 || two.Streams[0].Rate.PerSecond() != 60 || two.Streams[1].Rate.PerSecond() != 20 {
		t.Errorf("%+v, %v", two, err)
	}
	if p := w.Phases[2]; p.Streams[0].Rate.PerSecond() != 30 || p.Rate.PerSecond() != 40 {
		t.Errorf("the phase itself has changed: %+v", p)
	}
	if _, err := AtRate((workloads.Phase{Name: "r", Replay: &workloads.Replay{}}), 1, time.Second); err == nil {
		t.Error("a trace has a rate")
	}
}
