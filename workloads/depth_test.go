package workloads

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	for _, c := range []struct{ mix, want string }{
		{"{list: {weight: 1, page_number: 0}}", "page_number of list in mix of phase measure must be"},
		{"{list: {weight: 1, page_number: 1.5}}", "page_number of list in mix of phase measure must be"},
		{"{list: {weight: 1, page_number: 1e9}}", "page_number of list in mix of phase measure must be"},
		{"{open: {weight: 1, page_number: 2}}", `unknown key "page_number" in open`},
	} {
		src := []byte(strings.Replace(swept, "{list: {weight: 1, page: 25}}", c.mix, 1))
		if _, err := Parse("depth.yaml", src); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.mix, err, c.want)
		}
	}
	w, err := Parse("depth.yaml", []byte(strings.Replace(swept, "page: 25}", "page_number: 4}", 1)), "sweep={phases.measure.mix.list.page_number: [1, 40]}")
	if err != nil || w.Sweep.Points[1].Workload.Phases[1].How[List].Depth != 40 || w.Sweep.Grows() {
		t.Errorf("%+v, %v", w, err)
	}
	if err := check(t, compiledSchema(t), []byte(strings.Replace(swept, "page: 25}", "page_number: 4}", 1))); err != nil {
		t.Errorf("the schema: %v", err)
	}
}
