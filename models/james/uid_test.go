package james

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// withoutAdd is a store that cannot add to plain columns, as Cassandra cannot.
type withoutAdd struct{ drivers.Store }

func (s withoutAdd) Capabilities() drivers.Capabilities {
	c := s.Store.Capabilities()
	c.Engine = "cassandra"
	return c
}

func (s withoutAdd) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if p.Kind == schemas.Add {
		return nil, drivers.ErrUnsupported
	}
	return s.Store.Prepare(ctx, p)
}

// TestConcurrentUIDs lets workers deliver to one mailbox concurrently, with increments and
// with compare-and-set in their place.
func TestConcurrentUIDs(t *testing.T) {
	const workers, each = 4, 25
	for name, wrap := range map[string]func(drivers.Store) drivers.Store{
		"increment":       nil,
		"compare-and-set": func(st drivers.Store) drivers.Store { return withoutAdd{st} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, models.Options{}, wrap)
			in := w.a.Folders[0]
			got := make([][]uint64, workers)
			var wg sync.WaitGroup
			for i := range workers {
				mb := w.bound.Mailbox(w.Session())
				wg.Go(func() {
					h := make([]models.Handle, 1)
					for range each {
						if err := mb.Deliver(t.Context(), message(10), []*models.Folder{in}, h); err != nil {
							t.Error(err)
							return
						}
						got[i] = append(got[i], mb.(models.UIDs).UID(h[0]))
					}
				})
			}
			wg.Wait()
			for i, uids := range got {
				if !slices.IsSorted(uids) {
					t.Errorf("worker %d got UIDs %v", i, uids)
				}
			}
			all := slices.Sorted(slices.Values(slices.Concat(got...)))
			for i, uid := range all {
				if uid != uint64(i+1) {
					t.Fatalf("UID %d is the %dth of %d: given twice, or not at all", uid, i+1, len(all))
				}
			}
			if n := w.stats(in)[0]; n != workers*each {
				t.Errorf("%d messages are counted, want %d", n, workers*each)
			}
			emulated := false
			w.Meter.Watch(nil, func(st drivers.Statement, _ time.Duration, _ int64) {
				emulated = emulated || st.Emulates() != nil
			})
			w.deliver(message(10), in)
			if emulated != (wrap != nil) {
				t.Errorf("a call is emulated: %v", emulated)
			}
		})
	}
}

// rival delivers to the same mailbox between the first reading of its numbers and their
// compare-and-set.
type rival struct {
	drivers.Session
	deliver func()
}

func (r *rival) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if deliver := r.deliver; deliver != nil && st.Pattern().Kind == schemas.PutIf {
		r.deliver = nil
		deliver()
	}
	return r.Session.Write(ctx, st, args)
}

// TestRetries: the cost of a delivery does not depend on how often others were faster. Only the
// number of its retries does.
func TestRetries(t *testing.T) {
	w := newWorld(t, models.Options{}, func(st drivers.Store) drivers.Store { return withoutAdd{st} })
	in := w.a.Folders[0]
	w.deliver(message(10), in)
	w.Meter.Take()
	w.deliver(message(10), in)
	want := w.Meter.Take()
	if want.Requests == 0 || want.Retries != 0 {
		t.Fatalf("a delivery costs %+v", want)
	}
	other := w.bound.Mailbox(w.Session())
	w.mb.S = &rival{w.mb.S, func() {
		w.Must(other.Deliver(t.Context(), message(10), []*models.Folder{in}, make([]models.Handle, 1)))
	}}
	w.deliver(message(10), in)
	want.Retries = 2 // the numbers are read and compared again
	if got := w.Meter.Take(); got != want {
		t.Errorf("a delivery that was late costs %+v, want %+v", got, want)
	}
	want.Retries = 0
	if w.deliver(message(10), in); w.Meter.Take() != want {
		t.Errorf("the delivery after it does not cost %+v", want)
	}
}

// TestExpungeNeighbors: mailboxes made one after another lie side by side.
// The original's range ran the wrong way, and expunging all ran on into others.
func TestExpungeNeighbors(t *testing.T) {
	w := newWorld(t, modeltest.Sized(100, 0), nil)
	const n = uidsAtOnce + 20 // more than one page of the scan
	left, mid, right := w.a.Folders[0], w.a.Folders[1], w.a.Folders[2]
	for range n {
		w.deliver(message(150), left, mid, right)
	}
	for _, x := range []struct {
		from, to uint64
		gone     int
	}{
		{n, n - 5, 0}, {n + 1, 1 << 63, 0}, {3, 3, 1}, {3, 3, 0}, {n - 4, n, 5}, {1, 2, 2}, {0, 0, n - 8}, {0, 0, 0},
	} {
		got, err := w.mb.Expunge(t.Context(), mid, x.from, x.to)
		if err != nil || got != x.gone {
			t.Errorf("expunge of UIDs %d to %d removed %d (%v), want %d", x.from, x.to, got, err, x.gone)
		}
		for _, f := range []*models.Folder{left, right} {
			if hs := w.list(f); len(hs) != n || w.stats(f)[0] != n {
				t.Fatalf("expunge of UIDs %d to %d in Work: %s has %d messages, want %d", x.from, x.to, f.Name, len(hs), n)
			}
		}
	}
	if a := w.audit(); a.Messages != 2*n || a.CounterDrift != 0 || a.Unreferenced != 0 || a.BrokenBodies != 0 {
		t.Errorf("audit: %+v", a)
	}
}
