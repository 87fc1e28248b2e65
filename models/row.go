package models

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// MaxRow is the most bytes of a message that a model puts into one row, even if the engine
// takes more. It is Cassandra's default limit of one write (half of commitlog_segment_size,
// cassandra.yaml). A client holds such a row in memory, and an encoded copy of it.
const MaxRow = 16 << 20

// RowLimit is how much of a message fits into one row.
type RowLimit struct {
	cell, row int64
}

// NewRowLimit returns the limit of a row of the engine. It is MaxRow at most.
func NewRowLimit(c drivers.Capabilities) RowLimit {
	l := RowLimit{cell: MaxRow, row: MaxRow}
	for _, most := range []int64{c.MaxRowBytes, c.MaxBatchBytes} {
		if most > 0 {
			l.row = min(l.row, most)
		}
	}
	if l.cell = l.row; c.MaxCellBytes > 0 {
		l.cell = min(l.row, c.MaxCellBytes)
	}
	return l
}

// Check returns drivers.ErrTooLarge if a body and attachments do not fit into a row. It does
// not read them. A message that passes may still be too large for the engine, which counts
// keys and encodings too.
func (l RowLimit) Check(body mail.Content, attachments []mail.Part) error {
	total, file := sizes(body, attachments)
	switch largest := max(body.Size(), file); {
	case largest > l.cell:
		return fmt.Errorf("a part of %d bytes in one row, at most %d fit: %w", largest, l.cell, drivers.ErrTooLarge)
	case total > l.row:
		return fmt.Errorf("a message of %d bytes in one row, at most %d fit: %w", total, l.row, drivers.ErrTooLarge)
	}
	return nil
}

// rowCopies bounds the copies of a row in memory: the model's, and the engine client's with
// room to grow. As base64, text that is not UTF-8 is longer by a third. An opened body is
// decoded into a copy of its own.
const rowCopies = 3

// Holds returns how many bytes calls on a body and attachments in one row hold. It is zero if
// they do not fit into the row.
func (l RowLimit) Holds(body mail.Content, attachments []mail.Part) Holding {
	if l.Check(body, attachments) != nil {
		return Holding{}
	}
	total, file := sizes(body, attachments)
	return Holding{
		Deliver: rowCopies * total, Open: rowCopies * body.Size(), Attachment: rowCopies * file,
		Move: rowCopies * total, Row: 2 * body.Size(),
	}
}

// chunkCopies bounds the copies of a chunk: the model's, and the engine's with room to grow.
const chunkCopies = 3

// HoldsChunks returns how many bytes calls hold on a raw message in chunks, if they write or
// read atOnce bytes at a time. An opened body is in memory whole.
func HoldsChunks(m *mail.Message, atOnce int64) Holding {
	n := chunkCopies * min(m.Raw.Size(), atOnce)
	return Holding{Deliver: n, Open: m.Body.Content.Size() + n, Attachment: n, Move: n}
}

// EachPiece reads the raw message that is delivered, so many bytes at a time, and calls write with each piece and its
// offset. It returns the checksum of the message. A piece that is not in memory is read into buffer.
func EachPiece(raw mail.Content, buffer *[]byte, atOnce int64, write func(off int64, b []byte) error,
) (sum uint32, err error) {
	size := raw.Size()
	for off := int64(0); off < size; off += atOnce {
		b, err := mail.Piece(raw, buffer, off, min(atOnce, size-off))
		if err != nil {
			return 0, fmt.Errorf("read the message to deliver: %w", err)
		}
		sum = Checksum(sum, b)
		if err := write(off, b); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// sizes are the bytes of all, and of the largest attachment.
func sizes(body mail.Content, attachments []mail.Part) (total, file int64) {
	total = body.Size()
	for i := range attachments {
		n := attachments[i].Content.Size()
		total, file = total+n, max(file, n)
	}
	return total, file
}

// WholeRow is a message that is delivered as one row, in buffers that each delivery reuses. The mailbox of a model that
// stores such rows embeds it.
type WholeRow struct {
	RowLimit
	Body         []byte          // as a text column stores it
	Sizes, Files []drivers.Value // the attachments: name, size, name, size …, and name, content, name, content …
	Size         int64           // bytes of body and attachments as they are stored
	buffer       []byte
}

// Holds implements Holder.
func (r *WholeRow) Holds(m *mail.Message) Holding {
	return r.RowLimit.Holds(m.Body.Content, m.Attachments)
}

// Load reads a message into memory, since a row is written at once. Attachments become values of the kind, text or
// blob. The error is drivers.ErrTooLarge if the message does not fit into a row.
func (r *WholeRow) Load(m *mail.Message, kind schemas.Kind) (err error) {
	if err := r.Check(m.Body.Content, m.Attachments); err != nil {
		return err
	}
	r.Sizes, r.Files = r.Sizes[:0], r.Files[:0]
	if r.Body, err = r.stored(m.Body.Content, schemas.Text); err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	r.Size = int64(len(r.Body))
	for i := range m.Attachments {
		p := &m.Attachments[i]
		file, err := r.stored(p.Content, kind)
		if err != nil {
			return fmt.Errorf("read attachment %q: %w", p.Name, err)
		}
		r.Size += int64(len(file))
		r.Sizes = append(r.Sizes, drivers.Text(p.Name), drivers.Bigint(p.Content.Size()))
		r.Files = append(r.Files, drivers.Text(p.Name), drivers.Bytes(kind, file))
	}
	return nil
}

// stored returns content as a row stores it. A large one gets memory of its own: if append allocated a larger array
// for it, the others would keep the old one.
func (r *WholeRow) stored(c mail.Content, kind schemas.Kind) (b []byte, err error) {
	encode := EncodeText
	if kind == schemas.Blob {
		encode = mail.AppendContent
		if b, ok := c.(mail.BytesContent); ok {
			return b, nil
		}
	}
	if c.Size() > KeepBuffer {
		return encode(nil, c)
	}
	at := len(r.buffer)
	r.buffer, err = encode(r.buffer, c)
	return r.buffer[at:], err
}

// Release empties the buffers after a delivery, and reports whether the message was large.
func (r *WholeRow) Release() bool {
	clear(r.Files)
	r.Body, r.buffer = nil, Reuse(r.buffer)
	return r.Size > KeepBuffer
}
