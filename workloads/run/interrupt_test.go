package run

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/workloads/results"
)

const breaks = `
  - measure: {clients: 1, operations: 5, mix: {list: 1}}
  - interrupt: {name: broken, messages: 2}`

// interruptedOf has the findings of the run's only phase interrupt.
func interruptedOf(t *testing.T, r *results.Run) []results.Interrupted {
	t.Helper()
	c := r.Cells[len(r.Cells)-1]
	if c.Phase != "broken" || c.Kind != results.KindInterrupt || c.Verdict != results.OK {
		t.Fatalf("the last cell is %s of kind %s: %s", c.Phase, c.Kind, why(c))
	}
	return c.Interrupted
}

// Operations are interrupted in a namespace of their own, which is dropped while the data set is kept.
func TestInterruptOnAServer(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, breaks)
	c.Models, c.DataDir, c.Audit = []models.Model{oracle.Model()}, filepath.Join(t.TempDir(), "data"), AuditAfter
	r := runOK(t, c)
	if got := interruptedOf(t, r); len(got) != 2 || got[0].Op != "move" || got[1].Op != "delete" || got[0].Writes == 0 {
		t.Errorf("interrupted: %+v", got)
	}
	if a := auditOf(t, r); a.Wrong() || a.Accounts != int64(c.Workload.Population.Users) {
		t.Errorf("the data set has %d accounts: %+v", a.Accounts, a)
	}
	if names := s.namespaces(); len(names) != 1 || len(s.opened) != 3 || s.opened[1].Namespace == s.opened[2].Namespace {
		t.Errorf("namespaces %v stay of %+v", names, s.opened)
	}
	if files, _ := filepath.Glob(filepath.Join(c.DataDir, "*-interrupt-*")); len(files) > 0 {
		t.Errorf("%v stay", files)
	}
}

// If the namespace cannot be dropped, the result says so, and the folder that notes it stays.
func TestInterruptCannotBeDropped(t *testing.T) {
	s := newServer(t)
	s.stuck = errors.New("stuck")
	c := remoteConfig(t, s, breaks)
	c.Models, c.DataDir = []models.Model{oracle.Model()}, filepath.Join(t.TempDir(), "data")
	r := runOK(t, c)
	interruptedOf(t, r)
	files, _ := filepath.Glob(filepath.Join(c.DataDir, "*-interrupt-*", "dataset.json"))
	if len(r.Left) != 1 || len(files) != 1 {
		t.Errorf("left %v, notes %v", r.Left, files)
	}
}

// An engine that keeps nothing has nothing to look at.
func TestInterruptOnNothing(t *testing.T) {
	c := config(t, newFake(), breaks)
	c.Models, c.Engines = []models.Model{oracle.Model()}, []drivers.Engine{null.Engine()}
	if got := interruptedOf(t, runOK(t, c)); got != nil {
		t.Errorf("interrupted: %+v", got)
	}
}
