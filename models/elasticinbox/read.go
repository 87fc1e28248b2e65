package elasticinbox

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

var errBroken = errors.New("the stored message is broken")

// incoming is where the block that is being read goes.
type incoming struct {
	w              io.Writer
	from, to, want int64  // bytes of the block to pass on, and how long it must be
	found          bool   // it is there
	sum            uint32 // of what was passed on
}

// appendWriter collects what is written in a slice.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	r, err := m.laidOut(ctx, f, h)
	if err != nil {
		return failed("open", f.Account, err)
	}
	from, subject := append(o.From[:0], r.from...), append(o.Subject[:0], r.subject...)
	fill(&o.Entry, r)
	o.From, o.Subject = from, subject
	o.Flags = 0
	if r.seen {
		o.Flags |= models.Seen
	}
	if r.answered {
		o.Flags |= models.Answered
	}
	o.Attachments = o.Attachments[:0]
	for i := range m.layout.Attachments {
		p := &m.layout.Attachments[i]
		o.Attachments = append(o.Attachments, models.AttachmentInfo{Name: string(p.Name), Size: p.Size})
	}
	m.body = o.Body[:0]
	_, err = m.part(ctx, r, &m.layout.Body, &m.body)
	o.Body, m.body = m.body, nil
	return m.streamed(ctx, "open", f, h, err)
}

// Raw implements models.Mailbox.
func (m *mailbox) Raw(ctx context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	r, err := m.laidOut(ctx, f, h)
	if err != nil {
		return 0, failed("raw message", f.Account, err)
	}
	n, err := m.stream(ctx, r, 0, r.size, w)
	if err == nil && m.in.sum != m.layout.Checksum {
		err = fmt.Errorf("%w: its checksum differs", errBroken)
	}
	return n, m.streamed(ctx, "raw message", f, h, err)
}

// RawRange implements models.RangeReader.
func (m *mailbox) RawRange(ctx context.Context, f *models.Folder, h models.Handle, off, n int64, w io.Writer) (int64, error) {
	r, err := m.laidOut(ctx, f, h)
	if err != nil {
		return 0, failed("range of a raw message", f.Account, err)
	}
	off = min(max(off, 0), r.size)
	n, err = m.stream(ctx, r, off, min(max(n, 0), r.size-off), w)
	return n, m.streamed(ctx, "range of a raw message", f, h, err)
}

// Attachment implements models.Mailbox.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string, w io.Writer) (int64, error) {
	r, err := m.laidOut(ctx, f, h)
	if err != nil {
		return 0, failed("attachment", f.Account, err)
	}
	p := m.layout.Attachment(name)
	if p == nil {
		return 0, failed("attachment "+name, f.Account, models.ErrNotFound)
	}
	n, err := m.part(ctx, r, p, w)
	return n, m.streamed(ctx, "attachment", f, h, err)
}

// laidOut reads a message and its layout.
func (m *mailbox) laidOut(ctx context.Context, f *models.Folder, h models.Handle) (*record, error) {
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return nil, err
	}
	return r, m.layout.Parse(r.layout)
}

// part writes a part to w, decoded.
func (m *mailbox) part(ctx context.Context, r *record, p *models.LayoutPart, w io.Writer) (int64, error) {
	if p.Offset+p.Length > r.size {
		return 0, fmt.Errorf("%w: a part ends behind it", errBroken)
	}
	m.dec.Reset(w, p.Encoding)
	if _, err := m.stream(ctx, r, p.Offset, p.Length, &m.dec); err != nil {
		return 0, err
	}
	n, err := m.dec.Close()
	if err == nil && n != p.Size {
		err = fmt.Errorf("%w: a part has %d bytes instead of %d", errBroken, n, p.Size)
	}
	return n, err
}

// stream writes n bytes of the raw message from off on to w, reading only the
// blocks that they lie in, one after another.
func (m *mailbox) stream(ctx context.Context, r *record, off, n int64, w io.Writer) (int64, error) {
	m.in = incoming{w: w}
	each := int64(r.blockSize)
	var done int64
	for done < n {
		block := (off + done) / each
		m.in.from = off + done - block*each
		m.in.to = min(each, m.in.from+n-done)
		m.in.want = min(each, r.size-block*each)
		m.in.found = false
		err := m.s.Read(ctx, m.block, m.with(drivers.TimeUUID(r.id), drivers.Int(int32(block)), drivers.Int(0)), m.onBlock)
		if err != nil {
			return done, err
		}
		if !m.in.found {
			return done, fmt.Errorf("%w: block %d of %d is missing", errBroken, block, r.blocks)
		}
		done += m.in.to - m.in.from
	}
	return done, nil
}

// read takes a block and passes on what was asked for.
func (m *mailbox) read(row []drivers.Value) error {
	in, b := &m.in, row[0].Raw()
	in.found = true
	if int64(len(b)) != in.want {
		return fmt.Errorf("%w: a block has %d bytes instead of %d", errBroken, len(b), in.want)
	}
	b = b[in.from:in.to]
	in.sum = models.Checksum(in.sum, b)
	_, err := in.w.Write(b)
	return err
}

// streamed says how the streaming of a message ended. What looks broken may
// have been purged meanwhile, which is something else.
func (m *mailbox) streamed(ctx context.Context, op string, f *models.Folder, h models.Handle, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errBroken) {
		if _, again := m.one(ctx, f, h); errors.Is(again, models.ErrNotFound) {
			err = again
		}
	}
	return failed(op, f.Account, err)
}
