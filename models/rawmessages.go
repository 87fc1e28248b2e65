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

// RawMessages implements the calls of a Mailbox that stream a message, for a model that stores raw messages in chunks
// of one size. The model's mailbox embeds it. It reads only the chunks that hold the requested bytes, one after
// another, and checks them.
type RawMessages struct {
	model string
	begin func(ctx context.Context, f *Folder, h Handle) error
	fetch func(ctx context.Context, n int64) error

	// The message being read.
	size, chunk int64
	layout      Layout
	bare        bool   // it is stored without a layout
	learned     []byte // the layout of such a message

	w              io.Writer
	from, to, want int64  // range of the chunk to write, and the expected length of the chunk
	found          bool   // the chunk exists
	sum            uint32 // checksum of the bytes written
	decoded        counter
	decoder        mail.Decoder
	body           bytes.Buffer
}

// counter counts the bytes that it writes.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// NewRawMessages returns the calls for the model of that name. Begin reads the
// metadata of a message and calls BeginRaw. Fetch reads chunk n of that message,
// counted from 0, and passes it to RawChunk.
func NewRawMessages(model string, begin func(ctx context.Context, f *Folder, h Handle) error,
	fetch func(ctx context.Context, n int64) error,
) RawMessages {
	return RawMessages{model: model, begin: begin, fetch: fetch}
}

// Raw implements Mailbox.
func (m *RawMessages) Raw(ctx context.Context, f *Folder, h Handle, w io.Writer) (int64, error) {
	return m.Stream(ctx, "raw message", f, h, func() (int64, error) { return m.WholeRaw(ctx, w) })
}

// RawRange implements RangeReader.
func (m *RawMessages) RawRange(ctx context.Context, f *Folder, h Handle, off, n int64, w io.Writer) (int64, error) {
	return m.Stream(ctx, "range of a raw message", f, h, func() (int64, error) {
		return m.readRange(ctx, off, n, w)
	})
}

// Attachment implements Mailbox.
func (m *RawMessages) Attachment(ctx context.Context, f *Folder, h Handle, name string, w io.Writer) (int64, error) {
	return m.Stream(ctx, "attachment", f, h, func() (int64, error) {
		if err := m.learn(ctx); err != nil {
			return 0, err
		}
		p := m.layout.Attachment(name)
		if p == nil {
			return 0, fmt.Errorf("%q: %w", name, ErrNotFound)
		}
		return m.readPart(ctx, p, w)
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
	if err := m.learn(ctx); err != nil {
		return 0, err
	}
	for i := range m.layout.Attachments {
		p := &m.layout.Attachments[i]
		o.Attachments = append(o.Attachments, AttachmentInfo{Name: string(p.Name), Size: p.Size})
	}
	size := m.layout.Body.Size
	if size > MaxRow {
		return 0, fmt.Errorf("a text body of %d bytes in memory, at most %d fit; read it raw: %w", size,
			MaxRow, drivers.ErrTooLarge)
	}
	m.body = *bytes.NewBuffer(slices.Grow(o.Body[:0], int(max(0, size))))
	n, err := m.readPart(ctx, &m.layout.Body, &m.body)
	o.Body, m.body = m.body.Bytes(), bytes.Buffer{} // a worker drops a large body
	return n, err
}

// ErrBroken says that the stored message differs from the delivered one.
var ErrBroken = errors.New("the stored message is broken")

// BeginRaw starts a message: its size and chunk size in bytes, and its stored
// layout, which must not change while the message is read. Without a layout the
// message is as the source design has it: learn finds its parts, and there is no checksum.
func (m *RawMessages) BeginRaw(size, chunk int64, layout []byte) error {
	m.size, m.chunk = size, chunk
	if chunk <= 0 || size < 0 {
		return fmt.Errorf("%w: %d bytes in chunks of %d", ErrBroken, size, chunk)
	}
	if m.bare = len(layout) == 0; m.bare {
		m.layout = Layout{Attachments: m.layout.Attachments[:0]}
		return nil
	}
	return m.layout.Parse(layout)
}

// learn sets the layout of a message that is stored without one: it reads the whole message and
// parses it. It does nothing if there is a layout.
func (m *RawMessages) learn(ctx context.Context) error {
	if !m.bare {
		return nil
	}
	if m.size > MaxRow {
		return fmt.Errorf("a message of %d bytes without its layout, at most %d fit into memory; read it raw: %w", m.size,
			MaxRow, drivers.ErrTooLarge)
	}
	var raw bytes.Buffer
	if _, err := m.readRange(ctx, 0, m.size, &raw); err != nil {
		return err
	}
	var msg mail.Message
	if err := mail.NewParser().Parse(mail.BytesContent(raw.Bytes()), time.Time{}, &msg); err != nil {
		return err
	}
	m.learned, m.bare = AppendLayout(m.learned[:0], &msg, Checksum(0, raw.Bytes())), false
	return m.layout.Parse(m.learned)
}

// RawChunk checks the length of a chunk and writes the requested bytes of it.
func (m *RawMessages) RawChunk(b []byte) error {
	m.found = true
	if int64(len(b)) != m.want {
		return fmt.Errorf("%w: a chunk has %d bytes instead of %d", ErrBroken, len(b), m.want)
	}
	b = b[m.from:m.to]
	m.sum = Checksum(m.sum, b)
	_, err := m.w.Write(b)
	return err
}

// readRange writes up to n bytes from off on to w. It stops at the end of the message.
func (m *RawMessages) readRange(ctx context.Context, off, n int64, w io.Writer) (int64, error) {
	off = min(max(off, 0), m.size)
	n = min(max(n, 0), m.size-off)
	m.w, m.sum = w, 0
	defer func() { m.w = nil }()
	var done int64
	for done < n {
		chunk := (off + done) / m.chunk
		m.from = off + done - chunk*m.chunk
		m.to = min(m.chunk, m.from+n-done)
		m.want = min(m.chunk, m.size-chunk*m.chunk)
		m.found = false
		if err := m.fetch(ctx, chunk); err != nil {
			return done, err
		}
		if !m.found {
			return done, fmt.Errorf("%w: chunk %d of %d is missing", ErrBroken, chunk+1, (m.size+m.chunk-1)/m.chunk)
		}
		done += m.to - m.from
	}
	return done, nil
}

// WholeRaw writes the whole message to w and checks its checksum, if it has one.
func (m *RawMessages) WholeRaw(ctx context.Context, w io.Writer) (int64, error) {
	n, err := m.readRange(ctx, 0, m.size, w)
	if err == nil && !m.bare && m.sum != m.layout.Checksum {
		err = fmt.Errorf("%w: its checksum differs", ErrBroken)
	}
	return n, err
}

// readPart writes a part of the layout to w, decoded.
func (m *RawMessages) readPart(ctx context.Context, p *LayoutPart, w io.Writer) (int64, error) {
	if p.Length > m.size-p.Offset {
		return 0, fmt.Errorf("%w: a part ends beyond its end", ErrBroken)
	}
	m.decoded = counter{Writer: w}
	var err error
	if p.Encoding == mail.Identity {
		_, err = m.readRange(ctx, p.Offset, p.Length, &m.decoded)
	} else {
		m.decoder.Reset(&m.decoded, p.Encoding)
		if _, err = m.readRange(ctx, p.Offset, p.Length, &m.decoder); err == nil {
			err = m.decoder.Close()
		}
	}
	switch n := m.decoded.n; {
	case errors.Is(err, mail.ErrBase64):
		return 0, fmt.Errorf("%w: a part is %w", ErrBroken, err)
	case err != nil:
		return 0, err
	case n != p.Size:
		return n, fmt.Errorf("%w: a part has %d bytes instead of %d", ErrBroken, n, p.Size)
	default:
		return n, nil
	}
}
