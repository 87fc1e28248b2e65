package modeltest

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// bigAttachment makes a message of 25 MB once it is base64: the largest that
// mail systems commonly take.
const bigAttachment = 18 << 20

// heapBound is how much of the heap such a message may hold on to while it is
// delivered to two folders or read: a few chunks, and never all of it. Where it
// lies in one row, copies of it are unavoidable: the model's, the driver's
// batch and the engine's queue, for each of the two.
func (s *suite) heapBound() int64 {
	if s.wholeRows {
		return 200 << 20
	}
	return 16 << 20
}

// heap watches how much live heap there is beyond what there was at first. It
// collects before it measures, so garbage does not count.
type heap struct {
	base, peak uint64
	bytes      int64 // passed since the last measurement
}

func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func newHeap() *heap {
	b := liveHeap()
	return &heap{base: b, peak: b}
}

// passed measures once every 4 MB.
func (h *heap) passed(n int) {
	if h.bytes += int64(n); h.bytes >= 4<<20 {
		h.bytes = 0
		h.peak = max(h.peak, liveHeap())
	}
}

// attempts is how often each is measured, on a new mailbox without buffers; the
// least counts. An engine in this process may keep its caches in the same heap
// (Pebble does under the race detector), and they grow now and then; what the
// model holds, it holds each time.
const attempts = 3

// leastHeap runs a call several times and checks how much heap it needs.
func (tw *twin) leastHeap(t *testing.T, f *fixture, what string, call func(h *heap)) {
	t.Helper()
	s, least := f.suite, int64(1<<62)
	for range attempts {
		tw.got = f.mailbox()
		h := newHeap()
		call(h)
		h.peak = max(h.peak, liveHeap())
		least = min(least, int64(h.peak-h.base))
	}
	t.Logf("%s: %.1f MB of heap", what, float64(least)/(1<<20))
	if least > s.heapBound() {
		t.Errorf("%s a message of 25 MB takes %.1f MB of heap, at most %d MB are allowed", what, float64(least)/(1<<20), s.heapBound()>>20)
	}
}

type watchedContent struct {
	models.Content
	heap *heap
}

func (c watchedContent) ReadAt(p []byte, off int64) (int, error) {
	c.heap.passed(len(p))
	return c.Content.ReadAt(p, off)
}

type watchedWriter struct {
	w    io.Writer
	heap *heap
}

func (w watchedWriter) Write(p []byte) (int, error) {
	w.heap.passed(len(p))
	return w.w.Write(p)
}

func testBoundedMemory(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	tw := f.twin()
	a, b := tw.user("ann@example.org", "INBOX"), tw.user("bob@example.org", "INBOX")
	d := letter(0)
	d.Files = []File{{Name: "big.bin", Encoding: models.Base64, Content: noise(bigAttachment, 1)}}
	m := d.Message()

	to, hs, rh := []*folder{a.folders[0], b.folders[0]}, make([]models.Handle, 2), make([]models.Handle, 2)
	var err error
	tw.leastHeap(t, f, "delivering", func(h *heap) {
		watched := *m
		watched.Raw = watchedContent{m.Raw, h}
		watched.Attachments = []models.Part{m.Attachments[0]}
		watched.Attachments[0].Content = watchedContent{m.Attachments[0].Content, h}
		if err != nil {
			return
		}
		if err = tw.got.Deliver(f.ctx, &watched, []*models.Folder{to[0].got, to[1].got}, hs); err == nil {
			err = tw.ref.Deliver(f.ctx, m, []*models.Folder{to[0].ref, to[1].ref}, rh)
			for i := range to {
				tw.learn(to[i], hs[i], rh[i])
			}
		}
	})
	if errors.Is(err, drivers.ErrTooLarge) {
		t.Logf("n/a: %v", err)
		tw.leftovers = true
		tw.check() // it is nowhere
		return
	}
	if err != nil {
		t.Fatalf("deliver 25 MB: %v", err)
	}
	tw.leastHeap(t, f, "streaming the attachment of", func(h *heap) {
		w := contentChecker{want: m.Attachments[0].Content}
		n, err := tw.got.Attachment(f.ctx, to[0].got, hs[0], "big.bin", watchedWriter{&w, h})
		if err := w.done(n, err); err != nil {
			t.Fatalf("attachment of 18 MB: %v", err)
		}
	})
	tw.leastHeap(t, f, "streaming", func(h *heap) {
		w := contentChecker{want: m.Raw}
		n, err := tw.got.Raw(f.ctx, to[1].got, hs[1], watchedWriter{&w, h})
		if errors.Is(err, models.ErrNotOffered) {
			return
		}
		if err := w.done(n, err); err != nil {
			t.Fatalf("raw message of 25 MB: %v", err)
		}
	})
	tw.checkFolder(to[0], 25)
	tw.checkMessage(tw.live(to[1])[0])
	tw.checkAudit()
}
