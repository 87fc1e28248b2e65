package cmd

import (
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
)

// The status of a run that is done: data that is wrong before all else, and no
// wrong data where none was acknowledged.
func TestVerdict(t *testing.T) {
	cell := func(v reports.Verdict, code reports.Code) reports.Cell {
		return reports.Cell{
			Key: reports.Key{Model: "james", Engine: "hbase", Phase: "measure", Trial: 1, Shard: 1}, Kind: reports.KindMeasure,
			Verdict: v, Reason: &reports.Reason{Code: code, Text: "because"},
		}
	}
	objective := func(v reports.Attainment) []reports.Cell {
		c := cell(reports.OK, "")
		c.Objectives = []reports.Attained{{Objective: "p50", Bound: "<1s", Verdict: reports.Met}, {Objective: "p99", Bound: "<20ms", Verdict: v, Text: "because"}}
		return []reports.Cell{c}
	}
	failed := []reports.Cell{cell(reports.Failed, judge.CodeError)}
	ok, overloaded := cell(reports.OK, ""), cell(reports.Overloaded, judge.CodeDropped)
	both := cell(reports.Invalid, judge.CodeClientDelays)
	both.Offered = &reports.Offered{Due: 100, Dropped: 99, Rate: 100, Achieved: 1}
	notOffered, nothing := cell(reports.Empty, judge.CodeNotOffered), cell(reports.Empty, judge.CodeNothingMeasured)
	for _, c := range []struct {
		name   string
		run    reports.Run
		want   int
		noFail int
	}{
		{"well", reports.Run{Audits: []reports.Audit{{Verified: 3, Unknown: 4, Unreferenced: 5, CounterDrift: 6, Duplicated: 7}}}, exitOK, exitOK},
		{"a failed cell", reports.Run{Cells: failed}, exitFailed, exitFailed},
		{"lost", reports.Run{Cells: failed, Audits: []reports.Audit{{Lost: 1}}}, exitData, exitData},
		{"back from the dead, and interrupted", reports.Run{Interrupted: true, Audits: []reports.Audit{{Resurrected: 1, Interrupted: true}}}, exitData, exitData},
		{"half a message", reports.Run{Audits: []reports.Audit{{BrokenBodies: 1}}}, exitData, exitData},
		{"half a message of an operation that was broken off", reports.Run{Audits: []reports.Audit{{BrokenBodies: 1, Dangling: 1, Interrupted: true}}}, exitOK, exitOK},
		{"not all could be read", reports.Run{Audits: []reports.Audit{{Verified: 3, Unread: 1}}}, exitFailed, exitFailed},
		{"interrupted", reports.Run{Interrupted: true, Cells: failed}, exitInterrupted, exitInterrupted},
		{"overloaded", reports.Run{Cells: []reports.Cell{ok, overloaded}}, exitBroken, exitOK},
		{"nothing measured", reports.Run{Cells: []reports.Cell{ok, nothing}}, exitBroken, exitOK},
		{"no model has the population", reports.Run{Cells: []reports.Cell{notOffered, notOffered}}, exitBroken, exitOK},
		{"one model has the population", reports.Run{Cells: []reports.Cell{notOffered, ok}}, exitOK, exitOK},
		{"overloaded, and another failed", reports.Run{Cells: append(failed, overloaded)}, exitFailed, exitFailed},
		{"invalid, and overloaded", reports.Run{Cells: []reports.Cell{both}}, exitBroken, exitOK},
		{"an objective is met", reports.Run{Cells: objective(reports.Met)}, exitOK, exitOK},
		{"an objective of an operation that is not offered", reports.Run{Cells: objective(reports.NoSuch)}, exitOK, exitOK},
		{"an objective is missed", reports.Run{Cells: objective(reports.Missed)}, exitBroken, exitOK},
		{"an objective is unclear", reports.Run{Cells: objective(reports.Unclear)}, exitBroken, exitOK},
		{"an objective is missed, and another cell failed", reports.Run{Cells: append(objective(reports.Missed), failed...)}, exitFailed, exitFailed},
		{"invalid", reports.Run{Cells: []reports.Cell{cell(reports.Invalid, judge.CodeClientDelays)}}, exitBroken, exitOK},
	} {
		if got := exitStatus(verdict(&c.run, false)); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
		if got := exitStatus(verdict(&c.run, true)); got != c.noFail {
			t.Errorf("%s, with --no-fail: status %d, want %d", c.name, got, c.noFail)
		}
	}
}
