package models

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
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
	total, largest := sizes(body, attachments)
	switch {
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
	total, _ := sizes(body, attachments)
	largest := int64(0)
	for i := range attachments {
		largest = max(largest, attachments[i].Content.Size())
	}
	return Holding{
		Deliver: rowCopies * total, Open: rowCopies * body.Size(), Attachment: rowCopies * largest,
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

func sizes(body mail.Content, attachments []mail.Part) (total, largest int64) {
	total, largest = body.Size(), body.Size()
	for i := range attachments {
		n := attachments[i].Content.Size()
		total, largest = total+n, max(largest, n)
	}
	return total, largest
}
