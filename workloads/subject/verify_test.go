package subject

import (
	"testing"

	"github.com/mailbench/mailbench/models"
)

// schema validate and a run's audit have one rule: the state after an interruption is no damage.
func TestAuditsHaveOneRule(t *testing.T) {
	for _, x := range []struct {
		audit Verification
		exact bool
		want  bool
	}{
		{Verification{Audit: models.Audit{Duplicated: 1, Unreferenced: 1}}, true, false},
		{Verification{Audit: models.Audit{Dangling: 1}}, false, true},
		{Verification{Audit: models.Audit{Dangling: 1, BrokenBodies: 1}, remote: true}, false, false},
		{Verification{Audit: models.Audit{Dangling: 1}, remote: true}, true, true},
		{Verification{Audit: models.Audit{CounterDrift: 1}}, true, true},
		{Verification{Audit: models.Audit{CounterDrift: 1}}, false, false},
		{Verification{Error: "corrupt row"}, false, true},
		{Verification{Error: "too many open files", interrupted: true}, true, false},
	} {
		if got := x.audit.Broken(x.exact); got != x.want {
			t.Errorf("%+v, exact %t: broken %t", x.audit, x.exact, got)
		}
	}
}
