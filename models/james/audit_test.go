package james

import (
	"errors"
	"io"
	"testing"

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

// TestOpenBroken: a message with a short chunk cannot be opened, and the other can be read.
func TestOpenBroken(t *testing.T) {
	w := newWorld(t, modeltest.Sized(200, 0), nil)
	in := w.a.Folders[0]
	h := append(w.deliver(message(700), in), w.deliver(message(0), in)...)
	short := []drivers.Value{key(in), drivers.Bigint(uidOf(h[0])), drivers.Bigint(2), drivers.Blob([]byte("short"))}
	_, err := w.Meter.Write(t.Context(), w.mb.do.ChunkPut, short)
	w.Must(err)
	if err := w.mb.Open(t.Context(), in, h[0], &models.Opened{}); !errors.Is(err, models.ErrBroken) {
		t.Errorf("opening a message with a short chunk: error is %v, want %q", err, models.ErrBroken)
	}
	if _, err := w.mb.Raw(t.Context(), in, h[1], io.Discard); err != nil {
		t.Errorf("the other message: %v", err)
	}
}
