package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// bench is a model on an engine with one account.
type bench struct {
	*World
	*call
	bound    models.Bound
	messages []*mail.Message // to deliver
	all      []models.Handle // delivered before
	first    [1]models.Handle
	discards bool
}

// cache is the size in bytes of an engine's cache in benchmarks.
const cache = 512 << 20

func open(b testing.TB, m models.Model, stores drivertest.Open) *bench {
	b.Helper()
	w := newWorld(b, m, stores)
	x := &bench{World: w, bound: w.Bind(models.Options{Now: time.Now}), discards: w.Store.Capabilities().Discards}
	mb := x.bound.Mailbox(w.Session())
	a, err := mb.CreateUser(b.Context(), "ann@example.org", []string{"INBOX", "Work"})
	must(b, err)
	x.call = newCall(context.Background(), mb, a)
	x.entry = func(*models.Entry) error { return nil }
	return x
}

// mailOf returns n messages of about size bytes, whose text compresses about 2:1.
func mailOf(size, n int) []*mail.Message {
	words := strings.Fields("the message arrived late but nobody at the office had been waiting for it anyway 7f3a 91c2 e05b d4a8")
	ms := make([]*mail.Message, n)
	for i := range ms {
		var text strings.Builder
		for x := uint32(i + 1); text.Len() < size-350; {
			x = x*1664525 + 1013904223
			text.WriteString(words[x>>8%uint32(len(words))])
			fmt.Fprintf(&text, " %x ", x>>20)
		}
		d := sample(i)
		d.Date, d.Text = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), []byte(text.String())
		ms[i] = d.Message()
	}
	return ms
}

func (x *bench) deliver(m *mail.Message) models.Handle {
	x.m, x.made = m, x.first[:]
	must(x.TB, the("deliver").run(x.call))
	return x.made[0]
}

// fill delivers n messages.
func (x *bench) fill(n int) {
	for i := range n {
		x.all = append(x.all, x.deliver(x.messages[i%len(x.messages)]))
	}
}

// benched are the operations that Bench and testAllocations run.
var benched = []string{"deliver", "list", "open", "raw", "flag", "move", "delete", "stats"}

// run runs an operation for the i-th time. Messages take turns. All of them move to the other folder one by
// one, and then back; the null engine stores nothing, so nothing has moved there.
func (x *bench) run(op *operation, i int) error {
	at, round := i%len(x.all), i/len(x.all)%2
	x.m, x.hs, x.on = x.messages[i%len(x.messages)], x.all[at:at+1], round == 0
	x.in, x.to, x.made = x.a.Folders[0], x.a.Folders[1], x.first[:]
	if op.name == "move" && !x.discards {
		x.in, x.to = x.a.Folders[round], x.a.Folders[1-round]
		defer func() { x.all[at] = x.first[0] }()
	}
	return op.run(x.call)
}

// Bench measures each operation on one worker: on the null engine the model's own CPU and
// allocations, on the embedded engine both together.
func (s Suite) Bench(b *testing.B) {
	for _, e := range []drivers.Engine{null.Engine(), pebble.Engine()} {
		for _, name := range benched {
			op := the(name)
			b.Run(fmt.Sprintf("Model/%s/%s/%s", e.Name, s.Model.Name, name), func(b *testing.B) {
				x := open(b, s.Model, opening(e, cache))
				x.messages = mailOf(8<<10, 64)
				if x.fill(100); name == "delete" {
					x.fill(max(0, b.N-100))
				}
				if name == "raw" && errors.Is(x.run(op, 0), models.ErrNotOffered) {
					b.Skip("the model has no whole messages")
				}
				if s, ok := x.Store.(drivers.Settler); ok {
					must(b, s.Settle(b.Context()))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					must(b, x.run(op, i))
				}
			})
		}
	}
}

// bigAttachment is the size in bytes of an attachment that makes a message of 25 MB in base64,
// the largest that mail systems commonly accept.
const bigAttachment = 18 << 20

// heapBound is how many bytes of heap such a message may use while it is delivered or read: a
// few chunks, but not the whole message.
const heapBound = 8 << 20

// heap watches how much the live heap has grown since its beginning. It runs the garbage
// collector before it measures, so garbage does not count.
type heap struct {
	base, peak int64
	every      int64 // bytes between two measurements
	passed     int64 // bytes that have passed
}

func newHeap(every int64) *heap {
	h := &heap{every: every}
	h.base = h.grown()
	return h
}

// Write implements io.Writer: it notes that bytes pass, and measures the heap after every h.every of them.
func (h *heap) Write(p []byte) (int, error) {
	before := h.passed / h.every
	if h.passed += int64(len(p)); h.passed/h.every > before {
		h.grown()
	}
	return len(p), nil
}

func (h *heap) grown() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	h.peak = max(h.peak, int64(m.HeapAlloc))
	return h.peak - h.base
}

// checkHeap fails if the heap grew beyond the bound.
func checkHeap(t *testing.T, what string, grown int64) {
	t.Helper()
	const mega = 1 << 20
	t.Logf("%s: %.1f MB of heap", what, float64(grown)/mega)
	if grown > heapBound {
		t.Errorf("%s takes %.1f MB of heap, at most %d MB are allowed", what, float64(grown)/mega, heapBound/mega)
	}
}

// testBoundedMemory delivers a message of 25 MB and streams it. A model that stores a message in one row refuses it.
func testBoundedMemory(t *testing.T, s *suite) {
	d := sample(0)
	d.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(bigAttachment, 1)}}
	m := d.Message()
	f := s.start(t, models.Options{})
	diff := f.differential()
	a, b := diff.user(diff.at("ann"), "INBOX"), diff.user(diff.at("bob"), "INBOX")
	in := a.folders[0]
	to, hs := []*models.Folder{in.got, b.folders[0].got}, make([]models.Handle, 2)
	err := diff.got.Deliver(diff.ctx, m, to, hs)
	if s.Traits.WholeRows && errors.Is(err, drivers.ErrTooLarge) {
		diff.failed()
		diff.check() // it is nowhere
		return
	} else if err != nil || s.Traits.WholeRows {
		t.Fatalf("deliver 25 MB: error is %v; want it refused: %t", err, s.Traits.WholeRows)
	}
	c := diff.on(in)
	c.hs, c.file = hs[:1], "big.bin"
	leastHeap(t, f, c, "attachment", m.Attachments[0].Content)
	c.in, c.hs = to[1], hs[1:]
	leastHeap(t, f, c, "raw", m.Raw)
}

// leastHeap measures an operation up to three times, on mailboxes that have no buffers yet. The
// least heap counts, so one call within the bound is enough: the first call also fills the
// cache of an engine in this process.
func leastHeap(t *testing.T, f *fixture, c *call, op string, want mail.Content) {
	t.Helper()
	least := int64(math.MaxInt64)
	for n := 0; n < 3 && least > heapBound; n++ {
		h, came := newHeap(4<<20), digest{}
		c.mb, c.w = f.mailbox(), io.MultiWriter(&came, h)
		if err := the(op).run(c); !errors.Is(err, models.ErrNotOffered) {
			must(t, err)
			var all digest
			_, err = io.Copy(&all, io.NewSectionReader(want, 0, want.Size()))
			if must(t, err); came != all || c.count != all.n {
				t.Errorf("%s says %d bytes, and %d came with the sum %x; want %d with %x", op, c.count, came.n, came.sum,
					all.n, all.sum)
			}
		}
		least = min(least, h.grown())
	}
	checkHeap(t, "streaming the "+op+" of a message of 25 MB", least)
}

// testAllocations checks that no operation of the model allocates. It uses the null engine,
// which stores nothing, so all allocations are the model's.
func testAllocations(t *testing.T, m models.Model) {
	const warm, runs = 100, 200
	for _, name := range benched {
		t.Run(name, func(t *testing.T) {
			x, op := open(t, m, opening(null.Engine(), 0)), the(name)
			x.messages = mailOf(8<<10, 4)
			x.fill(warm + runs + 1)
			var err error
			i := 0
			next := func() {
				err = errors.Join(err, x.run(op, i))
				i++
			}
			for range warm { // until buffers have grown
				next()
			}
			if name == "raw" && errors.Is(err, models.ErrNotOffered) {
				return // the model has no whole messages
			}
			if n := testing.AllocsPerRun(runs, next); n != 0 || err != nil {
				t.Errorf("%v allocations, error %v; want none", n, err)
			}
		})
	}
}

// zeros returns content of so many zeros, which is nowhere in memory.
func zeros(n int64) mail.Content { return io.NewSectionReader(zero{}, 0, n) }

type zero struct{}

func (zero) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// gigabyte is more than any mail system accepts.
const gigabyte = 1 << 30

// testGigabyte delivers a body, and then an attachment, of a gigabyte, to the null engine: another one would keep it in
// the same heap. A model that keeps it in chunks streams it. A model that keeps it in a row returns ErrTooLarge without
// reading it.
func testGigabyte(t *testing.T, s *suite) {
	for _, attached := range []bool{false, true} {
		refuses := s.Traits.WholeRows || s.Traits.KeepsBodies && !attached
		if attached && !refuses && !s.Traits.KeepsBodies {
			continue // the model keeps the raw message, which the body has tested
		}
		x, what := open(t, s.Model, opening(null.Engine(), 0)), "a body of a gigabyte"
		x.m = sample(0).Message()
		h := newHeap(64 << 20)
		content := hooked{zeros(gigabyte), func(p []byte, _ int64) error {
			_, err := h.Write(p)
			return err
		}}
		if x.m.Raw = content; attached {
			what, x.m.Attachments = "an attachment of a gigabyte", []mail.Part{{Name: "large.bin", Content: content}}
		} else {
			x.m.Body.Content = content
		}
		err := the("deliver").run(x.call)
		checkHeap(t, "delivering "+what, h.grown())
		if errors.Is(err, drivers.ErrTooLarge) != refuses || err != nil && !refuses || refuses && h.passed > 0 {
			t.Errorf("%s, of which %d bytes were read: error is %v; want it refused, and not read: %t", what, h.passed, err,
				refuses)
		}
	}
}
