package datastax

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// failing is a session whose batches of one pattern fail.
type failing struct {
	drivers.Session
	pattern string
	err     error
}

func (f failing) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if st.Pattern().Name == f.pattern {
		return f.err
	}
	return f.Session.Batch(ctx, st, parts)
}

// hidden is content that the model cannot see to lie in memory.
type hidden struct{ mail.Content }

func (w *world) deliverFile(f *models.Folder, content []byte) models.Handle {
	w.Helper()
	h := make([]models.Handle, 1)
	m := &mail.Message{
		Raw: mail.BytesContent(nil), Body: mail.Part{Content: mail.BytesContent("text")},
		Attachments: []mail.Part{{Name: "f", Content: hidden{mail.BytesContent(content)}}},
	}
	w.Must(w.mb.Deliver(w.Context(), m, []*models.Folder{f}, h))
	return h[0]
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// TestChunks is the source design's example: with chunks of 1000 KB, a file of 530 KB
// is one and one of 2416 KB is three.
func TestChunks(t *testing.T) {
	const kb, chunkSize, window = 1024, 1000 * 1024, 4
	for _, x := range []struct {
		size int
		want []int
	}{
		{0, nil},
		{1, []int{1}},
		{530 * kb, []int{530 * kb}},
		{chunkSize, []int{1000 * kb}},
		{chunkSize + 1, []int{1000 * kb, 1}},
		{2416 * kb, []int{1000 * kb, 1000 * kb, 416 * kb}},
		{6*1000*kb + 5, []int{1000 * kb, 1000 * kb, 1000 * kb, 1000 * kb, 1000 * kb, 1000 * kb, 5}},
	} {
		w := start(t, models.Options{})
		in := w.user("a@example.org", "inbox").Folders[0]
		content := pattern(x.size)
		w.Meter.Take()
		h := w.deliverFile(in, content)
		// In addition to the batches of chunks: the email, what shows it, and the counters.
		if c, want := w.Meter.Take(), (len(x.want)+window-1)/window+3; int(c.Requests) != want {
			t.Errorf("%d bytes: delivered in %d calls, want %d", x.size, c.Requests, want)
		}
		got := make([]int, len(x.want))
		for _, row := range w.Rows("attachments") {
			if n := int(row[2].Int64()); n < len(got) {
				got[n] = len(row[3].Raw())
			} else {
				t.Errorf("%d bytes: there is a chunk %d", x.size, n)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%d bytes: chunks of %v, want %v", x.size, got, x.want)
		}
		var out bytes.Buffer
		n, err := w.mb.Attachment(t.Context(), in, h, "f", &out)
		if err != nil || n != int64(x.size) || !bytes.Equal(out.Bytes(), content) {
			t.Errorf("%d bytes: %d came, %v", x.size, n, err)
		}
		// The size and the chunks are read.
		if c := w.Meter.Take(); int(c.Requests) != len(x.want)+1 {
			t.Errorf("%d bytes: read in %d calls, want %d", x.size, c.Requests, len(x.want)+1)
		}
	}
}

// TestChunkSizeChanged reads what was written with chunks of another size.
func TestChunkSizeChanged(t *testing.T) {
	w := start(t, modeltest.Sized(100, 0))
	in := w.user("a@example.org", "inbox").Folders[0]
	content := pattern(1950)
	h := w.deliverFile(in, content)
	for _, size := range []int{1, 99, 100, 101, 1000, 5000} {
		mb := w.bind(modeltest.Sized(size, 0))
		var out bytes.Buffer
		if _, err := mb.Attachment(t.Context(), in, h, "f", &out); err != nil || !bytes.Equal(out.Bytes(), content) {
			t.Errorf("chunks of 100 read with a chunk size of %d: %d bytes, %v", size, out.Len(), err)
		}
	}
}

// TestDamagedChunks damages one chunk of three in turn. No wrong byte may come.
func TestDamagedChunks(t *testing.T) {
	content := pattern(250)
	for name, d := range map[string]struct {
		kind   schemas.PatternKind
		column string
		value  drivers.Value
	}{
		"other bytes":    {schemas.Put, "bytes", drivers.Blob(pattern(50))},
		"other checksum": {schemas.Put, "checksum", drivers.Bigint(1)},
		"missing":        {schemas.Delete, "", drivers.Value{}},
	} {
		for chunk := range int32(3) {
			w := start(t, modeltest.Sized(100, 0))
			in := w.user("a@example.org", "inbox").Folders[0]
			h := w.deliverFile(in, content)
			w.whole()

			table := w.Schema.Table("attachments")
			p := &schemas.Pattern{Name: "damage", Kind: d.kind, Table: table, By: table.Key()}
			args := []drivers.Value{drivers.TimeUUID(idOf(h)), drivers.Text("f"), drivers.Int(chunk)}
			if d.column != "" {
				p.Columns = []*schemas.Column{table.Column(d.column)}
				args = append(args, d.value)
			}
			st, err := w.Store.Prepare(t.Context(), p)
			w.Must(err)
			_, err = w.Meter.Write(t.Context(), st, args)
			w.Must(err)

			var out bytes.Buffer
			if _, err := w.mb.Attachment(t.Context(), in, h, "f", &out); !errors.Is(err, errBroken) ||
				!bytes.HasPrefix(content, out.Bytes()) {
				t.Errorf("chunk %d %s: error is %v after %d bytes, want %q", chunk, name, err, out.Len(), errBroken)
			}
			if audit := w.Audit(w.mb); audit.BrokenBodies != 1 {
				t.Errorf("chunk %d %s: audit counts %d broken, want 1", chunk, name, audit.BrokenBodies)
			}
		}
	}
}

// windows notes how many chunks each batch has.
type windows struct {
	drivers.Session
	at *[]int64
}

func (s *windows) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if st.Pattern().Name == "put_chunks" {
		*s.at = append(*s.at, int64(len(parts)))
	}
	return s.Session.Batch(ctx, st, parts)
}

// TestWindow counts how many chunks are in one batch and how many are
// read together: memory is bounded by them.
func TestWindow(t *testing.T) {
	w := start(t, modeltest.Sized(10, 0))
	in := w.user("a@example.org", "inbox").Folders[0]
	var at []int64
	w.mb.S = &windows{Session: w.mb.S, at: &at}
	w.Meter.Watch(nil, func(st drivers.Statement, _ time.Duration, calls int64) {
		if st.Pattern().Name == "chunks" {
			at = append(at, calls)
		}
	})
	h := w.deliverFile(in, pattern(105))
	if want := []int64{4, 4, 3}; !slices.Equal(at, want) {
		t.Errorf("11 chunks are written in windows of %v, want %v", at, want)
	}
	at = nil
	if _, err := w.mb.Attachment(t.Context(), in, h, "f", io.Discard); err != nil {
		t.Fatal(err)
	}
	if want := []int64{4, 4, 3}; !slices.Equal(at, want) {
		t.Errorf("11 chunks are read in windows of %v, want %v", at, want)
	}
}
