package modeltest

import (
	"os"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/faulty"
	"github.com/mailbench/mailbench/schemas"
)

// detector is a rule of a model that must see a fault.
type detector struct{ model, rule string }

// detectors names for each fault of a store the models and rules that must see it:
// rules that are run on real engines, or "calls" for the embedded engine.
// An empty list: no model's schema declares the property that the fault breaks; only
// drivertest can see it.
var detectors = map[string][]detector{
	"ignores-limit":       {{"james", "random"}, {"datastax", "random"}, {"elasticinbox", "random"}},
	"reverses-desc":       {{"james", "random"}, {"oracle", "random"}, {"conversation", "random"}},
	"repeats-after":       {{"elasticinbox", "random"}, {"datastax", "random"}},
	"closes-open-bounds":  {}, // conversation's slices are between ids that no message has
	"filters-late":        {{"conversation", "random"}},
	"skips-row":           {{"james", "random"}, {"conversation", "random"}},
	"ignores-list-order":  {{"elasticinbox", "random"}, {"james", "random"}, {"datastax", "random"}},
	"late-rows":           {{"oracle", "random"}, {"elasticinbox", "random"}},
	"swallows-errors":     {{"conversation", "random"}, {"oracle", "random"}},
	"empty-is-null":       {{"conversation", "random"}, {"datastax", "random"}},
	"reverses-lists":      {{"conversation", "random"}},
	"loses-write":         {{"oracle", "random"}, {"elasticinbox", "random"}},
	"loses-second-family": {{"james", "random"}, {"elasticinbox", "random"}},
	"loses-statics":       {{"conversation", "random"}},
	"drops-chunk":         {{"james", "random"}, {"datastax", "random"}, {"elasticinbox", "random"}},
	"delete-wins-ties":    {{"elasticinbox", "random"}},
	"truncates":           {{"elasticinbox", "random"}, {"oracle", "random"}, {"conversation", "random"}},
	"cuts-at-nul":         {{"oracle", "random"}, {"conversation", "random"}},
	"keeps-arguments":     {{"datastax", "random"}, {"conversation", "random"}},
	"replaces-rows":       {{"datastax", "random"}},
	"put-merges":          {}, // collections are put into new rows only
	"deletes-children":    {}, // what is nested goes with its row in every model
	"prefix-too-short":    {{"james", "random"}},
	"retries-adds":        {{"elasticinbox", "random"}, {"conversation", "random"}},
	"stale-counters":      {{"james", "random"}},
	"returns-old":         {{"james", "random"}},
	"put-if-always":       {{"oracle", "two clients"}, {"datastax", "random"}},
	"claims-applied":      {{"james", "random"}, {"conversation", "random"}},
	"halves-batches":      {{"datastax", "random"}, {"oracle", "random"}, {"elasticinbox", "random"}},
	"counts-parts":        {{"datastax", "calls"}, {"oracle", "calls"}},
	"counts-returned":     {{"james", "calls"}},
	"tears-batches":       {}, // no rule makes an engine fail in the midst of a batch
	"ignores-contexts":    {{"james", "random"}, {"datastax", "random"}},
	"emulates-in-silence": {{"oracle", "calls"}, {"conversation", "calls"}},
	"applies-anything":    {},
	"inspects-no-order":   {}, // no model inspects a store
	"inspects-too-little": {},
	"inspects-no-index":   {},
}

const faultEnv = "MAILBENCH_FAULT"

// TestFaults runs rules over stores with a fault, each in a process of its own,
// and expects them to fail. That they pass over stores without is the contract of
// the models.
func TestFaults(t *testing.T) {
	planted := os.Getenv(faultEnv)
	for _, f := range faulty.Faults() {
		ds, ok := detectors[f.Name]
		if !ok {
			t.Errorf("%s: no model is said to see it", f.Name)
		}
		for _, s := range ds {
			if s.rule != "calls" && !slices.ContainsFunc(rules, func(r rule) bool { return r.name == s.rule }) {
				t.Errorf("%s: rule %s is not run on real engines", f.Name, s.rule)
			}
			t.Run(f.Name+"/"+s.model, func(t *testing.T) {
				if planted != "" {
					s.look(t, f)
					return
				}
				t.Parallel()
				expectFailure(t, "^TestFaults$/^"+f.Name+"$/^"+s.model+"$", faultEnv+"=1")
			})
		}
	}
}

// look runs the rule that is to see a fault.
func (s detector) look(t *testing.T, f faulty.Fault) {
	on := s.suite().on(func(t testing.TB, schema *schemas.Schema) drivers.Store {
		return faulty.Wrap(openEmbedded(t, schema), f)
	})
	if s.rule == "calls" {
		on.golden = "../" + s.model
		t.Run("calls", func(t *testing.T) { testCalls(t, on) })
		return
	}
	on.run(t, s.rule)
}

func (s detector) suite() Suite {
	return suites[slices.IndexFunc(suites, func(x Suite) bool { return x.Model.Name == s.model })]
}
