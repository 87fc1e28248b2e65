package drive

import (
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// TestSearchNeedsAnotherFolder: a message to move or label is not taken from an account with one folder.
func TestSearchNeedsAnotherFolder(t *testing.T) {
	w, err := workloads.Parse("w.yaml", []byte(`
version: 1
name: w
population: {users: 3, folders: 2, messages: 1}
phases: [load: {}, measure: {clients: 1, operations: 1, mix: {move: 1, label: 1}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.New(w, &w.Phases[1], c)
	for _, op := range []workloads.Op{workloads.Move, workloads.Label} {
		for _, elsewhere := range []bool{false, true} { // the third account has a message
			live := &subject.Live{Accounts: make([]subject.Account, 3)}
			for u, folders := range []int{2, 1, 2} {
				for range folders {
					live.Accounts[u].Folders = append(live.Accounts[u].Folders, subject.Folder{FolderSet: &subject.FolderSet{}})
				}
			}
			live.Accounts[1].Folders[0].Add(models.Handle{1})
			if elsewhere {
				live.Accounts[2].Folders[1].Add(models.Handle{2})
			}
			one := &task{live: live, target: &subject.Target{}}
			p.Given(0, op, 0, 0, &one.op)
			ok, err := one.choose()
			if ok != elsewhere || err != nil {
				t.Errorf("%s: found %v, %v; want %v", op, ok, err, elsewhere)
			}
			if ok && (one.handle != models.Handle{2} || one.to.FolderSet == one.from.FolderSet) {
				t.Errorf("%s: message %v, into the folder where it is: %v", op, one.handle, one.to == one.from)
			}
		}
	}
}
