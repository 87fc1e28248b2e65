package modeltest

import (
	"errors"
	"io"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// gigabyte is 1 GiB of generated content. No mail system accepts so much.
type gigabyte struct{}

// Size implements mail.Content.
func (gigabyte) Size() int64 { return 1 << 30 }

// ReadAt implements io.ReaderAt.
func (g gigabyte) ReadAt(p []byte, off int64) (int, error) {
	if off >= g.Size() {
		return 0, io.EOF
	}
	n := min(int64(len(p)), g.Size()-off)
	for i := range p[:n] {
		p[i] = byte(off + int64(i))
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// testGigabyte delivers a body, and then an attachment, of a gigabyte. A model that keeps it in
// chunks streams it. A model that keeps it in a row returns ErrTooLarge without reading it.
func testGigabyte(t *testing.T, s *suite) {
	for _, attached := range []bool{false, true} {
		f := s.start(t, models.Options{})
		h := &heap{every: 64 << 20}
		mb := f.bound.Mailbox(&thinSession{f.session(), h})
		a, err := mb.CreateUser(f.ctx, f.at("ann"), []string{"INBOX"})
		if err != nil {
			t.Fatal(err)
		}
		m, what := sample(0).Message(), "body"
		m.Raw = gigabyte{}
		if large := (mail.Part{Name: "large.bin", Content: gigabyte{}}); attached {
			what, m.Attachments = "attachment", []mail.Part{large}
		} else {
			m.Body.Content = gigabyte{}
		}
		refuses := s.Traits.WholeRows || s.Traits.KeepsBodies && !attached
		if attached && !refuses && !s.Traits.KeepsBodies {
			continue // the model keeps the raw message, which the body has tested
		}
		h.base = liveHeap()
		h.peak = h.base
		err = mb.Deliver(f.ctx, m, a.Folders, make([]models.Handle, 1))
		if errors.Is(err, drivers.ErrTooLarge) != refuses || err != nil && !refuses {
			t.Errorf("%s of a gigabyte: error is %v; want it refused: %t", what, err, refuses)
		}
		const most = 8 << 20
		if grown := h.grown(); grown > most {
			t.Errorf("%s of a gigabyte: %.1f MB of heap, at most %d MB are allowed", what, float64(grown)/(1<<20), most>>20)
		} else {
			t.Logf("%s of a gigabyte: %.1f MB of heap", what, float64(grown)/(1<<20))
		}
		if refuses {
			for _, table := range f.schema.Tables {
				for _, row := range f.scan(table) {
					for _, v := range row {
						if v.Size() > 1000 {
							t.Errorf("%s of a gigabyte was refused, and table %s has a part of it", what, table.Name)
						}
					}
				}
			}
		}
	}
}
