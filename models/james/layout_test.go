package james

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

func TestPatterns(t *testing.T) {
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Patterns(t, s, models.PatternsOf(&statements{}))
}

// TestRows: newest first within a mailbox, flags as cells that say present or
// absent, chunks named 1, 2, 3 … in the order of their numbers.
func TestRows(t *testing.T) {
	w := newWorld(t, modeltest.Sized(100, 0), nil)
	in := w.a.Folders[0]
	m := message(1100)
	w.deliver(message(0), in)
	h := w.deliver(m, in)[0]
	w.Must(w.mb.Flag(t.Context(), in, h, models.Answered, true))

	rows := w.Rows("JAMES_MESSAGES")
	if len(rows) != 2 || rows[0][1].Int64() != 2 || rows[1][1].Int64() != 1 {
		t.Fatalf("%d messages, want UID 2 and then 1", len(rows))
	}
	if r := rows[0]; r[3].Int64() != m.Raw.Size() || r[4].Int64() != 100 ||
		!r[5].Equal(drivers.Boolean(false)) || !r[6].Equal(drivers.Boolean(true)) || !r[7].Equal(drivers.Boolean(false)) {
		t.Errorf("metadata is %+v", r)
	}
	var numbers []int64
	var data []byte
	for _, r := range w.Rows("JAMES_MESSAGES.data") {
		if r[1].Int64() == 2 {
			numbers = append(numbers, r[2].Int64())
			data = append(data, r[3].Raw()...)
		}
	}
	want := make([]int64, (m.Raw.Size()+99)/100)
	for i := range want {
		want[i] = int64(i + 1)
	}
	if len(want) < 12 || !slices.Equal(numbers, want) {
		t.Errorf("chunks are named %v, want %v", numbers, want)
	}
	if !bytes.Equal(data, m.Raw.(mail.BytesContent)) {
		t.Error("the chunks put together are not the message")
	}
}

// TestAppendCalls: a message of one chunk is one put, others are a put for
// each chunk and one for the metadata; one increment takes a UID and counts each.
func TestAppendCalls(t *testing.T) {
	w := newWorld(t, modeltest.Sized(1000, 0), nil)
	head := message(0).Raw.Size()
	for _, x := range []struct{ text, calls int64 }{{0, 2}, {1000 - head, 2}, {1001 - head, 4}, {3000 - head, 5}} {
		w.Meter.Take()
		w.deliver(message(int(x.text)), w.a.Folders[0])
		if c := w.Meter.Take().Requests; c != x.calls {
			t.Errorf("a message of %d bytes is appended in %d calls, want %d", head+x.text, c, x.calls)
		}
	}
	empty := &mail.Message{Raw: mail.BytesContent(nil), Body: mail.Part{Content: mail.BytesContent(nil)}}
	h := w.deliver(empty, w.a.Folders[0])[0]
	n, err := w.mb.Raw(t.Context(), w.a.Folders[0], h, &bytes.Buffer{})
	if err != nil || n != 0 {
		t.Errorf("a message of no bytes: %d bytes, %v", n, err)
	}
	if a := w.audit(); a.BrokenBodies != 0 || a.Messages != 5 {
		t.Errorf("audit: %+v", a)
	}
}

// TestRangeReads pins that a range reads the chunks it lies in and no other.
func TestRangeReads(t *testing.T) {
	const chunk = 100
	w := newWorld(t, modeltest.Sized(chunk, 0), nil)
	m, f := message(1000), w.a.Folders[0]
	h, raw := w.deliver(m, f)[0], []byte(m.Raw.(mail.BytesContent))
	for _, r := range []struct{ off, n, chunks int64 }{
		{0, 1, 1},
		{chunk - 1, 1, 1},
		{chunk - 1, 2, 2},
		{chunk, chunk, 1},
		{chunk / 2, 2 * chunk, 3},
		{2*chunk + 5, 0, 0},
		{m.Raw.Size() - 3, 100, 1},
		{m.Raw.Size(), 1, 0},
	} {
		var got bytes.Buffer
		w.Meter.Take()
		n, err := w.mb.RawRange(t.Context(), f, h, r.off, r.n, &got)
		w.Must(err)
		calls := w.Meter.Take().Requests
		want := raw[r.off:min(r.off+r.n, m.Raw.Size())]
		if !bytes.Equal(got.Bytes(), want) || n != int64(len(want)) || calls != 1+r.chunks {
			t.Errorf("%d bytes from %d: %d came in %d calls, want %d in %d", r.n, r.off, n, calls, len(want), 1+r.chunks)
		}
	}
	// A message keeps the chunk size it was written with.
	b := w.Bind(modeltest.Sized(7, 0))
	var got bytes.Buffer
	if _, err := b.Mailbox(w.Meter).Raw(t.Context(), f, h, &got); err != nil || !bytes.Equal(got.Bytes(), raw) {
		t.Errorf("with another chunk size the message does not come back: %v", err)
	}
}
