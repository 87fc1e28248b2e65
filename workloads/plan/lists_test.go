package plan

import (
	"testing"

	"github.com/mailbench/mailbench/workloads"
)

// deep is a workload up to the mix of its measured phase.
const deep = `version: 1
name: deep
population: {users: 1, folders: 1, messages: 100}
phases:
  - load: {}
  - measure: {rate: 50/s, duration: 1s, `

// A list of some depth begins after the pages before it; in a session it goes on from there.
func TestDepthOfLists(t *testing.T) {
	w, err := workloads.Parse("depth.yaml", []byte(deep+"mix: {list: {weight: 1, page: 10, page_number: 4, access: {deep_share: 1}}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var o Operation
	for n := range uint64(50) {
		if New(w, &w.Phases[1], censusOf(t, w)).Next(n, &o); o.Skip != 30 || o.Page != 10 || o.Deep {
			t.Fatalf("%+v", o)
		}
	}
	w, err = workloads.Parse("depth.yaml", []byte(deep+"think_time: 1ms, session: [list: {times: 2, page: 10, page_number: 4}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ops, _ := all(t, w, &w.Phases[1])
	skips := map[int]int{}
	for i := range ops {
		skips[ops[i].Skip]++
	}
	if len(skips) != 2 || skips[30] == 0 || skips[40] == 0 {
		t.Errorf("lists skip %v, want 30 and 40", skips)
	}
}
