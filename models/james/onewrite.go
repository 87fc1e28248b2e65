package james

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// oneWrite holds the statements of a variant that gives a UID and writes the message in one
// conditional write: the mailbox's last UID is a static column beside its messages. A message of
// one chunk is in the row of its metadata, since what is written before its UID is known could be
// overwritten by another delivery. All writes of metadata have the condition, so that none is
// ordered by a node's clock. It is empty where the schema or the engine has no such write.
type oneWrite struct {
	message, last, body, data drivers.Statement
}

func (o *oneWrite) fill(p *drivers.Prepared) error {
	if !p.Conditional("message_if") {
		return nil
	}
	return p.Fill(map[string]*drivers.Statement{
		"message_if": &o.message, "last_uid": &o.last, "body": &o.body, "data_delete": &o.data,
	})
}

// has reports whether messages are written in that way.
func (o *oneWrite) has() bool { return o.message != nil }

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
	defer m.Repeating(false)
	for attempt := 1; ; attempt++ {
		m.Repeating(attempt > 1)
		m.counts[lastUID] = drivers.Value{}
		if err := m.S.Read(ctx, m.lwt.last, m.With(key(f)), m.onNumbers); err != nil {
			return 0, err
		}
		was := m.counts[lastUID]
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
		res, err := m.S.Write(ctx, m.lwt.message, args)
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
	_, err := m.S.Write(ctx, m.lwt.data, m.With(key(f), drivers.Bigint(uid)))
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
	if err := m.removeEach(ctx, from); err != nil {
		return models.Partly(err)
	}
	return nil
}

func (m *mailbox) copyOne(ctx context.Context, from, to *models.Folder, r *record) (int64, error) {
	if m.lwt.inOne(r.size, r.chunkSize) {
		m.held = nil
		if err := m.S.Read(ctx, m.lwt.body, m.With(key(from), drivers.Bigint(r.uid)), m.onCopy); err != nil {
			return 0, fmt.Errorf("read the message: %w", err)
		}
		if int64(len(m.held)) != r.size {
			return 0, fmt.Errorf("%w: %d bytes instead of %d", models.ErrBroken, len(m.held), r.size)
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
