package james

import (
	"errors"
	"io"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// put writes one column of a message without the model.
func (w *world) put(f *models.Folder, h models.Handle, column string, v drivers.Value) {
	w.Helper()
	table := w.Schema.Table("JAMES_MESSAGES")
	p := &schemas.Pattern{
		Name: "damage", Kind: schemas.Put, Table: table, By: table.Key(),
		Columns: []*schemas.Column{table.Column(column)},
	}
	st, err := w.Store.Prepare(w.Context(), p)
	w.Must(err)
	_, err = w.Session().Write(w.Context(), st, []drivers.Value{key(f), drivers.Bigint(uidOf(h)), v})
	w.Must(err)
}

// TestHollow: an engine whose put-if is a plain put leaves a row of one flag
// where a message was deleted: that is no message. One that has lost its chunk
// size is broken, and can still be deleted.
func TestHollow(t *testing.T) {
	w := newWorld(t, models.Options{}, nil)
	in, work := w.a.Folders[0], w.a.Folders[1]
	gone, broken := w.deliver(message(700), in), w.deliver(message(700), in)
	w.Must(w.mb.Delete(t.Context(), in, gone))
	w.put(in, gone[0], "seen", drivers.Boolean(true))
	w.put(in, broken[0], "chunk_size", drivers.Int(-1))
	if a := w.audit(); a.Messages != 1 || a.Dangling != 1 || a.BrokenBodies != 1 || a.CounterDrift != 0 ||
		a.Unreferenced != 0 {
		t.Errorf("audit of a hollow and a broken message: %+v", a)
	}
	for _, x := range []struct {
		hs   []models.Handle
		want error
	}{{gone, models.ErrNotFound}, {broken, models.ErrBroken}} {
		var o models.Opened
		check := func(op string, err error) {
			if !errors.Is(err, x.want) {
				t.Errorf("%s: error is %v, want %q", op, err, x.want)
			}
		}
		check("open", w.mb.Open(t.Context(), in, x.hs[0], &o))
		_, err := w.mb.Raw(t.Context(), in, x.hs[0], io.Discard)
		check("raw message", err)
		check("move", w.mb.Move(t.Context(), in, work, x.hs, make([]models.Handle, 1)))
	}
	if err := w.mb.Delete(t.Context(), in, gone); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("delete of a hollow message: error is %v, want %q", err, models.ErrNotFound)
	}
	w.Must(w.mb.Delete(t.Context(), in, broken))
	if a := w.audit(); a.Messages != 0 || a.CounterDrift != 0 || a.Unreferenced != 0 {
		t.Errorf("audit once the broken one is deleted: %+v", a)
	}
}
