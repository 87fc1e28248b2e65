package datastax

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox. It reads and then writes, so two workers at once
// can count one change twice. The source design's counters and plain columns allow that.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.FailedIn(&err, f, "flag")
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	m.Arena.Reset()
	r, overflow := ref(f), overflowOf(h)
	if err := m.readHandle(ctx, r, h); err != nil || m.shown.read == on {
		return err
	}
	args := m.With(drivers.Text(r.username), drivers.Text(r.name(overflow)), drivers.TimeUUID(idOf(h)),
		drivers.Boolean(on))
	if _, err := m.S.Write(ctx, m.do.SetRead, args); err != nil {
		return err
	}
	unread := int64(1)
	if on {
		unread = -1
	}
	m.deltas = append(m.deltas[:0], delta{r, overflow, unread, 0})
	return m.addCounts(ctx)
}

// begin clears the changes of the operation before.
func (m *mailbox) begin() {
	m.Arena.Reset()
	m.Calls.Reset()
	m.hides.Reset()
	m.deltas = m.deltas[:0]
}

// commit writes the changes of folders and then of counters. Deletes of rows come
// last: if the batch is not atomic, an interruption leaves an email in both folders.
func (m *mailbox) commit(ctx context.Context) error {
	m.Calls.List = append(m.Calls.List, m.hides.List...)
	if len(m.Calls.List) == 0 {
		return nil
	}
	if err := m.S.Batch(ctx, m.do.Index, m.Calls.List); err != nil {
		return err
	}
	return m.addCounts(ctx)
}

// addHide deletes the row of an email from a label.
func (m *mailbox) addHide(f *folder, overflow int32, id [16]byte, read bool) {
	m.hides.Add(hide, drivers.Text(f.username), drivers.Text(f.name(overflow)), drivers.TimeUUID(id))
	m.count(f, overflow, -1, read)
}

// addShow adds a row like s to a folder in which the email arrives at a time. It returns the overflow number of the
// row's label.
func (m *mailbox) addShow(ctx context.Context, f *folder, at time.Time, id [16]byte, s shown) (int32, error) {
	overflow, err := m.place(ctx, f, at)
	if err != nil {
		return 0, err
	}
	m.Calls.Add(show, drivers.Text(f.username), drivers.Text(f.name(overflow)), drivers.TimeUUID(id),
		drivers.TextBytes(s.from), drivers.TextBytes(s.subject), drivers.Boolean(s.read))
	m.count(f, overflow, 1, s.read)
	return overflow, nil
}

// Delete implements models.Mailbox. The emails stay, since other labels may show them.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.FailedIn(&err, f, "delete")
	m.begin()
	if err := m.several(ctx, ref(f), hs); err != nil {
		return err
	}
	for i, h := range hs {
		m.addHide(ref(f), overflowOf(h), idOf(h), m.here[i].row.read)
	}
	return m.commit(ctx)
}

// Move implements models.Mailbox. It writes only rows of labels. If the other folder
// shows an email already, its row there does not change.
func (m *mailbox) Move(ctx context.Context, in, into *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.FailedIn(&err, in, "move")
	from, to := ref(in), ref(into)
	m.begin()
	if err := m.several(ctx, from, hs); err != nil || len(hs) == 0 {
		return err
	}
	if from.username == to.username && from.label == to.label {
		copy(handles, hs)
		return nil
	}
	if err := m.readCurrentLabel(ctx, to); err != nil {
		return err
	}
	if err := m.find(ctx, to, hs); err != nil {
		return err
	}
	for i, h := range hs {
		id, s := idOf(h), m.here[i].row
		m.addHide(from, overflowOf(h), id, s.read)
		overflow := m.there[i].overflow
		if !m.there[i].found {
			var err error
			if overflow, err = m.addShow(ctx, to, m.now(), id, s); err != nil {
				return err
			}
		}
		handles[i] = handleOf(id, overflow)
	}
	return m.commit(ctx)
}

// Label implements models.Labeler.
func (m *mailbox) Label(ctx context.Context, f *models.Folder, h models.Handle, other *models.Folder,
	on bool,
) (_ models.Handle, err error) {
	defer m.FailedIn(&err, f, "label")
	m.begin()
	if err := m.readHandle(ctx, ref(f), h); err != nil {
		return h, err
	}
	id, s, label := idOf(h), m.shown, ref(other)
	if err := m.readCurrentLabel(ctx, label); err != nil {
		return h, err
	}
	m.one[0] = h
	if err := m.find(ctx, label, m.one[:]); err != nil {
		return h, err
	}
	there := &m.there[0]
	switch {
	case on && there.found:
		return handleOf(id, there.overflow), nil
	case on:
		overflow, err := m.addShow(ctx, label, m.now(), id, s)
		if err != nil {
			return h, err
		}
		h = handleOf(id, overflow)
	case there.found:
		m.addHide(label, there.overflow, id, there.row.read)
	}
	return h, m.commit(ctx)
}
