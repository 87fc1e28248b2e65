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
  - measure: {name: one, rate: {ramp: {from: 1/s, to: 9/s, over: 5s}}, duration: 9s, mix: {list: 1}}
  - measure:
      name: two
      duration: 10s
      streams: [{rate: 30/s, mix: {list: 1}}, {rate: 10/s, arrivals: poisson, mix: {open: 1}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	one := AtRate(w.Phases[1], 50, time.Minute)
	if one.Shape != nil || one.Operations != 0 || one.Duration != time.Minute || one.Rate.PerSecond() != 50 {
		t.Errorf("%+v, %v", one, err)
	}
	two := AtRate(w.Phases[2], 80, time.Minute)
	if two.Rate.PerSecond() != 80 || two.Streams[0].Rate.PerSecond() != 60 || two.Streams[1].Rate.PerSecond() != 20 {
		t.Errorf("%+v, %v", two, err)
	}
	if p := w.Phases[2]; p.Streams[0].Rate.PerSecond() != 30 || p.Rate.PerSecond() != 40 {
		t.Errorf("the phase itself has changed: %+v", p)
	}
}
