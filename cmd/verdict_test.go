package cmd

import (
	"testing"

	"github.com/mailbench/mailbench/reports"
)

// The status of a run that is done: data that is wrong before all else, and no
// wrong data where none was acknowledged.
func TestVerdict(t *testing.T) {
	failed := []reports.Cell{{Model: "james", Engine: "hbase", Phase: "load", Verdict: reports.Failed, Reason: "refused"}}
	for _, c := range []struct {
		name string
		run  reports.Run
		want int
	}{
		{"well", reports.Run{Audits: []reports.Audit{{Verified: 3, Unknown: 4, Unreferenced: 5, CounterDrift: 6, Duplicated: 7}}}, exitOK},
		{"a failed cell", reports.Run{Cells: failed}, exitFailed},
		{"lost", reports.Run{Cells: failed, Audits: []reports.Audit{{Lost: 1}}}, exitData},
		{"back from the dead, and interrupted", reports.Run{Interrupted: true, Audits: []reports.Audit{{Resurrected: 1, Interrupted: true}}}, exitData},
		{"half a message", reports.Run{Audits: []reports.Audit{{BrokenBodies: 1}}}, exitData},
		{"half a message of an operation that was broken off", reports.Run{Audits: []reports.Audit{{BrokenBodies: 1, Dangling: 1, Interrupted: true}}}, exitOK},
		{"not all could be read", reports.Run{Audits: []reports.Audit{{Verified: 3, Unread: 1}}}, exitFailed},
		{"interrupted", reports.Run{Interrupted: true, Cells: failed}, exitInterrupted},
	} {
		if got := exitStatus(verdict(&c.run)); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
}
