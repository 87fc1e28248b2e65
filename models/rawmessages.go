package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mailbench/mailbench/drivers"
)

// RawMessages implements the calls of a Mailbox that stream a message, for a model
// that stores raw messages in chunks. The model's mailbox embeds it.
type RawMessages struct {
	Reader *RawReader

	model string
	begin func(ctx context.Context, f *Folder, h Handle) error
	body  appendWriter
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
	m.body = slices.Grow(o.Body[:0], int(max(0, size)))
	n, err := m.Reader.Part(ctx, &m.Reader.Layout.Body, &m.body)
	o.Body, m.body = m.body, nil
	return n, err
}

// appendWriter appends what is written to a slice.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
