package elasticinbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

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

// TestOpenBroken: a message without one of its blocks cannot be opened.
func TestOpenBroken(t *testing.T) {
	w := newWorld(t, modeltest.Sized(200, 0))
	d := draft(0)
	d.Text = content(700)
	h := w.deliver(d.Message())[0]
	w.run(w.mb.do.BlocksDelete, call(only, messageOf(h), drivers.Int(1)))
	if err := w.mb.Open(t.Context(), w.a.Folders[0], h, &models.Opened{}); !errors.Is(err, models.ErrBroken) {
		t.Errorf("error is %v, want %q", err, models.ErrBroken)
	}
}

func call(part int, args ...drivers.Value) drivers.Call { return drivers.Call{Part: part, Args: args} }

// backwards is a session whose multi-get of messages yields its rows in the opposite order.
type backwards struct{ drivers.Session }

func (s backwards) Read(ctx context.Context, st drivers.Statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	if st.Pattern().Name != "messages" {
		return s.Session.Read(ctx, st, args, yield)
	}
	var rows [][]drivers.Value
	var kept models.Arena
	err := s.Session.Read(ctx, st, args, func(row []drivers.Value) error {
		rows = append(rows, slices.Clone(kept.Row(row)))
		return nil
	})
	slices.Reverse(rows)
	for i := 0; i < len(rows) && err == nil; i++ {
		err = yield(rows[i])
	}
	return err
}

// TestOutOfTurn: a listing is not in the wrong order because the engine's answer is.
func TestOutOfTurn(t *testing.T) {
	w := newWorld(t, models.Options{})
	w.deliver(draft(0).Message(), draft(1).Message())
	w.mb.S = backwards{w.mb.S}
	err := w.mb.List(t.Context(), w.a.Folders[0], models.Handle{}, 8, func(*models.Entry) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "came out of turn") {
		t.Errorf("error is %v, want one of a message that came out of turn", err)
	}
}
