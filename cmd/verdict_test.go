package cmd

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// The status of a run that is done: data that is wrong before all else, and no
// wrong data where none was acknowledged.
func TestVerdict(t *testing.T) {
	cell := func(v results.Verdict, code results.Code) results.Cell {
		return results.Cell{
			Key: results.Key{Model: "james", Engine: "hbase", Phase: "measure", Trial: 1, Segment: 1}, Kind: results.KindMeasure,
			Verdict: v, Reason: &results.Reason{Code: code, Text: "because"},
		}
	}
	objective := func(v results.Attainment) []results.Cell {
		c := cell(results.OK, "")
		c.Objectives = []results.Attained{{Objective: "p50", Bound: "<1s", Verdict: results.Met}, {Objective: "p99", Bound: "<20ms", Verdict: v, Text: "because"}}
		return []results.Cell{c}
	}
	failed := []results.Cell{cell(results.Failed, "error")}
	ok, overloaded := cell(results.OK, ""), cell(results.Overloaded, "dropped")
	both := cell(results.Invalid, "client-delays")
	both.Offered = &results.Offered{Due: 100, Dropped: 99, Rate: 100, Achieved: 1}
	dropping := cell(results.Invalid, "client-delays")
	dropping.Offered = &results.Offered{Due: 100, Dropped: 88, Rate: 100, Achieved: 12}
	notOffered, nothing := cell(results.Empty, "not-offered"), cell(results.Empty, "nothing-measured")
	for _, c := range []struct {
		name   string
		run    results.Run
		want   int // with --fail-on all
		failed int // with --fail-on failed
	}{
		{"well", results.Run{Audits: []results.Audit{{Verified: 3, Unknown: 4, Audit: models.Audit{Unreferenced: 5, CounterDrift: 6, Duplicated: 7}}}}, exitOK, exitOK},
		{"a failed cell", results.Run{Cells: failed}, exitFailed, exitFailed},
		{"lost", results.Run{Cells: failed, Audits: []results.Audit{{Lost: 1}}}, exitData, exitData},
		{"back from the dead, and interrupted", results.Run{Interrupted: true, Audits: []results.Audit{{Resurrected: 1, Interrupted: true}}}, exitData, exitData},
		{"half a message", results.Run{Audits: []results.Audit{{Audit: models.Audit{BrokenBodies: 1}}}}, exitData, exitData},
		{"half a message of an operation that was interrupted", results.Run{Audits: []results.Audit{{Interrupted: true, Audit: models.Audit{BrokenBodies: 1, Dangling: 1}}}}, exitOK, exitOK},
		{"not all could be read", results.Run{Audits: []results.Audit{{Verified: 3, Unread: 1}}}, exitFailed, exitFailed},
		{"an interrupted audit", results.Run{Audits: []results.Audit{{Verified: 3, Error: "no answer"}}}, exitFailed, exitFailed},
		{"an interrupted audit that found damage", results.Run{Audits: []results.Audit{{Corrupt: 1, Error: "no answer"}}}, exitData, exitData},
		{"interrupted", results.Run{Interrupted: true, Cells: failed}, exitInterrupted, exitInterrupted},
		{"overloaded", results.Run{Cells: []results.Cell{ok, overloaded}}, exitBroken, exitOK},
		{"nothing measured", results.Run{Cells: []results.Cell{ok, nothing}}, exitBroken, exitOK},
		{"no model has the population", results.Run{Cells: []results.Cell{notOffered, notOffered}}, exitBroken, exitOK},
		{"one model has the population", results.Run{Cells: []results.Cell{notOffered, ok}}, exitOK, exitOK},
		{"overloaded, and another failed", results.Run{Cells: append(failed, overloaded)}, exitFailed, exitFailed},
		{"invalid, and overloaded", results.Run{Cells: []results.Cell{both}}, exitBroken, exitOK},
		{"an objective is met", results.Run{Cells: objective(results.Met)}, exitOK, exitOK},
		{"an objective of an operation that is not offered", results.Run{Cells: objective(results.NoSuch)}, exitOK, exitOK},
		{"an objective is missed", results.Run{Cells: objective(results.Missed)}, exitBroken, exitOK},
		{"an objective is unclear", results.Run{Cells: objective(results.Unclear)}, exitBroken, exitOK},
		{"an objective is missed, and another cell failed", results.Run{Cells: append(objective(results.Missed), failed...)}, exitFailed, exitFailed},
		{"invalid, as one of two", results.Run{Cells: []results.Cell{cell(results.Invalid, "client-delays"), ok}}, exitBroken, exitOK},
		{"all are invalid", results.Run{Cells: []results.Cell{cell(results.Invalid, "client-delays")}}, exitBroken, exitOK},
		{"88% were dropped", results.Run{Cells: []results.Cell{dropping, ok}}, exitBroken, exitOK},
	} {
		if got := exitStatus(verdict(&c.run, judge.FailOn)); got != c.want {
			t.Errorf("%s, with --fail-on all: status %d, want %d", c.name, got, c.want)
		}
		if got := exitStatus(verdict(&c.run, []string{"failed"})); got != c.failed {
			t.Errorf("%s, with --fail-on failed: status %d, want %d", c.name, got, c.failed)
		}
		want := c.want
		if strings.HasPrefix(c.name, "invalid, as") { // it is marked and not ranked
			want = exitOK
		}
		if got := exitStatus(verdict(&c.run, failsDefault)); got != want {
			t.Errorf("%s, by default: status %d, want %d", c.name, got, want)
		}
	}
}

func TestFailOn(t *testing.T) {
	help := strings.Join(strings.Fields(newRoot(bundled()).Long), " ")
	for _, name := range failsDefault { // and invalid is none of them
		word := map[string]string{
			"missed": "missed a threshold", "empty": "measured nothing", "unusable": "has no valid phase", "overloaded": "was overloaded",
		}[name] // failed is 1, and unclear a threshold
		if !strings.Contains(help, word) || strings.Contains(help, "was invalid") {
			t.Errorf("the help of mailbench does not say that %s fails a run", name)
		}
	}
	set := func(text string) (string, error) {
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		bindFailOn(flags, new([]string))
		err := flags.Set("fail-on", text)
		return flags.Lookup("fail-on").Value.String(), err
	}
	for text, want := range map[string]string{
		"none": "none", "all": "missed,unclear,failed,overloaded,empty,unusable,invalid", "missed": "missed", "invalid, failed": "invalid,failed",
	} {
		if got, err := set(text); err != nil || got != want {
			t.Errorf("--fail-on %q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "mised", "missed,none", "all,missed", "missed,"} {
		if _, err := set(text); err == nil {
			t.Errorf("--fail-on %q is taken", text)
		}
	}
}
