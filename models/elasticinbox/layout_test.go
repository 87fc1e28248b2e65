package elasticinbox

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestLayout holds what a delivery stores against the source design's samples.
func TestLayout(t *testing.T) {
	w := newWorld(t, models.Options{})
	h := w.deliver(draft(0).Message())[0]
	w.Must(w.mb.Flag(t.Context(), w.a.Folders[0], h, models.Seen, true))
	id := fmt.Sprintf("%x", h[:16])
	uuid := string(drivers.AppendUUID(nil, [16]byte(h[:16])))

	accounts := map[string]string{}
	for _, r := range w.Rows("Accounts") {
		accounts[r[0].Str()+" "+r[1].Str()] = r[2].Str()
	}
	columns := map[string]string{}
	for _, r := range w.Rows("MessageMetadata.columns") {
		if u := r[1].UUIDBytes(); fmt.Sprintf("%x", u) != id || r[0].Str() != "ann@example.org" {
			t.Errorf("a super column %x of %s", u, r[0].Str())
		}
		columns[r[2].Str()] = r[3].Str()
	}
	if parts := columns["parts"]; parts == "" {
		t.Error("no layout is stored")
	}
	delete(columns, "parts")
	var index []string
	for _, r := range w.Rows("IndexLabels") {
		index = append(index, fmt.Sprintf("%s %x %v", r[0].Str(), r[1].UUIDBytes(), r[2].IsNull()))
	}
	counters := map[string]int64{}
	for _, r := range w.Rows("Counters") {
		counters[r[0].Str()+" "+r[1].Str()+":"+r[2].Str()+":"+r[3].Str()] = r[4].Int64()
	}
	size := draft(0).Message().Raw.Size()
	for what, pair := range map[string][2]any{
		"Accounts": {accounts, map[string]string{
			"ann@example.org label:0": "all", "ann@example.org label:1": "INBOX", "ann@example.org label:21": "Work",
		}},
		"MessageMetadata": {columns, map[string]string{
			"from":     `[["EI Test","test@elasticinbox.com"]]`,
			"to":       `[["Ann","ann@example.org"]]`,
			"subject":  "Hello world!",
			"date":     "2026-01-01T00:00:00Z",
			"size":     fmt.Sprint(size),
			"location": "blob://db/" + uuid + "?b=1&s=131072",
			"l:0":      "true", "l:1": "true", "m:1": "true",
		}},
		"IndexLabels": {index, []string{"ann@example.org:0 " + id + " true", "ann@example.org:1 " + id + " true"}},
		"Counters": {counters, map[string]int64{
			"ann@example.org l:0:b": size, "ann@example.org l:0:m": 1, "ann@example.org l:0:u": 0,
			"ann@example.org l:1:m": 1, "ann@example.org l:1:u": 0,
		}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestBlocks pins that a range or part reads the blocks it lies in and no other.
func TestBlocks(t *testing.T) {
	const blockSize = 128 << 10
	w := newWorld(t, models.Options{})
	d := draft(0)
	file := content(3*blockSize + 1000)
	d.Files = []modeltest.File{{Name: "first", Content: content(blockSize)}, {Name: "last", Content: file}}
	m := d.Message()
	f, h := w.a.Folders[0], w.deliver(m)[0]
	var sizes []int
	for _, r := range w.Rows("MessageBlob") {
		if r[1].Int64() != int64(len(sizes)) || r[2].Int64() != 0 {
			t.Errorf("block %d, sub-block %d is in place %d", r[1].Int64(), r[2].Int64(), len(sizes))
		}
		sizes = append(sizes, len(r[3].Raw()))
	}
	if want := []int{
		blockSize, blockSize, blockSize, blockSize,
		int(m.Raw.Size() - 4*blockSize),
	}; !slices.Equal(sizes, want) {
		t.Errorf("blocks of %v bytes, want %v", sizes, want)
	}
	raw := []byte(m.Raw.(mail.BytesContent))
	for _, r := range []struct{ off, n, blocks int64 }{
		{0, 1, 1},
		{blockSize - 1, 1, 1},
		{blockSize - 1, 2, 2},
		{blockSize, blockSize, 1},
		{blockSize / 2, 2 * blockSize, 3},
		{2*blockSize + 5, 0, 0},
		{m.Raw.Size() - 3, 100, 1},
		{m.Raw.Size(), 1, 0},
	} {
		var got bytes.Buffer
		w.Meter.Take()
		n, err := w.mb.RawRange(t.Context(), f, h, r.off, r.n, &got)
		w.Must(err)
		calls := w.Meter.Take().Requests
		want := raw[r.off:min(r.off+r.n, m.Raw.Size())]
		if !bytes.Equal(got.Bytes(), want) || n != int64(len(want)) || calls != 1+r.blocks {
			t.Errorf("%d bytes from %d: %d came in %d calls, want %d in %d", r.n, r.off, n, calls, len(want), 1+r.blocks)
		}
	}
	var o models.Opened
	w.Meter.Take()
	w.Must(w.mb.Open(t.Context(), f, h, &o))
	if c := w.Meter.Take().Requests; c != 2 || string(o.Body) != "text" {
		t.Errorf("opening took %d calls and shows %q, want metadata, one block and the text", c, o.Body)
	}
	var got bytes.Buffer
	_, err := w.mb.Attachment(t.Context(), f, h, "last", &got)
	w.Must(err)
	if c := w.Meter.Take().Requests; c != 1+4 || !bytes.Equal(got.Bytes(), file) {
		t.Errorf("the last attachment took %d calls, want metadata and the 4 blocks that it lies in", c)
	}
}

// TestAuditWithoutChecksum: a message as the source design has it has no sub-column "parts". An audit compares the
// lengths of its blocks.
func TestAuditWithoutChecksum(t *testing.T) {
	w := newWorld(t, modeltest.Sized(1000, 0))
	d := draft(0)
	d.Text = content(2500)
	message := messageOf(w.deliver(d.Message())[0])
	parts := []drivers.Value{drivers.Text("ann@example.org"), message, drivers.Text("parts")}
	_, err := w.Meter.Write(t.Context(), w.mb.do.ColumnDelete, parts)
	w.Must(err)
	for n, length := range []int{1000, 999} {
		w.run(w.mb.do.BlocksPut, drivers.Call{Part: only, Args: []drivers.Value{
			message, drivers.Int(1), drivers.Int(0), drivers.Blob(content(length)),
		}})
		if a := w.audit(); a.BrokenBodies != int64(n) {
			t.Errorf("a block of %d bytes instead of 1000: %d broken bodies, want %d", length, a.BrokenBodies, n)
		}
	}
}

// TestFailedDelivery fails each step of a delivery, for the first of two
// recipients and for the second: it is nowhere, or says that it may be.
func TestFailedDelivery(t *testing.T) {
	d := draft(1)
	d.Text = nil // headers only: with blocks of 1000 bytes, a batch of blocks
	for _, step := range []string{"blocks_put", "store", "counts"} {
		for nth := 1; nth <= 2; nth++ {
			w := newWorld(t, modeltest.Sized(1000, 0))
			b, err := w.mb.CreateUser(t.Context(), "bob@example.org", []string{"INBOX"})
			w.Must(err)
			w.deliver(draft(0).Message())
			before := w.audit()
			session := w.mb.S
			deliver := func() error {
				return w.mb.Deliver(t.Context(), d.Message(), []*models.Folder{w.a.Folders[0], b.Folders[0]},
					make([]models.Handle, 2))
			}
			w.mb.S = &failing{Session: session, pattern: step, nth: nth}
			if err := deliver(); !errors.Is(err, errDown) || errors.Is(err, drivers.ErrUnknown) {
				t.Errorf("%s fails: error is %v", step, err)
			}
			w.mb.S = session
			if diff := cmp.Diff(before, w.audit()); diff != "" {
				t.Errorf("%s %d fails: the delivery left something (-before +after):\n%s", step, nth, diff)
			}
			w.mb.S = &failing{Session: &failing{Session: session, pattern: step, nth: nth}, pattern: "erase"}
			if err := deliver(); !errors.Is(err, drivers.ErrUnknown) {
				t.Errorf("%s %d fails and cannot be taken back: error is %v, want %q", step, nth, err, drivers.ErrUnknown)
			}
		}
	}
}
