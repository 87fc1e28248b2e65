package models

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
)

// MaxRow is the most bytes of a message that a model puts into one row, also where the
// engine takes more. It is what Cassandra takes in one write by default (half of
// commitlog_segment_size, cassandra.yaml). A client holds such a row in memory, and an encoded
// copy of it.
const MaxRow = 16 << 20

// RowLimit is how much of a message fits into one row.
type RowLimit struct {
	cell, row int64
}

// NewRowLimit returns what fits into a row of the engine. It is MaxRow at most.
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

// Check returns drivers.ErrTooLarge if a body and attachments do not fit into a row,
// without reading them. What it lets pass may still be too large for the engine, which
// counts keys and encodings too.
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

// Of a row that holds a message a client has its own copy, and an engine's client one more,
// with room to grow. Text that is not UTF-8 is longer by a third as base64. What is opened
// is decoded into a copy of its own.
const rowCopies = 3

// Holds returns what is held of a body and attachments in one row: nothing if they do not
// fit.
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

// chunkCopies: a chunk, and the engine's copy of it with room to grow.
const chunkCopies = 3

// HoldsChunks returns what is held of a raw message in chunks of which so many bytes are
// written or read at once. An opened body is in memory whole.
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
