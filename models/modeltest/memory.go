package modeltest

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// A message of 25 MB, the largest that mail systems commonly take, may hold on
// to so much of the heap while it is delivered or read: some chunks, and no
// second message.
const (
	bigAttachment = 18 << 20 // 25 MB once it is base64
	heapBound     = 10 << 20
)

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

func (h *heap) check(t *testing.T, what string) {
	t.Helper()
	h.peak = max(h.peak, liveHeap())
	used := int64(h.peak) - int64(h.base)
	t.Logf("%s: %.1f MB of heap", what, float64(used)/(1<<20))
	if used > heapBound {
		t.Errorf("%s a message of 25 MB takes %.1f MB of heap, at most %d MB are allowed", what, float64(used)/(1<<20), heapBound>>20)
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

	h := newHeap()
	watched := *m
	watched.Raw = watchedContent{m.Raw, h}
	watched.Attachments = []models.Part{m.Attachments[0]}
	watched.Attachments[0].Content = watchedContent{m.Attachments[0].Content, h}
	to, hs := []*folder{a.folders[0], b.folders[0]}, make([]models.Handle, 2)
	err := tw.got.Deliver(f.ctx, &watched, []*models.Folder{to[0].got, to[1].got}, hs)
	if errors.Is(err, drivers.ErrTooLarge) {
		t.Logf("n/a: %v", err)
		tw.leftovers = true
		tw.check() // it is nowhere
		return
	}
	if err != nil {
		t.Fatalf("deliver 25 MB: %v", err)
	}
	h.check(t, "delivering")

	h = newHeap()
	w := contentChecker{want: m.Attachments[0].Content}
	n, err := tw.got.Attachment(f.ctx, to[0].got, hs[0], "big.bin", watchedWriter{&w, h})
	if err := w.done(n, err); err != nil {
		t.Fatalf("attachment of 18 MB: %v", err)
	}
	h.check(t, "streaming the attachment of")

	h = newHeap()
	w = contentChecker{want: m.Raw}
	n, err = tw.got.Raw(f.ctx, to[1].got, hs[1], watchedWriter{&w, h})
	if !errors.Is(err, models.ErrNotOffered) {
		if err := w.done(n, err); err != nil {
			t.Fatalf("raw message of 25 MB: %v", err)
		}
		h.check(t, "streaming")
	}
	// Acknowledged to the reference too, to compare the rest.
	rh := make([]models.Handle, 2)
	if err := tw.ref.Deliver(f.ctx, m, []*models.Folder{to[0].ref, to[1].ref}, rh); err != nil {
		t.Fatal(err)
	}
	for i := range to {
		tw.learn(to[i], hs[i], rh[i])
	}
	tw.check()
}
