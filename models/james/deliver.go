package james

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox. Each recipient gets a copy of the message.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	for i, f := range to {
		uid, err := m.deliver(ctx, msg, f)
		if err != nil {
			for j := range i {
				err = m.withdraw(ctx, err, to[j], uidOf(handles[j]), true)
			}
			m.Failed(&err, f.Account, "delivery")
			return err
		}
		handles[i] = handleOf(uid, msg.Raw.Size())
	}
	return nil
}

// Holds implements models.Holder.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	return models.HoldsChunks(msg, int64(m.chunkSize))
}

// deliver reserves a UID, which counts the message where the engine increments, and writes the
// chunks, the metadata that makes the message visible, and the mailbox's count if it is not
// counted yet. A message that is in the row of its metadata gets its UID from the same write.
func (m *mailbox) deliver(ctx context.Context, msg *mail.Message, f *models.Folder) (uid int64, err error) {
	r := record{date: models.Arrival(msg, m.now), size: msg.Raw.Size(), chunkSize: int64(m.chunkSize)}
	inOne := m.lwt.inOne(r.size, r.chunkSize)
	if !inOne {
		if uid, err = m.reserve(ctx, f, 1, 1); err != nil {
			return 0, err
		}
	}
	defer m.release()
	m.Calls.Reset()
	sum, err := m.writeChunks(ctx, msg.Raw, f, uid)
	if err == nil {
		m.text = models.AppendLayout(m.text[:0], msg, sum)
		r.properties = m.text
		row := r.put(f, uid)
		switch {
		case inOne:
			var given int64
			if given, err = m.putIf(ctx, f, 0, &r, m.Calls.List[0].Args[3]); err == nil {
				uid = given
			}
		case m.lwt.has():
			_, err = m.putIf(ctx, f, uid, &r, drivers.Value{})
		case r.chunks() > 1:
			_, err = m.S.Write(ctx, m.do.MessagePut, m.With(row[:]...))
		default:
			m.Calls.Add(appendMessage, row[:]...)
			err = m.S.Batch(ctx, m.do.Append, m.Calls.List)
		}
		if err != nil {
			err = fmt.Errorf("write metadata: %w", err)
		}
	}
	if err == nil && m.casUID {
		err = m.countMessages(ctx, f, 1)
	}
	if err != nil && uid > 0 {
		err = m.withdraw(ctx, err, f, uid, !m.casUID)
	}
	return uid, err
}

// writeChunks writes the message in chunks, one put after another, and returns
// its checksum. A single chunk stays in m.Calls: deliver stores it with the metadata.
func (m *mailbox) writeChunks(ctx context.Context, raw mail.Content, f *models.Folder,
	uid int64,
) (sum uint32, err error) {
	size, each := raw.Size(), int64(m.chunkSize)
	for off := int64(0); off < size; off += each {
		b, err := mail.Piece(raw, &m.buffer, off, min(each, size-off))
		if err != nil {
			return 0, fmt.Errorf("read the message to deliver: %w", err)
		}
		sum = models.Checksum(sum, b)
		number := drivers.Bigint(off/each + 1)
		if size <= each {
			m.Calls.Add(appendChunk, key(f), drivers.Bigint(uid), number, drivers.Blob(b))
		} else if _, err := m.S.Write(ctx, m.do.ChunkPut, m.With(key(f), drivers.Bigint(uid), number,
			drivers.Blob(b))); err != nil {
			return 0, fmt.Errorf("write chunk %d: %w", off/each+1, err)
		}
	}
	return sum, nil
}

// release frees the buffer of a large chunk.
func (m *mailbox) release() {
	if cap(m.buffer) > models.KeepBuffer {
		m.buffer, m.held = nil, nil
		m.Forget()
	}
}

// withdraw removes what a failed delivery or move has written, and returns why it failed.
func (m *mailbox) withdraw(ctx context.Context, why error, f *models.Folder, uid int64, counted bool) error {
	return models.Withdraw(ctx, why, func(ctx context.Context) error {
		err := m.drop(ctx, f, uid)
		if err == nil && counted {
			err = m.countMessages(ctx, f, -1)
		}
		return err
	})
}

// drop removes one message's row: metadata and data.
func (m *mailbox) drop(ctx context.Context, f *models.Folder, uid int64) error {
	if m.lwt.has() {
		return m.removeIf(ctx, f, uid, true)
	}
	m.Calls.Reset()
	m.Calls.Add(removeMessage, key(f), drivers.Bigint(uid))
	m.Calls.Add(removeData, key(f), drivers.Bigint(uid))
	return m.S.Batch(ctx, m.do.Remove, m.Calls.List)
}
