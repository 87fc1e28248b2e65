package workloads

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
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
	w, err := Parse("depth.yaml", []byte(strings.Replace(swept, "page: 25}", "depth: 4}", 1)), "sweep={phases.measure.mix.list.depth: [1, 40]}")
	if err != nil || w.Sweep.Points[1].Workload.Phases[1].How[List].Depth != 40 || w.Sweep.Grows() {
		t.Errorf("%+v, %v", w, err)
	}
	if err := check(t, compiledSchema(t), []byte(strings.Replace(swept, "page: 25}", "depth: 4}", 1))); err != nil {
		t.Errorf("the schema: %v", err)
	}
}
