package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
)

// RawMessages implements the calls of a Mailbox that stream a message, for a model
// that stores raw messages in chunks. The model's mailbox embeds it.
type RawMessages struct {
	Reader *RawReader

	model string
	begin func(ctx context.Context, f *Folder, h Handle) error
	body  bytes.Buffer
}

// NewRawMessages returns the calls for the model of that name. Begin reads the
// metadata of a message and calls Reader.Begin; fetch is that of NewRawReader.
func NewRawMessages(model string, begin func(ctx context.Context, f *Folder, h Handle) error,
	fetch func(ctx context.Context, n int64) error,
) RawMessages {
	return RawMessages{Reader: NewRawReader(fetch), model: model, begin: begin}
}

// Raw implements Mailbox.
func (m *RawMessages) Raw(ctx context.Context, f *Folder, h Handle, w io.Writer) (int64, error) {
	return m.Stream(ctx, "raw message", f, h, func() (int64, error) { return m.Reader.Whole(ctx, w) })
}

// RawRange implements RangeReader.
func (m *RawMessages) RawRange(ctx context.Context, f *Folder, h Handle, off, n int64, w io.Writer) (int64, error) {
	return m.Stream(ctx, "range of a raw message", f, h, func() (int64, error) {
		return m.Reader.Range(ctx, off, n, w)
	})
}

// Attachment implements Mailbox.
func (m *RawMessages) Attachment(ctx context.Context, f *Folder, h Handle, name string, w io.Writer) (int64, error) {
	return m.Stream(ctx, "attachment", f, h, func() (int64, error) {
		if err := m.Reader.Learn(ctx); err != nil {
			return 0, err
		}
		p := m.Reader.Layout.Attachment(name)
		if p == nil {
			return 0, fmt.Errorf("%q: %w", name, ErrNotFound)
		}
		return m.Reader.Part(ctx, p, w)
	})
}

// Stream begins a message and runs read, which reads it. Op names the operation
// in errors. If the message is broken, Stream looks for it once more: another
// worker may have deleted it meanwhile, and then the error is ErrNotFound.
func (m *RawMessages) Stream(ctx context.Context, op string, f *Folder, h Handle, read func() (int64, error),
) (n int64, err error) {
	if err = m.begin(ctx, f, h); err == nil {
		n, err = read()
		if errors.Is(err, ErrBroken) {
			if again := m.begin(ctx, f, h); errors.Is(again, ErrNotFound) {
				err = again
			}
		}
	}
	if err != nil {
		return n, fmt.Errorf("%s: %s of %s: %w", m.model, op, f.Account.Address, err)
	}
	return n, nil
}

// OpenBody sets the text body and the attachments of o, within the read of a Stream.
func (m *RawMessages) OpenBody(ctx context.Context, o *Opened) (int64, error) {
	o.Attachments = o.Attachments[:0]
	if err := m.Reader.Learn(ctx); err != nil {
		return 0, err
	}
	for i := range m.Reader.Layout.Attachments {
		p := &m.Reader.Layout.Attachments[i]
		o.Attachments = append(o.Attachments, AttachmentInfo{Name: string(p.Name), Size: p.Size})
	}
	size := m.Reader.Layout.Body.Size
	if size > MaxRow {
		return 0, fmt.Errorf("a text body of %d bytes in memory, at most %d fit; read it raw: %w", size,
			MaxRow, drivers.ErrTooLarge)
	}
	m.body = *bytes.NewBuffer(slices.Grow(o.Body[:0], int(max(0, size))))
	n, err := m.Reader.Part(ctx, &m.Reader.Layout.Body, &m.body)
	o.Body, m.body = m.body.Bytes(), bytes.Buffer{} // a worker drops a large body
	return n, err
}

// ErrBroken says that the stored message differs from the delivered one.
var ErrBroken = errors.New("the stored message is broken")

// RawReader streams raw messages that are stored in chunks of one size: a whole
// message, a range of it, or a decoded part. It reads only the chunks that hold
// these bytes, one after another, and checks them.
type RawReader struct {
	// Layout is the layout of the message being read.
	Layout Layout

	fetch   func(ctx context.Context, n int64) error
	size    int64
	chunk   int64
	bare    bool   // the message is stored without a layout
	learned []byte // the layout of such a message

	w              io.Writer
	from, to, want int64  // range of the chunk to write, and the expected length of the chunk
	found          bool   // the chunk exists
	sum            uint32 // checksum of the bytes written
	dec            mail.Decoder
}

// NewRawReader returns a reader. Fetch reads chunk n of the current message,
// counted from 0, and passes it to Chunk.
func NewRawReader(fetch func(ctx context.Context, n int64) error) *RawReader {
	return &RawReader{fetch: fetch}
}

// Begin starts a message: its size and chunk size in bytes, and its stored
// layout, which must not change while the message is read. Without a layout the
// message is as the source design has it: Learn finds its parts, and there is no checksum.
func (r *RawReader) Begin(size, chunk int64, layout []byte) error {
	r.size, r.chunk = size, chunk
	if chunk <= 0 || size < 0 {
		return fmt.Errorf("%w: %d bytes in chunks of %d", ErrBroken, size, chunk)
	}
	if r.bare = len(layout) == 0; r.bare {
		r.Layout = Layout{Attachments: r.Layout.Attachments[:0]}
		return nil
	}
	return r.Layout.Parse(layout)
}

// Learn sets Layout of a message that is stored without one: it reads the whole message and
// parses it. It does nothing if there is a layout.
func (r *RawReader) Learn(ctx context.Context) error {
	if !r.bare {
		return nil
	}
	if r.size > MaxRow {
		return fmt.Errorf("a message of %d bytes without its layout, at most %d fit into memory; read it raw: %w", r.size,
			MaxRow, drivers.ErrTooLarge)
	}
	var raw bytes.Buffer
	if _, err := r.Range(ctx, 0, r.size, &raw); err != nil {
		return err
	}
	var msg mail.Message
	if err := mail.NewParser().Parse(mail.BytesContent(raw.Bytes()), time.Time{}, &msg); err != nil {
		return err
	}
	r.learned, r.bare = AppendLayout(r.learned[:0], &msg, Checksum(0, raw.Bytes())), false
	return r.Layout.Parse(r.learned)
}

// Chunk checks the length of a chunk and writes the requested bytes of it.
func (r *RawReader) Chunk(b []byte) error {
	r.found = true
	if int64(len(b)) != r.want {
		return fmt.Errorf("%w: a chunk has %d bytes instead of %d", ErrBroken, len(b), r.want)
	}
	b = b[r.from:r.to]
	r.sum = Checksum(r.sum, b)
	_, err := r.w.Write(b)
	return err
}

// Range writes up to n bytes from off on to w. It stops at the end of the message.
func (r *RawReader) Range(ctx context.Context, off, n int64, w io.Writer) (int64, error) {
	off = min(max(off, 0), r.size)
	n = min(max(n, 0), r.size-off)
	r.w, r.sum = w, 0
	defer func() { r.w = nil }()
	var done int64
	for done < n {
		chunk := (off + done) / r.chunk
		r.from = off + done - chunk*r.chunk
		r.to = min(r.chunk, r.from+n-done)
		r.want = min(r.chunk, r.size-chunk*r.chunk)
		r.found = false
		if err := r.fetch(ctx, chunk); err != nil {
			return done, err
		}
		if !r.found {
			return done, fmt.Errorf("%w: chunk %d of %d is missing", ErrBroken, chunk+1, (r.size+r.chunk-1)/r.chunk)
		}
		done += r.to - r.from
	}
	return done, nil
}

// Whole writes the whole message to w and checks its checksum, if it has one.
func (r *RawReader) Whole(ctx context.Context, w io.Writer) (int64, error) {
	n, err := r.Range(ctx, 0, r.size, w)
	if err == nil && !r.bare && r.sum != r.Layout.Checksum {
		err = fmt.Errorf("%w: its checksum differs", ErrBroken)
	}
	return n, err
}

// Part writes a part of the layout to w, decoded.
func (r *RawReader) Part(ctx context.Context, p *LayoutPart, w io.Writer) (int64, error) {
	r.dec.Reset(w, p.Encoding)
	n, err := r.Range(ctx, p.Offset, p.Length, &r.dec)
	if err == nil && n < p.Length {
		return 0, fmt.Errorf("%w: a part ends beyond its end", ErrBroken)
	}
	if err == nil {
		n, err = r.dec.Close()
	}
	switch {
	case errors.Is(err, mail.ErrBase64):
		return 0, fmt.Errorf("%w: a part is %w", ErrBroken, err)
	case err != nil:
		return 0, err
	case n != p.Size:
		return n, fmt.Errorf("%w: a part has %d bytes instead of %d", ErrBroken, n, p.Size)
	}
	return n, nil
}
