package run

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/workloads/results"
)

// silent is the embedded engine, whose sessions report rows scanned only if they are traced, as
// Cassandra's do.
func silent() drivers.Engine {
	e := embedded()
	open := e.Open
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		st, err := open(ctx, o)
		return silentStore{st}, err
	}
	return e
}

type silentStore struct{ drivers.Store }

func (s silentStore) Traced() (drivers.TracedSession, error) {
	return s.Store.(drivers.Tracer).Traced()
}

func (s silentStore) Session() (drivers.Session, error) {
	session, err := s.Store.Session()
	return silentSession{session}, err
}

type silentSession struct{ drivers.Session }

func (s silentSession) Take() drivers.Cost {
	c := s.Session.Take()
	c.RowsScanned, c.Unreported = 0, c.Requests
	return c
}

// TestScanned: where the engine reports each request, rows scanned are of all measured operations.
// Where it reports traced requests only, they are of a few operations after the phase.
func TestScanned(t *testing.T) {
	const phases = "  - measure: {clients: 1, operations: 200, mix: {list: 2, open: 2, deliver: 2, login: 2}}\n"
	measured := func(e drivers.Engine) results.Cell {
		c := config(t, newFake(), phases)
		c.Models, c.Engines, c.Audit = []models.Model{james.Model()}, []drivers.Engine{e}, AuditAfter
		r := runOK(t, c)
		allOK(t, r)
		if len(r.Audits) != 1 || r.Audits[0].Wrong() {
			t.Errorf("audits %+v", r.Audits)
		}
		return phaseOf(t, r, "measure")
	}
	told, silent := measured(embedded()), measured(silent())
	for name, o := range told.Ops {
		if o.Count == 0 {
			continue
		}
		if o.Store.RowsScanned == nil || o.Store.Traced != 0 {
			t.Errorf("%s: the engine tells each call, and the result has %+v", name, o.Store)
		}
		traced := silent.Ops[name].Store
		if traced.RowsScanned == nil || traced.Traced != examineEach || traced.Requests != o.Store.Requests {
			t.Errorf("%s: %+v, want rows examined of %d operations", name, traced, examineEach)
		}
	}
	login, same := told.Ops["login"].Store, silent.Ops["login"].Store
	if *login.RowsScanned <= 2*login.RowsRead || *same.RowsScanned != *login.RowsScanned || same.ScannedDeviation != 0 {
		t.Errorf("a login examines %v rows and returns %v; traced, it examines %v ±%v",
			*login.RowsScanned, login.RowsRead, *same.RowsScanned, same.ScannedDeviation)
	}
}

// TestScannedLive: Cassandra reports rows scanned for traced requests.
func TestScannedLive(t *testing.T) {
	const phases = "  - measure: {clients: 2, operations: 60, mix: {list: 2, deliver: 2, login: 2}}\n"
	c := config(t, newFake(), phases+"engines: {cassandra: {contact: \""+live.Contact(t, "cassandra")+"\"}}\n")
	c.Models, c.Engines = []models.Model{james.Model()}, []drivers.Engine{cassandra.Engine()}
	r := runOK(t, c)
	allOK(t, r)
	login := phaseOf(t, r, "measure").Ops["login"].Store
	if login.RowsScanned == nil || *login.RowsScanned <= 2*login.RowsRead || login.Traced != examineEach {
		t.Errorf("a login that filters all mailboxes costs %+v", login)
	}
}
