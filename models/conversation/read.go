package conversation

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// list runs a read that yields entries as the owner of f sees them. If f is nil, they
// belong to many owners.
func (m *mailbox) list(ctx context.Context, st drivers.Statement, f *models.Folder, args []drivers.Value,
	yield func(*models.Entry) error,
) error {
	m.yield = yield
	m.entry = models.Entry{Known: models.KnowFrom | models.KnowDate}
	if f != nil {
		m.me = f.Account.Address
		m.entry.Known |= models.KnowSeen
	}
	return m.Read(ctx, st, args, func(m *mailbox, row []drivers.Value) error {
		id := row[0].UUIDBytes() // row[1] is the content, which a list does not show
		m.entry.Handle, m.entry.Date, m.entry.From = handleOf(id), models.TimeOf(id), row[2].Raw()
		m.entry.Seen = m.entry.Known.Has(models.KnowSeen) && m.isSeen(row[3])
		return m.yield(&m.entry)
	})
}

// isSeen reports whether m.me is in a seen_by list.
func (m *mailbox) isSeen(by drivers.Value) bool {
	for _, who := range by.Elems() {
		if string(who.Raw()) == m.me {
			return true
		}
	}
	return false
}

// List implements models.Mailbox: the newest N messages, with their content.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) (err error) {
	defer m.FailedIn(&err, f, "list")
	var from drivers.Value
	if !after.IsZero() {
		from = idOf(after)
	}
	return m.list(ctx, m.do.Newest, f, m.With(ref(f), from, drivers.Bigint(int64(limit))), yield)
}

// Slice implements models.Slicer.
func (m *mailbox) Slice(ctx context.Context, f *models.Folder, from, to time.Time, limit int,
	yield func(*models.Entry) error,
) (err error) {
	defer m.FailedIn(&err, f, "slice")
	args := m.With(ref(f), drivers.TimeUUID(models.MinTimeUUID(from)), drivers.TimeUUID(models.MaxTimeUUID(to)),
		drivers.Bigint(int64(limit)))
	return m.list(ctx, m.do.Between, f, args, yield)
}

// BySender implements models.SenderSearcher.
func (m *mailbox) BySender(ctx context.Context, f *models.Folder, sender string, limit int,
	yield func(*models.Entry) error,
) (err error) {
	by, most := drivers.Text(sender), drivers.Bigint(int64(limit))
	if f != nil {
		defer m.FailedIn(&err, f, "search by sender")
		return m.list(ctx, m.bySenderIn, f, m.With(ref(f), by, most), yield)
	}
	if err := m.list(ctx, m.do.BySender, nil, m.With(by, most), yield); err != nil {
		return fmt.Errorf("conversation: messages of sender %s: %w", sender, err)
	}
	return nil
}

// get reads a row of one message. It returns ErrNotFound if the message is missing.
func (m *mailbox) get(ctx context.Context, st drivers.Statement, f *models.Folder, h models.Handle,
) ([]drivers.Value, error) {
	if h.IsZero() {
		return nil, models.ErrNotFound
	}
	m.me = f.Account.Address
	return m.One(ctx, st, ref(f), idOf(h))
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) (err error) {
	defer m.FailedIn(&err, f, "open")
	m.me = f.Account.Address
	e := models.Entry{
		Handle: h, Date: models.TimeOf([16]byte(h[:16])), Known: models.KnowFrom | models.KnowDate | models.KnowSeen,
	}
	return m.OpenRow(ctx, o, e, m.do.Message, m.With(ref(f), idOf(h)), func(m *mailbox, row []drivers.Value) error {
		m.Opened.Seen = m.isSeen(row[2])
		return m.Opened.Set(row[1], drivers.Value{}, row[0], row[3])
	})
}

// Attachment implements models.Mailbox.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (written int64, err error) {
	defer m.FailedIn(&err, f, "attachment %q", name)
	if h.IsZero() {
		return 0, models.ErrNotFound
	}
	args := m.With(ref(f), idOf(h), drivers.Text(name))
	err = m.ReadOne(ctx, m.do.Attachment, args, func(_ *mailbox, row []drivers.Value) (err error) {
		if row[0].IsNull() {
			return models.ErrNotFound
		}
		written, err = models.WriteText(w, row[0].Raw())
		return err
	})
	return written, err
}

// Flag implements models.Mailbox. It adds the folder's owner to the viewers of a message, or
// removes the owner.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.FailedIn(&err, f, "flag")
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	row, err := m.get(ctx, m.do.SeenBy, f, h)
	if err == nil && m.isSeen(row[0]) != on {
		st := m.do.Unseen
		if on {
			st = m.do.Seen
		}
		err = m.writeSeen(ctx, st, f, h, f.Account.Address)
	}
	return err
}

// Seen implements models.Seer. It does not read the list, but it checks that the
// message exists: an append to a deleted message would bring back an empty row.
func (m *mailbox) Seen(ctx context.Context, f *models.Folder, h models.Handle, who string) (err error) {
	defer m.FailedIn(&err, f, "seen")
	_, err = m.get(ctx, m.do.Exists, f, h)
	if err == nil {
		err = m.writeSeen(ctx, m.do.Seen, f, h, who)
	}
	return err
}

func (m *mailbox) writeSeen(ctx context.Context, st drivers.Statement, f *models.Folder, h models.Handle,
	who string,
) error {
	m.who[0] = drivers.Text(who)
	_, err := m.S.Write(ctx, st, m.With(ref(f), idOf(h), drivers.ListOf(m.who[:])))
	return err
}

// SeenBy implements models.Seer.
func (m *mailbox) SeenBy(ctx context.Context, f *models.Folder, h models.Handle,
	yield func(who string) error,
) (err error) {
	defer m.FailedIn(&err, f, "seen by")
	row, err := m.get(ctx, m.do.SeenBy, f, h)
	if err != nil {
		return err
	}
	for _, who := range row[0].Elems() {
		if err := yield(who.Str()); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements models.Mailbox.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.FailedIn(&err, f, "delete")
	err = m.Several(ctx, m.do.Existing, hs, idOf, nil, ref(f))
	if err == nil && len(hs) > 0 {
		err = m.deleteAll(ctx, f, hs)
	}
	return err
}

// Move implements models.Mailbox. It reads messages in one call, posts them in another conversation
// in one batch and deletes them in one more. An interruption leaves messages in both; an audit counts them.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.FailedIn(&err, from, "move")
	defer m.Forget()
	if from.Ref == to.Ref {
		copy(handles, hs)
		return m.Several(ctx, m.do.Existing, hs, idOf, nil, ref(from))
	}
	for moved := 0; moved < len(hs); {
		err := m.readWhole(ctx, from, to, hs[moved:])
		some := hs[moved : moved+len(m.Calls.List)]
		if err == nil {
			err = m.repost(ctx)
		}
		if err == nil {
			err = models.Partly(m.deleteAll(ctx, from, some))
		}
		if err != nil && moved > 0 {
			err = models.Partly(err)
		}
		if err != nil {
			return err
		}
		moved += copy(handles[moved:], some)
	}
	return nil
}

// readWhole reads messages and adds a call for each that posts it again. It adds those that come first, no more than
// MaxRow bytes of them: another call reads the others.
func (m *mailbox) readWhole(ctx context.Context, from, to *models.Folder, hs []models.Handle) error {
	m.Arena.Reset()
	m.Calls.Reset()
	m.to, m.held = ref(to), 0
	keep := func(m *mailbox, at int, row []drivers.Value) error {
		m.held += drivers.ListOf(row).Size()
		if len(m.Calls.List) == at && (at == 0 || m.held <= models.MaxRow) {
			m.Calls.Add(only, m.to)
			m.Calls.Also(m.Arena.Row(row)...) // the columns of post, after the conversation_id
		}
		return nil
	}
	return m.Several(ctx, m.do.WholeMessages, hs, idOf, keep, ref(from))
}

// repost posts the messages in m.Calls. A batch holds KeepBuffer bytes or one message.
func (m *mailbox) repost(ctx context.Context) error {
	for posts, first := m.Calls.List, true; len(posts) > 0; first = false {
		n, held := 0, 0
		for ; n < len(posts); n++ {
			if held += drivers.ListOf(posts[n].Args[1:]).Size(); held > models.KeepBuffer && n > 0 {
				break
			}
		}
		if err := m.S.Batch(ctx, m.do.Reposts, posts[:n]); err != nil {
			if !first {
				err = models.Partly(err)
			}
			return err
		}
		posts = posts[n:]
	}
	return nil
}

// deleteAll deletes messages of a conversation.
func (m *mailbox) deleteAll(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	m.Calls.Reset()
	for _, h := range hs {
		m.Calls.Add(only, ref(f), idOf(h))
	}
	return m.S.Batch(ctx, m.do.DeleteMessages, m.Calls.List)
}
