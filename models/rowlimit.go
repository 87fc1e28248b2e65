package models

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
)

// MaxRow is the most bytes of a message that a model puts into one row, also where the
// engine takes more. A client holds such a row in memory, and an encoded copy of it.
const MaxRow = 32 << 20

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

// Holds returns how many bytes are held to write a body and attachments in one row: none if
// they do not fit.
func (l RowLimit) Holds(body mail.Content, attachments []mail.Part) int64 {
	if l.Check(body, attachments) != nil {
		return 0
	}
	total, _ := sizes(body, attachments)
	return total
}

func sizes(body mail.Content, attachments []mail.Part) (total, largest int64) {
	total, largest = body.Size(), body.Size()
	for i := range attachments {
		n := attachments[i].Content.Size()
		total, largest = total+n, max(largest, n)
	}
	return total, largest
}
