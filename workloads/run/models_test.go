package run

import (
	"fmt"
	"math"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
)

// bundledModels are the models that mailbench brings along.
func bundledModels() []models.Model {
	return []models.Model{elasticinbox.Model(), james.Model(), datastax.Model(), oracle.Model(), conversation.Model()}
}

// Every model on the embedded engine, all operations concurrently from several
// workers: what it offers succeeds, as nothing works on what another operation
// took away, and what it acknowledged is there in the end.
func TestModels(t *testing.T) {
	for _, m := range bundledModels() {
		t.Run(m.Name, func(t *testing.T) {
			c := config(t, newFake(), `
  - settle: {}
  - measure:
      clients: 4
      operations: 1700
      mix: {deliver: 20, list: 10, open: 10, raw: 5, attachment: 5, flag: 10, move: 10, delete: 10, restore: 3, purge: 2, label: 5,
            counters: 5, folders: 3, login: 2, search-sender: 2, slice: 2, seen: 3, subscribe: 2,
            range: 2, expunge: {weight: 2, messages: 3}, subscriptions: 1, seen-by: 1, search-all: 1, all-mail: 1, totals: 1, create-user: 1, join: 2, leave: 1, nested: 1}
`)
			c.Models, c.Engines = []models.Model{m}, []drivers.Engine{embedded()}
			c.Audit = AuditAfter
			r := runOK(t, c)
			a := auditOf(t, r)
			ops := phaseOf(t, r, "measure").Ops
			// How many messages an expunge takes depends on what the other workers do meanwhile.
			live := a.Delivered - a.Deleted + ops["restore"].Count
			if a.Verified != live || live == 0 || a.Lost+a.Corrupt+a.Resurrected+a.Unknown > 0 {
				t.Errorf("%d messages are live, audit = %+v", live, a)
			}
			if a.Dangling+a.Duplicated+a.BrokenBodies+a.CounterDrift > 0 {
				t.Errorf("the model's own audit: %+v", a)
			}
			for name, o := range ops {
				if name == "restore" {
					o.Dropped = 0 // one that comes before the first deletion finds nothing
				}
				if o.NotFound+o.Failed+o.Unknown+o.Dropped+o.TooLarge > 0 || (o.Count == 0) != (o.Support == results.NotOffered) {
					t.Errorf("%s: %+v", name, o)
				}
				if o.Count > 0 && o.Store.Requests == 0 {
					t.Errorf("%s made no call to the store", name)
				}
				if err := explained(r.Schemas[0].Text, &o); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A delivery to several users who share one folder is one message there.
func TestSharedFolder(t *testing.T) {
	c := config(t, newFake(), `
  - measure: {clients: 1, operations: 10, mix: {deliver: {weight: 1, recipients: 4}}}
`)
	c.Workload.Population.Users, c.Workload.Population.Shared = 5, true
	c.Models, c.Engines = []models.Model{conversation.Model()}, []drivers.Engine{embedded()}
	c.Audit = AuditAfter
	r := runOK(t, c)
	if o := phaseOf(t, r, "measure").Ops["deliver"]; o.Store.RowsWritten != 1 || o.Count != 10 {
		t.Errorf("%d deliveries wrote %g rows each, want 10 and 1", o.Count, o.Store.RowsWritten)
	}
	a := auditOf(t, r)
	load := phaseOf(t, r, "load").Ops["deliver"].Count
	if a.Verified != load+10 || a.Lost+a.Corrupt+a.Unknown > 0 {
		t.Errorf("%d messages were loaded, and 10 delivered; audit = %+v", load, a)
	}
}

// explained checks that an operation's calls are those of its patterns, and that the
// schema has them.
func explained(schema string, o *results.Op) error {
	s, err := schemas.Parse("schema", []byte(schema))
	if err != nil {
		return err
	}
	calls := 0.0
	for _, p := range o.Patterns {
		calls += p.Requests
		if s.Pattern(p.Name) == nil {
			return fmt.Errorf("the schema has no pattern %s", p.Name)
		}
	}
	if math.Abs(calls-o.Store.Requests) > 1e-6 {
		return fmt.Errorf("its patterns made %g calls, and it made %g: %+v", calls, o.Store.Requests, o.Patterns)
	}
	return nil
}
