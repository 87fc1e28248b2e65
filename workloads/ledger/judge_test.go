package ledger

import (
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads"
)

// An audit judges a message by what the store acknowledged of it.
func TestJudge(t *testing.T) {
	const listed, opens, whole = 1, 2, 4
	lost, corrupt, resurrected := reports.Audit{Lost: 1}, reports.Audit{Corrupt: 1}, reports.Audit{Resurrected: 1}
	for _, c := range []struct {
		state       State
		found       int
		interrupted bool
		want        reports.Audit
	}{
		{Live, listed | opens | whole, false, reports.Audit{Verified: 1}},
		{Live, listed | opens | whole, true, reports.Audit{Verified: 1}},
		{Live, 0, true, lost},
		{Live, listed, true, lost},
		{Live, opens | whole, true, lost},
		{Live, listed | opens, true, corrupt},
		{Gone, 0, false, reports.Audit{}},
		{Gone, listed, true, resurrected},
		{Gone, opens | whole, true, resurrected},
		// The outcome is unknown: there or not, but not half, unless an operation may
		// have been broken off half way.
		{LiveOrGone, listed | opens | whole, false, reports.Audit{}},
		{LiveOrGone, 0, false, reports.Audit{}},
		{LiveOrGone, listed | opens, false, corrupt},
		{LiveOrGone, listed | opens, true, reports.Audit{}},
		{GoneOrLive, listed, true, reports.Audit{}},
		{GoneOrLive, opens, true, reports.Audit{}},
	} {
		w := auditWorker{Auditor: &Auditor{Address: workloads.Address, Folder: func(_, f int) string { return workloads.FolderName(f) }}}
		w.found.Interrupted = c.interrupted
		w.judge(&Entry{State: c.state}, c.found&listed > 0, c.found&opens > 0, c.found&whole > 0)
		if a := w.found; a.Verified != c.want.Verified || a.Lost != c.want.Lost || a.Corrupt != c.want.Corrupt || a.Resurrected != c.want.Resurrected {
			t.Errorf("state %d, found %03b, interrupted %v: %+v", c.state, c.found, c.interrupted, a)
		}
	}
}
