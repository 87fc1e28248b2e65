package james

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
func (m *mailbox) writeChunks(ctx context.Context, raw mail.Content, f *models.Folder, uid int64) (uint32, error) {
	each := int64(m.chunkSize)
	return models.EachPiece(raw, &m.buffer, each, func(off int64, b []byte) error {
		number := drivers.Bigint(off/each + 1)
		if raw.Size() <= each {
			m.Calls.Add(appendChunk, key(f), drivers.Bigint(uid), number, drivers.Blob(b))
			return nil
		}
		_, err := m.S.Write(ctx, m.do.ChunkPut, m.With(key(f), drivers.Bigint(uid), number, drivers.Blob(b)))
		if err != nil {
			return fmt.Errorf("write chunk %d: %w", number.Int64(), err)
		}
		return nil
	})
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

// Flag implements models.Mailbox. A flag is one put, before which the message is read. The
// flag of a message that is deleted in between leaves a row of one flag, which is no message.
// A variant's put may be conditional on the message's size, which never changes. Then
// nothing is read first.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.Failed(&err, f.Account, "flag")
	if !m.casFlag {
		if _, err := m.one(ctx, f, h); err != nil {
			return err
		}
	}
	puts := [...]drivers.Statement{m.do.FlagSeen, m.do.FlagAnswered, m.do.FlagFlagged, m.do.FlagDeleted, m.do.FlagDraft}
	return m.putFlag(ctx, puts[slices.Index(flags[:], flag)], f, h, drivers.Boolean(on))
}

// UserFlag implements models.UserFlagger.
func (m *mailbox) UserFlag(ctx context.Context, f *models.Folder, h models.Handle, name string, on bool) (err error) {
	defer m.Failed(&err, f.Account, "flag")
	r, err := m.one(ctx, f, h)
	if err == nil {
		names := strings.Fields(string(r.userFlags))
		if names = slices.DeleteFunc(names, func(n string) bool { return n == name }); on {
			names = append(names, name)
		}
		err = m.putFlag(ctx, m.do.FlagUser, f, h, drivers.Text(strings.Join(names, " ")))
	}
	return err
}

func (m *mailbox) putFlag(ctx context.Context, st drivers.Statement, f *models.Folder, h models.Handle, v drivers.Value,
) error {
	args := m.With(key(f), drivers.Bigint(uidOf(h)), v, drivers.Bigint(sizeOf(h)))
	if !m.casFlag {
		args = args[:3]
	}
	err := m.Claim(ctx, st, args...)
	if err == models.ErrExists {
		return models.ErrNotFound
	}
	return err
}

// Delete implements models.Mailbox.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.Failed(&err, f.Account, "delete")
	if err := m.several(ctx, f, hs); err != nil {
		return err
	}
	return m.removeAll(ctx, f)
}

// removeAll removes the messages of m.recs and subtracts them from the mailbox's count.
func (m *mailbox) removeAll(ctx context.Context, f *models.Folder) (err error) {
	switch {
	case len(m.recs) == 0:
		return nil
	case m.lwt.has():
		err = m.removeEach(ctx, f)
	case len(m.recs) == 1:
		err = m.drop(ctx, f, m.recs[0].uid)
	default:
		m.Calls.Reset()
		for i := range m.recs {
			uid := drivers.Bigint(m.recs[i].uid)
			m.Calls.Add(removeMessage, key(f), uid)
			m.Calls.Add(removeData, key(f), uid)
		}
		err = m.S.Batch(ctx, m.do.RemoveMany, m.Calls.List)
	}
	if err != nil {
		return err
	}
	return models.Partly(m.countMessages(ctx, f, -int64(len(m.recs))))
}

// Expunge implements models.UIDs. It scans the range, newest first, and removes the
// rows page by page. The engine reverses UIDs in keys, not the model.
func (m *mailbox) Expunge(ctx context.Context, f *models.Folder, from, to uint64) (_ int, err error) {
	defer m.Failed(&err, f.Account, "expunge")
	lower, upper := drivers.Bigint(int64(min(from, 1<<63-1))), drivers.Value{}
	if to > 0 {
		upper = drivers.Bigint(int64(min(to, 1<<63-1)))
	}
	gone := 0
	for {
		m.recs = m.recs[:0]
		err := m.S.Read(ctx, m.do.UIDs, m.With(key(f), lower, upper, drivers.Bigint(uidsAtOnce)),
			func(row []drivers.Value) error {
				m.recs = append(m.recs, record{uid: row[0].Int64()})
				return nil
			})
		if err == nil {
			err = m.removeAll(ctx, f)
		}
		if err != nil {
			return gone, err
		}
		gone += len(m.recs)
		if len(m.recs) < uidsAtOnce {
			return gone, nil
		}
		upper = drivers.Bigint(m.recs[len(m.recs)-1].uid - 1) // do not scan the deleted rows again
	}
}

// Move implements models.Mailbox. It gives each message a new UID and writes its
// data again. Then one batch makes the new rows visible and removes the old ones.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.Failed(&err, from.Account, "move")
	if err := m.several(ctx, from, hs); err != nil {
		return err
	}
	if from.Ref == to.Ref || len(hs) == 0 {
		copy(handles, hs)
		return nil
	}
	// Counted at the end: the audit of an interrupted move finds a message in both mailboxes by the counts.
	if m.lwt.has() {
		err = m.moveEach(ctx, from, to, handles)
	} else {
		err = m.moveAll(ctx, from, to, handles)
	}
	if err != nil {
		return err
	}
	if err = m.countMessages(ctx, from, -int64(len(hs))); err == nil {
		err = m.countMessages(ctx, to, int64(len(hs)))
	}
	return models.Partly(err)
}

// moveAll moves the messages of m.recs to UIDs that it reserves together.
func (m *mailbox) moveAll(ctx context.Context, from, to *models.Folder, handles []models.Handle) error {
	first, err := m.reserve(ctx, to, int64(len(m.recs)), 0)
	if err != nil {
		return err
	}
	defer m.release()
	for i := 0; i < len(m.recs) && err == nil; i++ {
		err = m.copyChunks(ctx, from, to, &m.recs[i], first+int64(i))
	}
	if err == nil {
		m.Calls.Reset()
		for i := range m.recs {
			row := m.recs[i].put(to, first+int64(i))
			m.Calls.Add(replaceMessage, row[:]...)
		}
		// New rows come first: an interruption leaves a message in both mailboxes, not in none.
		for i := range m.recs {
			uid := drivers.Bigint(m.recs[i].uid)
			m.Calls.Add(replaceOld, key(from), uid)
			m.Calls.Add(replaceData, key(from), uid)
		}
		err = m.S.Batch(ctx, m.do.Replace, m.Calls.List)
	}
	for i := range m.recs {
		if err != nil {
			err = m.withdraw(ctx, err, to, first+int64(i), false)
		} else {
			handles[i] = handleOf(first+int64(i), m.recs[i].size)
		}
	}
	return err
}

// copyChunks copies the data of a message, chunk by chunk, to a UID of the other mailbox.
func (m *mailbox) copyChunks(ctx context.Context, from, to *models.Folder, r *record, uid int64) error {
	if r.chunkSize <= 0 {
		return fmt.Errorf("%w: %d bytes in chunks of %d", models.ErrBroken, r.size, r.chunkSize)
	}
	for n := range r.chunks() {
		number := drivers.Bigint(n + 1)
		if err := m.hold(ctx, m.do.Chunk, r, n, key(from), drivers.Bigint(r.uid), number); err != nil {
			return err
		}
		if _, err := m.S.Write(ctx, m.do.ChunkPut, m.With(key(to), drivers.Bigint(uid), number,
			drivers.Blob(m.held))); err != nil {
			return fmt.Errorf("write chunk %d: %w", n+1, err)
		}
	}
	return nil
}

// hold reads chunk n of a message, counted from 0, into m.held.
func (m *mailbox) hold(ctx context.Context, st drivers.Statement, r *record, n int64, at ...drivers.Value) error {
	m.held = nil
	err := m.Read(ctx, st, m.With(at...), func(m *mailbox, row []drivers.Value) error {
		m.buffer = append(m.buffer[:0], row[0].Raw()...)
		m.held = m.buffer
		return nil
	})
	if err != nil {
		return fmt.Errorf("read chunk %d: %w", n+1, err)
	}
	if want := min(r.chunkSize, r.size-n*r.chunkSize); int64(len(m.held)) != want {
		return fmt.Errorf("%w: chunk %d has %d bytes instead of %d", models.ErrBroken, n+1, len(m.held), want)
	}
	return nil
}

// oneWrite holds the statements of a variant that gives a UID and writes the message in one
// conditional write: the mailbox's last UID is a static column next to its messages. A message of
// one chunk is in the row of its metadata, since what is written before its UID is known could be
// overwritten by another delivery. All writes of metadata have the condition, so that none is
// ordered by a node's clock. It is empty where the schema or the engine has no such write.
type oneWrite struct {
	MessageIf, LastUID, Body, DataDelete drivers.Statement
}

// has reports whether messages are written in that way.
func (o *oneWrite) has() bool { return o.MessageIf != nil }

// inOne reports whether a message is in the row of its metadata.
func (o *oneWrite) inOne(size, chunk int64) bool {
	return o.has() && chunk > 0 && chunksOf(size, chunk) == 1
}

// putIf writes the metadata of a message, and its body if it is in the same row, if no UID was
// given since it read the last one. UID 0 is the next UID, which the same write gives. Without a
// record it removes the row, or only gives the UID. An error may leave open whether the UID was
// given, so it is not tried again: another delivery may have it.
func (m *mailbox) putIf(ctx context.Context, f *models.Folder, uid int64, r *record, body drivers.Value,
) (int64, error) {
	defer m.S.Repeating(false)
	for attempt := 1; ; attempt++ {
		m.S.Repeating(attempt > 1)
		was, err := m.number(ctx, m.lwt.LastUID, f, lastUID)
		if err != nil {
			return 0, err
		}
		at, last := uid, was.Int64()
		if uid == 0 {
			last++
			at = last
		}
		row := [columns]drivers.Value{}
		if r != nil {
			row = r.put(f, at)
		}
		args := m.With(key(f), drivers.Bigint(at), drivers.Bigint(last))
		args = append(append(args, row[2:]...), body, was)
		res, err := m.S.Write(ctx, m.lwt.MessageIf, args)
		if err != nil || res.Applied {
			return at, err
		}
	}
}

// removeIf removes a message. chunks says that it may have data of its own.
func (m *mailbox) removeIf(ctx context.Context, f *models.Folder, uid int64, chunks bool) error {
	if _, err := m.putIf(ctx, f, uid, nil, drivers.Value{}); err != nil || !chunks {
		return err
	}
	_, err := m.S.Write(ctx, m.lwt.DataDelete, m.With(key(f), drivers.Bigint(uid)))
	return err
}

// removeEach removes the messages of m.recs one by one, and counts those that went if one fails.
func (m *mailbox) removeEach(ctx context.Context, f *models.Folder) error {
	for i := range m.recs {
		r := &m.recs[i]
		if err := m.removeIf(ctx, f, r.uid, r.chunkSize == 0 || r.chunks() > 1); err != nil {
			if i > 0 {
				err = models.Partly(errors.Join(err, m.countMessages(ctx, f, -int64(i))))
			}
			return err
		}
	}
	return nil
}

// moveEach writes the messages of m.recs in the other mailbox, and then removes them one by one.
func (m *mailbox) moveEach(ctx context.Context, from, to *models.Folder, handles []models.Handle) error {
	defer m.release()
	for i := range m.recs {
		r := &m.recs[i]
		uid, err := m.copyOne(ctx, from, to, r)
		if err != nil {
			for j := range i {
				err = m.withdraw(ctx, err, to, uidOf(handles[j]), false)
			}
			return err
		}
		handles[i] = handleOf(uid, r.size)
	}
	return models.Partly(m.removeEach(ctx, from))
}

func (m *mailbox) copyOne(ctx context.Context, from, to *models.Folder, r *record) (int64, error) {
	if m.lwt.inOne(r.size, r.chunkSize) {
		if err := m.hold(ctx, m.lwt.Body, r, 0, key(from), drivers.Bigint(r.uid)); err != nil {
			return 0, err
		}
		return m.putIf(ctx, to, 0, r, drivers.Blob(m.held))
	}
	uid, err := m.putIf(ctx, to, 0, nil, drivers.Value{})
	if err != nil {
		return 0, err
	}
	if err = m.copyChunks(ctx, from, to, r, uid); err == nil {
		_, err = m.putIf(ctx, to, uid, r, drivers.Value{})
	}
	if err != nil {
		err = m.withdraw(ctx, err, to, uid, false)
	}
	return uid, err
}
