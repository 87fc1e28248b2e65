package run

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// TestRecountsDoNotOverlap: eight clients count few accounts again, whose counters somebody
// has put wrong. Two recounts of one account at a time would both add what is missing. A recount
// during a change of its account would count that twice.
func TestRecountsDoNotOverlap(t *testing.T) {
	const users = 3
	c := config(t, newFake(), "  - measure: {clients: 1, operations: 1, mix: {open: 1}}\n")
	c.Mail = nil
	var watch recountWatch
	c.Models, c.Engines = []models.Model{watch.model(elasticinbox.Model())}, []drivers.Engine{embedded()}
	c.DataDir, c.EngineOptions.Durability = filepath.Join(t.TempDir(), "data"), drivers.Memory
	recounts := func(phases string) {
		w, err := workloads.Parse("recounts.yaml", []byte("version: 1\nname: recounts\nmail: {body: 100}\npopulation: {users: 3, folders: 3, messages: 60}\nphases:\n  - load: {}\n"+phases))
		if err != nil {
			t.Fatal(err)
		}
		c.Workload = w
	}
	recounts("  - measure: {clients: 1, operations: 1, mix: {open: 1}}\n")
	c.Audit = AuditAfter
	if a := auditOf(t, runOK(t, c)); a.CounterDrift != 0 || a.Verified == 0 {
		t.Fatalf("audit %+v", a)
	}
	if n := addToCounters(t, subject.StoreDir(filepath.Join(c.DataDir, "elasticinbox-embedded")), users, 1000); n < 3*users {
		t.Fatalf("%d counters are wrong", n)
	}
	recounts("  - measure: {clients: 1, operations: 1, mix: {open: 1}}\n")
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if a := auditOf(t, r); !a.Wrong() || a.CounterDrift == 0 {
		t.Errorf("the audit of wrong counters: %+v", a)
	}
	recounts("  - measure: {clients: 8, operations: 60, mix: {recount: 1}}\n")
	r = runOK(t, c)
	if a := auditOf(t, r); a.CounterDrift != 0 {
		t.Errorf("counter drift of %d after recounts", a.CounterDrift)
	}
	recounts("  - measure: {clients: 8, operations: 300, mix: {recount: 2, deliver: 3, flag: 3, move: 2, delete: 1}}\n")
	if a := auditOf(t, runOK(t, c)); a.CounterDrift != 0 || !a.Exact {
		t.Errorf("recounts beside changes: %+v", a)
	}
	if n := watch.overlaps.Load(); n > 0 {
		t.Errorf("%d recounts and deliveries began while a recount of their account was under way", n)
	}
	if o := phaseOf(t, r, "measure").Ops["recount"]; o.Count+o.NoTarget != 60 || o.Count < users {
		t.Errorf("%d recounts, %d without an account: %+v", o.Count, o.NoTarget, o)
	}
}

// recountWatch counts recounts that begin while another of their account is under way.
type recountWatch struct {
	underWay [3]atomic.Int32 // by user
	overlaps atomic.Int32
}

// model returns m with mailboxes that are watched.
func (w *recountWatch) model(m models.Model) models.Model {
	bind := m.Bind
	m.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
		b, err := bind(ctx, p, o)
		return watchedBound{b, w}, err
	}
	return m
}

type watchedBound struct {
	models.Bound
	watch *recountWatch
}

// Mailbox implements models.Bound.
func (b watchedBound) Mailbox(s drivers.Session) models.Mailbox {
	return watchedMailbox{b.Bound.Mailbox(s), b.watch}
}

type watchedMailbox struct {
	models.Mailbox
	watch *recountWatch
}

// Recount implements models.Recounter. It takes a while, so that others come in between.
func (m watchedMailbox) Recount(ctx context.Context, a *models.Account) error {
	for u := range m.watch.underWay {
		if a.Address != plan.Address(u) {
			continue
		}
		if m.watch.underWay[u].Add(1) > 1 {
			m.watch.overlaps.Add(1)
		}
		defer m.watch.underWay[u].Add(-1)
	}
	time.Sleep(10 * time.Millisecond)
	return m.Mailbox.(models.Recounter).Recount(ctx, a)
}

// Deliver implements models.Mailbox. It counts a delivery to an account whose recount is under way.
func (m watchedMailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	for _, f := range to {
		for u := range m.watch.underWay {
			if f.Account.Address == plan.Address(u) && m.watch.underWay[u].Load() > 0 {
				m.watch.overlaps.Add(1)
			}
		}
	}
	return m.Mailbox.Deliver(ctx, msg, to, handles)
}

// addToCounters adds n to each counter of a store, and returns how many there are.
func addToCounters(t *testing.T, dir string, users int, n int64) (changed int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	st, err := embedded().Open(ctx, drivers.Options{Dir: dir, Durability: drivers.Memory})
	must(err)
	schema, err := elasticinbox.Model().Schema()
	must(err)
	must(st.Apply(ctx, schema))
	p, err := drivers.PrepareAll(ctx, st, schema)
	must(err)
	var read, add drivers.Statement
	must(p.Fill(map[string]*drivers.Statement{"account_counters": &read, "counts": &add}))
	s, err := st.Session()
	must(err)
	for u := range users {
		key := drivers.Text(plan.Address(u))
		var calls []drivers.Call
		must(s.Read(ctx, read, []drivers.Value{key}, func(row []drivers.Value) error {
			calls = append(calls, drivers.Call{Args: []drivers.Value{
				key, drivers.Text(row[0].Str()), drivers.Text(row[1].Str()), drivers.Text(row[2].Str()), drivers.Counter(n),
			}})
			return nil
		}))
		must(s.Batch(ctx, add, calls))
		changed += len(calls)
	}
	must(s.Close())
	must(st.Close())
	return changed
}
