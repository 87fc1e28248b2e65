package ledger

import (
	"reflect"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// An audit judges a message by the acknowledged writes of it.
func TestJudge(t *testing.T) {
	const listed, opens, whole = 1, 2, 4
	lost, corrupt, resurrected := results.Audit{Lost: 1}, results.Audit{Corrupt: 1}, results.Audit{Resurrected: 1}
	for _, c := range []struct {
		state       State
		found       int
		interrupted bool
		want        results.Audit
	}{
		{Live, listed | opens | whole, false, results.Audit{Verified: 1}},
		{Live, listed | opens | whole, true, results.Audit{Verified: 1}},
		{Live, 0, true, lost},
		{Live, listed, true, lost},
		{Live, opens | whole, true, lost},
		{Live, listed | opens, true, corrupt},
		{Gone, 0, false, results.Audit{}},
		{Gone, listed, true, resurrected},
		{Gone, opens | whole, true, resurrected},
		// The outcome is unknown: there or not, but not half, unless an operation may
		// have been interrupted half way.
		{LiveOrGone, listed | opens | whole, false, results.Audit{}},
		{LiveOrGone, 0, false, results.Audit{}},
		{LiveOrGone, listed | opens, false, corrupt},
		{LiveOrGone, listed | opens, true, results.Audit{}},
		{GoneOrLive, listed, true, results.Audit{}},
		{GoneOrLive, opens, true, results.Audit{}},
	} {
		w := Auditor{Address: plan.Address, Folder: func(_, f int) string { return plan.FolderName(f) }}
		w.Found.Interrupted = c.interrupted
		w.judge(&Entry{State: c.state}, c.found&listed > 0, c.found&opens > 0, c.found&whole > 0)
		if a := w.Found; a.Verified != c.want.Verified || a.Lost != c.want.Lost || a.Corrupt != c.want.Corrupt || a.Resurrected != c.want.Resurrected {
			t.Errorf("state %d, found %03b, interrupted %v: %+v", c.state, c.found, c.interrupted, a)
		}
	}
}

// keeper is a mailbox that still opens what is deleted.
type keeper struct{ models.Mailbox }

func (keeper) KeepsBodies() {}

// TestKeeper: a message that such a mailbox opens may be deleted, but not one that it lists.
func TestKeeper(t *testing.T) {
	for listed, want := range map[bool]int64{false: 0, true: 1} {
		w := Auditor{Address: plan.Address, Folder: func(_, f int) string { return plan.FolderName(f) }, Mailbox: keeper{}}
		w.judge(&Entry{State: Gone}, listed, true, true)
		if w.Found.Resurrected != want {
			t.Errorf("a deleted message, listed %t, opened: %d still there, want %d", listed, w.Found.Resurrected, want)
		}
	}
}

// Every number that a model finds is in the audit.
func TestTakesAllThatTheModelFound(t *testing.T) {
	m, f := &models.Audit{Notes: []string{"note"}}, &results.Audit{}
	of := reflect.ValueOf(m).Elem()
	for i := range of.NumField() {
		if n := of.Field(i); n.Kind() == reflect.Int64 {
			n.SetInt(int64(1000 + i))
		}
	}
	take(f, m)
	taken := map[int64]bool{}
	for i, to := 0, reflect.ValueOf(f).Elem(); i < to.NumField(); i++ {
		if n := to.Field(i); n.Kind() == reflect.Int64 {
			taken[n.Int()] = true
		}
	}
	for i := range of.NumField() {
		if n := of.Field(i); n.Kind() == reflect.Int64 && !taken[n.Int()] {
			t.Errorf("%s is lost", of.Type().Field(i).Name)
		}
	}
	if len(f.Notes) != 1 {
		t.Errorf("notes are %q", f.Notes)
	}
}
