package elasticinbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox. Each recipient gets his own metadata, index
// entries, counters and blocks.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	for i, f := range to {
		id, err := m.deliver(ctx, msg, f)
		if err != nil {
			for j := range i {
				err = m.withdraw(ctx, err, msg, to[j], [16]byte(handles[j][:16]), true)
			}
			m.Failed(&err, f.Account, "delivery")
			return err
		}
		handles[i] = handleOf(id)
	}
	return nil
}

// Holds implements models.Holder. A move writes no blocks.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	h := models.HoldsChunks(msg, window*int64(m.blockSize))
	h.Move = 0
	return h
}

// deliver stores the blocks, then metadata and index entries, then the counters.
func (m *mailbox) deliver(ctx context.Context, msg *mail.Message, f *models.Folder) (id [16]byte, err error) {
	m.reset()
	id = m.uuids.Next(msg.Date)
	var sum uint32
	if m.goesOutside(msg.Raw.Size()) {
		sum, err = m.putOutside(id, msg.Raw)
	} else {
		sum, err = m.putBlocks(ctx, id, msg.Raw)
	}
	if cap(m.buffer) > models.KeepBuffer {
		m.buffer = nil
		m.Forget()
	}
	if err == nil {
		err = m.putMetadata(ctx, id, msg, f, sum)
	}
	if err == nil {
		m.countMessage(f, msg, 1)
		err = m.count(ctx, f.Account.Address)
	}
	if err != nil {
		err = m.withdraw(ctx, err, msg, f, id, false)
	}
	return id, err
}

// putBlocks writes the raw message in windows of blocks and returns its checksum.
func (m *mailbox) putBlocks(ctx context.Context, id [16]byte, raw mail.Content) (sum uint32, err error) {
	size, each := raw.Size(), int64(m.blockSize)
	for off := int64(0); off < size; {
		b, err := mail.Piece(raw, &m.buffer, off, min(size-off, window*each))
		if err != nil {
			return 0, fmt.Errorf("read the message to deliver: %w", err)
		}
		sum = models.Checksum(sum, b)
		m.Calls.Reset()
		for block := range slices.Chunk(b, m.blockSize) {
			m.Calls.Add(only, drivers.TimeUUID(id), drivers.Int(int32(off/each)), drivers.Int(0), drivers.Blob(block))
			off += int64(len(block))
		}
		if err := m.S.Batch(ctx, m.do.BlocksPut, m.Calls.List); err != nil {
			return 0, fmt.Errorf("write blocks: %w", err)
		}
	}
	return sum, nil
}

// putMetadata writes the super column and its index entries.
func (m *mailbox) putMetadata(ctx context.Context, id [16]byte, msg *mail.Message, f *models.Folder, sum uint32) error {
	key, message, l := drivers.Text(f.Account.Address), drivers.TimeUUID(id), labelOf(f)
	m.Calls.Reset()
	put := func(part int, column, value drivers.Value) {
		m.Calls.Add(part, key, message, column, value)
	}
	put(storeColumn, drivers.Text("from"), m.blob(appendAddresses(m.text, msg.From)))
	put(storeColumn, drivers.Text("to"), m.blob(appendAddresses(m.text, msg.To...)))
	put(storeColumn, drivers.Text("subject"), m.blob(append(m.text, msg.Subject...)))
	date := mail.Bounded(msg.Date).UTC()
	put(storeColumn, drivers.Text("date"), m.blob(date.AppendFormat(m.text, time.RFC3339Nano)))
	size := msg.Raw.Size()
	if !m.goesOutside(size) {
		put(storeSize, drivers.Text("size"), m.blob(strconv.AppendInt(m.text, size, 10)))
	}
	put(storeColumn, drivers.Text("location"), m.location(f.Account.Address, id, size))
	put(storeColumn, m.labelColumn(all), present)
	put(storeColumn, m.labelColumn(l), present)
	put(storeParts, drivers.Text("parts"), m.blob(models.AppendLayout(m.text, msg, sum)))
	m.Calls.Add(storeIndex, m.indexKey(f.Account.Address, all), message)
	m.Calls.Add(storeIndex, m.indexKey(f.Account.Address, l), message)
	if err := m.S.Batch(ctx, m.do.Store, m.Calls.List); err != nil {
		return fmt.Errorf("write metadata and indexes: %w", err)
	}
	return nil
}

func (m *mailbox) blocksOf(size int64) int {
	return int((size + int64(m.blockSize) - 1) / int64(m.blockSize))
}

// countMessage adds a delivery to the tallies. If sign is -1, it removes it.
func (m *mailbox) countMessage(f *models.Folder, msg *mail.Message, sign int64) {
	m.add(all, sign, sign, sign*msg.Raw.Size())
	m.add(labelOf(f), sign, sign, 0)
}

// withdraw removes what a failed delivery has written, and returns why it failed.
func (m *mailbox) withdraw(
	ctx context.Context, why error, msg *mail.Message, f *models.Folder, id [16]byte, counted bool,
) error {
	return models.Withdraw(ctx, why, func(ctx context.Context) error {
		m.reset()
		message, address := drivers.TimeUUID(id), f.Account.Address
		m.Calls.Add(eraseMessage, drivers.Text(address), message)
		m.Calls.Add(eraseIndex, m.indexKey(address, all), message)
		m.Calls.Add(eraseIndex, m.indexKey(address, labelOf(f)), message)
		err := m.S.Batch(ctx, m.do.Erase, m.Calls.List)
		if err == nil && counted {
			m.countMessage(f, msg, -1)
			err = m.count(ctx, address)
		}
		if err == nil {
			size := msg.Raw.Size()
			err = m.dropBody(ctx, id, m.goesOutside(size), m.blocksOf(size))
		}
		return err
	})
}
