package elasticinbox

import (
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// TestNotQuadratic: the original updated the markers of all messages once for
// each message. Here an operation on many is as many calls as one on one, and
// writes rows in proportion.
func TestNotQuadratic(t *testing.T) {
	cost := map[int][]drivers.Cost{}
	for _, n := range []int{10, 20} {
		w := newWorld(t, models.Options{})
		var ms []*mail.Message
		for i := range n {
			ms = append(ms, draft(i).Message())
		}
		hs := w.deliver(ms...)
		in, work := w.a.Folders[0], w.a.Folders[1]
		for _, op := range []func() error{
			func() error { return w.mb.Move(t.Context(), in, work, hs, hs) },
			func() error { return w.mb.Delete(t.Context(), work, hs) },
		} {
			w.Meter.Take()
			w.Must(op())
			cost[n] = append(cost[n], w.Meter.Take())
		}
	}
	for i, op := range []string{"move", "delete"} {
		ten, twenty := cost[10][i], cost[20][i]
		if ten.Requests != 3 || twenty.Requests != 3 {
			t.Errorf("%s of 10: %d calls, of 20: %d; want a read, a batch and a batch of counters", op, ten.Requests, twenty.Requests)
		}
		if twenty.RowsWritten > 2*ten.RowsWritten || twenty.RowsRead != 2*ten.RowsRead {
			t.Errorf("%s of 10: %+v, of 20: %+v; want twice as much", op, ten, twenty)
		}
	}
}

// TestListReads pins that a page is a slice and one multi-get.
func TestListReads(t *testing.T) {
	w := newWorld(t, models.Options{})
	for i := range 30 {
		w.deliver(draft(i).Message())
	}
	w.Meter.Take()
	n := 0
	w.Must(w.mb.List(t.Context(), w.a.Folders[0], models.Handle{}, 25, func(*models.Entry) error { n++; return nil }))
	if c := w.Meter.Take().Requests; c != 2 || n != 25 {
		t.Errorf("%d entries in %d calls, want 25 in 2", n, c)
	}
}

// TestListFillsPages: entries that lead nowhere do not shorten a page, since a
// short page is the last one.
func TestListFillsPages(t *testing.T) {
	w := newWorld(t, models.Options{})
	for i := range 10 {
		w.deliver(draft(i).Message())
	}
	for i := range 5 { // between the others
		w.run(w.mb.do.Store, drivers.Call{Part: storeIndex, Args: []drivers.Value{
			drivers.Text("ann@example.org:1"),
			drivers.TimeUUID(w.mb.uuids.Next(draft(3 + i).Date.Add(time.Millisecond))),
		}})
	}
	n := 0
	w.Must(w.mb.List(t.Context(), w.a.Folders[0], models.Handle{}, 8, func(*models.Entry) error { n++; return nil }))
	if n != 8 {
		t.Errorf("%d entries, want 8", n)
	}
	if a := w.audit(); a.Dangling != 5 {
		t.Errorf("audit: %d dangling, want 5", a.Dangling)
	}
}

// TestDeleteTwice: the original counted a second delete of a message again.
func TestDeleteTwice(t *testing.T) {
	w := newWorld(t, models.Options{})
	hs := w.deliver(draft(0).Message(), draft(1).Message(), draft(2).Message())
	in := w.a.Folders[0]
	w.Must(w.mb.Delete(t.Context(), in, hs[:1]))
	for _, again := range [][]models.Handle{hs[:1], hs[:2], {hs[1], hs[1]}, {hs[1], hs[2], hs[1]}} {
		if err := w.mb.Delete(t.Context(), in, again); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("delete of a message that is gone or named twice: error is %v", err)
		}
	}
	if got := w.stats(in); got != [2]int64{2, 2} {
		t.Errorf("messages and unread are %v, want 2 of each", got)
	}
	if a := w.audit(); a.CounterDrift != 0 || a.Deleted != 1 {
		t.Errorf("audit: %+v", a)
	}
}

// TestPurgeIndexRepeats: in the source design's sample several deletions name one
// message. It goes with the one that its metadata names.
func TestPurgeIndexRepeats(t *testing.T) {
	w := newWorld(t, models.Options{})
	hs := w.deliver(draft(0).Message(), draft(1).Message())
	w.Must(w.mb.Delete(t.Context(), w.a.Folders[0], hs[:1]))
	old := w.Now().Add(-time.Hour)
	for range 2 {
		w.run(w.mb.do.Discard, drivers.Call{Part: discardPurge, Args: []drivers.Value{
			drivers.Text("ann@example.org:purge"),
			drivers.TimeUUID(w.mb.uuids.Next(old)), messageOf(hs[0]),
		}})
	}
	if a := w.audit(); a.Deleted != 1 || a.Dangling != 0 {
		t.Errorf("audit: %+v", a)
	}
	for _, step := range []struct {
		before time.Time
		want   int
		left   int
	}{{old, 0, 3}, {w.Now(), 0, 1}, {w.Now().Add(100), 1, 0}} { // 100 ns: a tick
		n, err := w.mb.Purge(t.Context(), w.a, step.before)
		w.Must(err)
		left := 0
		for _, r := range w.Rows("IndexLabels") {
			if r[0].Str() == "ann@example.org:purge" {
				left++
			}
		}
		if n != step.want || left != step.left {
			t.Errorf("purge before %v: %d messages went and %d entries are left, want %d and %d", step.before, n, left,
				step.want, step.left)
		}
	}
	if blocks, columns := len(w.Rows("MessageBlob")), len(w.Rows("MessageMetadata.columns")); blocks != 1 || columns != 9 {
		t.Errorf("%d blocks and %d sub-columns are left, want those of the other message: 1 and 9", blocks, columns)
	}
}

// TestAudit damages a store, bit by bit.
func TestAudit(t *testing.T) {
	w := newWorld(t, modeltest.Sized(200, 0))
	d := draft(0)
	d.Text = content(700)
	h := w.deliver(d.Message(), draft(1).Message(), draft(2).Message())
	w.Must(w.mb.Delete(t.Context(), w.a.Folders[0], h[2:]))
	id, key := messageOf(h[0]), drivers.Text("ann@example.org")
	clean := w.audit()
	if want := (models.Audit{Accounts: 1, Folders: 2, Messages: 2, Deleted: 1}); !cmpAudit(clean, want) {
		t.Fatalf("audit of a whole store: %+v, want %+v", clean, want)
	}
	for _, x := range []struct {
		name        string
		damage, fix drivers.Call
		on, undo    drivers.Statement
		want        models.Audit
	}{
		{
			"an index entry is lost", call(relabelIndexDelete, drivers.Text("ann@example.org:1"), id),
			call(relabelIndexPut, drivers.Text("ann@example.org:1"), id), w.mb.do.Relabel, w.mb.do.Relabel,
			models.Audit{Messages: -1, Dangling: 1, CounterDrift: 2},
		},
		{
			"an index entry too many", call(relabelIndexPut, drivers.Text("ann@example.org:21"), id),
			call(relabelIndexDelete, drivers.Text("ann@example.org:21"), id), w.mb.do.Relabel, w.mb.do.Relabel,
			models.Audit{Dangling: 1},
		},
		{
			"a counter", call(only, key, drivers.Text("l"), drivers.Text("0"), drivers.Text("b"), drivers.Counter(-5)),
			call(only, key, drivers.Text("l"), drivers.Text("0"), drivers.Text("b"), drivers.Counter(5)), w.mb.do.Counts,
			w.mb.do.Counts,
			models.Audit{CounterDrift: 5},
		},
		{
			"a block behind the last", call(only, id, drivers.Int(99), drivers.Int(0), drivers.Blob(nil)),
			call(only, id, drivers.Int(99)), w.mb.do.BlocksPut, w.mb.do.BlocksDelete,
			models.Audit{BrokenBodies: 1},
		},
		{
			"a body of no message", call(only, drivers.TimeUUID([16]byte{6: 0x10, 8: 0x80}), drivers.Int(0), drivers.Int(0),
				drivers.Blob(nil)),
			call(only, drivers.TimeUUID([16]byte{6: 0x10, 8: 0x80}), drivers.Int(0)), w.mb.do.BlocksPut, w.mb.do.BlocksDelete,
			models.Audit{Unreferenced: 1},
		},
		{
			"a purge entry too many", call(discardPurge, drivers.Text("ann@example.org:purge"), id, id),
			call(relabelIndexDelete, drivers.Text("ann@example.org:purge"), id), w.mb.do.Discard, w.mb.do.Relabel,
			models.Audit{Dangling: 1},
		},
		{
			"a block is lost", call(only, id, drivers.Int(1)),
			drivers.Call{},
			w.mb.do.BlocksDelete, nil,
			models.Audit{BrokenBodies: 1},
		},
	} {
		w.run(x.on, x.damage)
		want := clean
		want.Add(x.want)
		if got := w.audit(); !cmpAudit(got, want) {
			t.Errorf("%s: audit is %+v, want %+v", x.name, got, want)
		}
		if x.undo != nil {
			w.run(x.undo, x.fix)
		}
	}
	var o models.Opened
	if err := w.mb.Open(t.Context(), w.a.Folders[0], h[0], &o); !errors.Is(err, models.ErrBroken) {
		t.Errorf("opening a message that lacks a block: error is %v", err)
	}
}

func call(part int, args ...drivers.Value) drivers.Call { return drivers.Call{Part: part, Args: args} }

func cmpAudit(a, b models.Audit) bool {
	return a.Accounts == b.Accounts && a.Folders == b.Folders && a.Messages == b.Messages && a.Deleted == b.Deleted &&
		a.Unreferenced == b.Unreferenced && a.Dangling == b.Dangling && a.BrokenBodies == b.BrokenBodies &&
		a.CounterDrift == b.CounterDrift
}
