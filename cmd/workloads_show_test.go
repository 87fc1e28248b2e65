package cmd

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads"
)

// TestDescribeWorkloads: each bundled workload is described with all its phases and operations.
func TestDescribeWorkloads(t *testing.T) {
	t.Setenv("COLUMNS", "300")
	for _, name := range workloads.BundledNames() {
		w, err := workloads.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		describeWorkload(&out, w)
		for i := range w.Phases {
			if !strings.Contains(out.String(), "\n"+w.Phases[i].Name) {
				t.Errorf("%s: no phase %s in\n%s", name, w.Phases[i].Name, &out)
			}
			mix := w.Phases[i].PerSecond()
			for op := range workloads.Op(workloads.NumOps) {
				if w.Phases[i].Runs() && mix.Has(op) && !strings.Contains(out.String(), op.String()+" ") {
					t.Errorf("%s: no operation %s in\n%s", name, op, &out)
				}
			}
		}
		for _, wrong := range []string{"NaN", " 0/s", " 0 clients"} {
			if strings.Contains(out.String(), wrong) {
				t.Errorf("%s: %s in\n%s", name, wrong, &out)
			}
		}
	}
}
