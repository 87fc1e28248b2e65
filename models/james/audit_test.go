package james

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

// TestFailure fails each step of a delivery, for the first of two recipients
// and for the second, and of a move: nothing has changed, or the error says
// that it may have.
func TestFailure(t *testing.T) {
	for _, x := range []struct {
		step string
		text int
		op   string
	}{
		{"next_uid", 10, "deliver"},
		{"append", 10, "deliver"},
		{"count_if", 10, "deliver"}, // with compare-and-set
		{"chunk_put", 3000, "deliver"},
		{"message_put", 3000, "deliver"},
		{"next_uid", 10, "move"},
		{"chunk_put", 3000, "move"},
		{"replace", 3000, "move"},
	} {
		for nth := 1; nth <= 2; nth++ {
			if x.op == "move" && nth > 1 && x.step != "chunk_put" {
				continue // one for all messages
			}
			var wrap func(drivers.Store) drivers.Store
			if x.step == "count_if" {
				wrap = func(st drivers.Store) drivers.Store { return withoutAdd{st} }
			}
			w := newWorld(t, modeltest.Sized(1000, 0), wrap)
			in, work := w.a.Folders[0], w.a.Folders[1]
			hs := append(w.deliver(message(3000), in), w.deliver(message(3000), in)...)
			before, session := w.audit(), w.mb.S
			run := func() error {
				if x.op == "move" {
					return w.mb.Move(t.Context(), in, work, hs, make([]models.Handle, 2))
				}
				return w.mb.Deliver(t.Context(), message(x.text), []*models.Folder{in, work}, make([]models.Handle, 2))
			}
			w.mb.S = &failing{Session: session, pattern: x.step, nth: nth}
			if err := run(); !errors.Is(err, errDown) || errors.Is(err, drivers.ErrUnknown) {
				t.Errorf("%s %d of a %s fails: error is %v", x.step, nth, x.op, err)
			}
			w.mb.S = session
			if diff := cmp.Diff(before, w.audit()); diff != "" {
				t.Errorf("%s %d of a %s fails: something changed (-before +after):\n%s", x.step, nth, x.op, diff)
			}
			if x.step == "next_uid" {
				continue // there is nothing to take back from the first
			}
			w.mb.S = &failing{Session: &failing{Session: session, pattern: x.step, nth: nth}, pattern: "remove"}
			if err := run(); !errors.Is(err, drivers.ErrUnknown) {
				t.Errorf("%s %d of a %s fails and cannot be taken back: error is %v, want %q", x.step, nth, x.op, err,
					drivers.ErrUnknown)
			}
		}
	}
}

// TestAudit damages a store, bit by bit.
func TestAudit(t *testing.T) {
	w := newWorld(t, modeltest.Sized(200, 0), nil)
	in := w.a.Folders[0]
	h := append(w.deliver(message(700), in), w.deliver(message(0), in)...)
	id, uid := key(in), drivers.Bigint(uidOf(h[0]))
	nobody := drivers.UUID([16]byte{1})
	clean := w.audit()
	if diff := cmp.Diff(models.Audit{Accounts: 1, Folders: 3, Messages: 2}, clean); diff != "" {
		t.Fatalf("audit of a whole store (-want +got):\n%s", diff)
	}
	none := record{date: time.Unix(0, 0), chunkSize: 1, properties: make([]byte, 10)}
	row := func(mailbox drivers.Value, uid int64) []drivers.Value {
		put := none.put(in, uid)
		put[0] = mailbox
		return put[:]
	}
	for _, x := range []struct {
		name    string
		stmt    drivers.Statement
		args    []drivers.Value
		mailbox drivers.Value // of the row to remove afterwards
		want    models.Audit
	}{
		{
			"a chunk behind the last", w.mb.do.ChunkPut,
			[]drivers.Value{id, uid, drivers.Bigint(77), drivers.Blob(nil)},
			drivers.Value{},
			models.Audit{BrokenBodies: 1},
		},
		{"data without metadata", w.mb.do.ChunkPut, []drivers.Value{
			id, drivers.Bigint(99), drivers.Bigint(1),
			drivers.Blob(nil),
		}, id, models.Audit{Unreferenced: 1}},
		{"a message of no mailbox", w.mb.do.MessagePut, row(nobody, 99), nobody, models.Audit{Dangling: 1}},
		{"a message that was not counted", w.mb.do.MessagePut, row(id, 99), id, models.Audit{Messages: 1, CounterDrift: 1}},
		{
			"a name that leads to no mailbox", w.mb.do.Claim,
			[]drivers.Value{drivers.Text("x"), drivers.Text("y"), nobody},
			drivers.Value{},
			models.Audit{Unreferenced: 1},
		},
		{"a message of a mailbox that only has a name", w.mb.do.MessagePut, row(nobody, 99), nobody, models.Audit{Unreferenced: -1, Dangling: 2}},
		{"a chunk that is too short", w.mb.do.ChunkPut, []drivers.Value{
			id, uid, drivers.Bigint(2),
			drivers.Blob([]byte("short")),
		}, drivers.Value{}, models.Audit{}}, // already broken
	} {
		if _, err := w.Meter.Write(t.Context(), x.stmt, x.args); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		want := clean
		want.Add(x.want)
		got := w.audit()
		if len(got.Notes) == 0 && got.Dangling+got.BrokenBodies > 0 {
			t.Errorf("%s: the audit names no row", x.name)
		}
		got.Notes = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
		}
		if x.mailbox.IsNull() {
			clean = want // it stays
			continue
		}
		remove := []drivers.Call{
			{Part: removeMessage, Args: []drivers.Value{x.mailbox, drivers.Bigint(99)}},
			{Part: removeData, Args: []drivers.Value{x.mailbox, drivers.Bigint(99)}},
		}
		w.Must(w.Meter.Batch(t.Context(), w.mb.do.Remove, remove))
	}
	var o models.Opened
	if err := w.mb.Open(t.Context(), in, h[0], &o); !errors.Is(err, models.ErrBroken) {
		t.Errorf("opening a message with a short chunk: error is %v, want %q", err, models.ErrBroken)
	}
	if _, err := w.mb.Raw(t.Context(), in, h[1], io.Discard); err != nil {
		t.Errorf("the other message: %v", err)
	}
}
