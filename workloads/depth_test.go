package workloads

import (
	"strings"
	"testing"
)

// A list of some depth begins behind the pages before it; in a session it goes on from there.
func TestDepth(t *testing.T) {
	w, err := Parse("depth.yaml", []byte(strings.Replace(swept, "page: 25}", "page: 10, depth: 4, keys: {deep: 1}}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	var o Operation
	for n := range uint64(50) {
		if w.Plan(&w.Phases[1], censusOf(t, w)).Next(n, &o); o.Skip != 30 || o.Page != 10 || o.Deep {
			t.Fatalf("%+v", o)
		}
	}
	w, err = Parse("depth.yaml", []byte(strings.Replace(swept, "mix: {list: {weight: 1, page: 25}}", "think: 1ms, session: [list: {times: 2, page: 10, depth: 4}]", 1)))
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
	for _, c := range []struct{ mix, want string }{
		{"{list: {weight: 1, depth: 0}}", "depth of list in mix of phase measure must be"},
		{"{list: {weight: 1, depth: 1.5}}", "depth of list in mix of phase measure must be"},
		{"{list: {weight: 1, depth: 1e9}}", "depth of list in mix of phase measure must be"},
		{"{open: {weight: 1, depth: 2}}", `unknown key "depth" in open`},
	} {
		src := []byte(strings.Replace(swept, "{list: {weight: 1, page: 25}}", c.mix, 1))
		if _, err := Parse("depth.yaml", src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.mix, err, c.want)
		}
	}
	w, err = Parse("depth.yaml", []byte(strings.Replace(swept, "page: 25}", "depth: 4}", 1)), "sweep={phases.measure.mix.list.depth: [1, 40]}")
	if err != nil || w.Sweep.Points[1].Workload.Phases[1].How[List].Depth != 40 || w.Sweep.Grows() {
		t.Errorf("%+v, %v", w, err)
	}
	if err := check(t, compiledSchema(t), []byte(strings.Replace(swept, "page: 25}", "depth: 4}", 1))); err != nil {
		t.Errorf("the schema: %v", err)
	}
}
