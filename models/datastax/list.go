package datastax

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// listing is the state of a List call.
type listing struct {
	yield    func(*models.Entry) error
	entry    models.Entry
	overflow int32          // overflow number of the label being read
	rows     int            // rows that this label has yielded
	since    time.Time      // since when it is in use; zero: unknown
	merge    bool           // the folder has overflow labels: rows are held and sorted
	more     bool           // another label follows the one being read
	asked    []int32        // labels that were read
	held     []models.Entry // those that List keeps until it has read and sorted the rows of all labels
}

// List implements models.Mailbox: Q2.
//
// A folder without overflow labels costs one slice: a static column of each partition says whether
// another label follows. If some do, List begins with the newest, and goes on to older ones until
// it has a page that no older label can change. It merges what it has read by id, since clocks
// differ between processes, and a moved email brings an old id to the newest label. Only an email of an older
// label that is newer than the last of the page can change the page. An older label
// shows none that is much newer than the label after it (see late), which knows since when it is in use.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) (err error) {
	defer m.FailedIn(&err, f, "list")
	if limit <= 0 {
		return ctx.Err()
	}
	m.Arena.Reset()
	r, l := ref(f), &m.list
	top := r.current.Load()
	*l = listing{yield: yield, merge: top > 0, asked: l.asked[:0], held: l.held[:0]}
	if err := m.readLabel(ctx, r, top, after, limit); err != nil || !l.merge {
		return err
	}
	if l.more && top == 0 { // this process does not know how many labels follow
		if _, err := m.readCurrentLabel(ctx, r); err != nil {
			return err
		}
	}
	for l.more {
		top = max(top+1, r.current.Load())
		if err := m.readLabel(ctx, r, top, after, limit); err != nil {
			return err
		}
		r.raise(top)
	}
	for n := top; ; {
		slices.SortFunc(l.held, func(a, b models.Entry) int { return compareTime(idOf(b.Handle), idOf(a.Handle)) })
		if n == 0 || len(l.held) >= limit && !l.since.IsZero() && l.held[limit-1].Date.After(l.since.Add(late)) {
			break // labels before the oldest that was read cannot change the page
		}
		n--
		if slices.Contains(l.asked, n) {
			continue
		}
		if err := m.readOlderLabel(ctx, r, n, after, limit); err != nil {
			return err
		}
	}
	for i := range l.held[:min(limit, len(l.held))] {
		if err := yield(&l.held[i]); err != nil {
			return err
		}
	}
	return nil
}

// readOlderLabel reads a page of a label that older emails have. It requests no more rows than the page
// lacks, and for the others only if the page can have them: if what newer labels show is not all newer.
func (m *mailbox) readOlderLabel(ctx context.Context, f *folder, n int32, after models.Handle, limit int) error {
	l := &m.list
	had := len(l.held)
	if had == 0 || had >= limit {
		return m.readLabel(ctx, f, n, after, limit)
	}
	oldest := idOf(l.held[had-1].Handle)
	if err := m.readLabel(ctx, f, n, after, limit-had); err != nil || l.rows < limit-had {
		return err
	}
	last := l.held[len(l.held)-1].Handle
	if compareTime(idOf(last), oldest) <= 0 {
		return nil
	}
	since := l.since
	err := m.readLabel(ctx, f, n, last, had)
	l.since = since
	return err
}

// readLabel reads a page of one label. The first row says whether another label follows, and since when this one is in
// use. If there are several labels, List holds all rows back to sort them.
func (m *mailbox) readLabel(ctx context.Context, f *folder, n int32, after models.Handle, limit int) error {
	l := &m.list
	l.overflow, l.rows, l.more, l.since = n, 0, false, time.Time{}
	l.asked = append(l.asked, n)
	var from drivers.Value
	if !after.IsZero() {
		from = emailOf(after)
	}
	args := m.With(f.user, m.name(f, n), from, drivers.Bigint(int64(limit)))
	err := m.Read(ctx, m.do.Page, args, func(m *mailbox, row []drivers.Value) error {
		l := &m.list
		if l.rows++; l.rows == 1 {
			l.more = row[4].Bool()
			l.merge = l.merge || l.more
			if !row[5].IsNull() {
				l.since = row[5].Time()
			}
		}
		id := row[0].UUIDBytes()
		l.entry = models.Entry{
			Handle: handleOf(id, l.overflow),
			Known:  models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSeen,
			From:   row[1].Raw(), Subject: row[2].Raw(), Date: models.TimeOf(id), Seen: row[3].Bool(),
		}
		if !l.merge {
			return l.yield(&l.entry)
		}
		l.entry.From, l.entry.Subject = m.Arena.Bytes(l.entry.From), m.Arena.Bytes(l.entry.Subject)
		l.held = append(l.held, l.entry)
		return nil
	})
	if err == nil && l.rows == 0 {
		l.more, err = m.isOverflowed(ctx, f, n)
		l.merge = l.merge || l.more
	}
	return err
}

// compareTime compares TimeUUIDs as a store sorts them: by time, then by the bytes
// after the time.
func compareTime(a, b [16]byte) int {
	return cmp.Or(cmp.Compare(models.TicksOf(a), models.TicksOf(b)), bytes.Compare(a[8:], b[8:]))
}

// lookEvery is the part of a label's free space after which a process reads its size
// again. A read with each delivery would cost more. Each process that shares a store
// may exceed the limit by a sixteenth, which the limit allows for.
const lookEvery = 16

// lease is how long a process may use what it has read of a folder's labels. An email under a label is
// therefore not newer than the next label by more than lease and what clocks differ. late is what lists
// allow for: lease, and clocks that differ by half an hour.
const (
	lease = 30 * time.Minute
	late  = lease + 30*time.Minute
)

// share returns how many emails a label of that size takes before its size is read
// again.
func (b *bound) share(size int64) int64 { return max(1, (int64(b.limit)-size)/lookEvery) }

// label is the label that takes a folder's new emails, and its size in emails.
type label struct {
	overflow int32
	size     int64
}

// readCurrentLabel reads which label takes the folder's new emails.
func (m *mailbox) readCurrentLabel(ctx context.Context, f *folder) (label, error) {
	now := m.now()
	row, err := m.Get(ctx, m.do.CurrentLabel, f.user, drivers.Text(f.label))
	if err != nil {
		return label{}, err
	}
	l := label{int32(row[0].Int64()), row[1].Int64()}
	f.raise(l.overflow)
	f.looked.Store(now.UnixNano())
	return l, nil
}

// place returns the overflow number of the label that takes the folder's next email, which arrived
// or is moved at a time.
//
// Labels roll over without a lock. A process that finds the current label full marks
// it as overflowed before it uses the next label. Two processes may set the mark at
// once, and nothing removes it. A list follows the marks. A process that has not seen
// the mark may still use the full label, for as long as lease says. Either way its email is listed.
func (m *mailbox) place(ctx context.Context, f *folder, at time.Time) (int32, error) {
	if m.now().UnixNano()-f.looked.Load() <= int64(lease) && f.room.Add(-1) >= 0 {
		return f.current.Load(), nil
	}
	l, err := m.readCurrentLabel(ctx, f)
	if err != nil {
		return 0, err
	}
	if l.size >= int64(m.limit) {
		if err := m.rollOver(ctx, f, l.overflow, at); err != nil {
			return 0, err
		}
		l = label{overflow: l.overflow + 1}
		f.raise(l.overflow)
	}
	f.room.Store(m.share(l.size) - 1)
	return l.overflow, nil
}

// rollOver notes since when the next label is in use, and that it is. It is in use since the newest
// of: now, what the full label shows, and when that came into use.
func (m *mailbox) rollOver(ctx context.Context, f *folder, full int32, at time.Time) error {
	user, since := f.user, at
	newest, err := m.Get(ctx, m.do.Page, user, m.name(f, full), drivers.Value{}, drivers.Bigint(1))
	if err != nil {
		return err
	}
	for _, t := range [...]time.Time{models.TimeOf(newest[0].UUIDBytes()), newest[5].Time()} {
		if t.After(since) {
			since = t
		}
	}
	next := m.With(user, m.name(f, full+1), drivers.Timestamp(since.UnixMicro()))
	if _, err := m.S.Write(ctx, m.do.MarkSince, next); err != nil {
		return err
	}
	_, err = m.S.Write(ctx, m.do.MarkOverflowed, m.With(user, m.name(f, full), drivers.Boolean(true)))
	return err
}

// isOverflowed reports whether another label follows one that yielded no row.
func (m *mailbox) isOverflowed(ctx context.Context, f *folder, overflow int32) (bool, error) {
	if f.current.Load() > overflow {
		return true, nil
	}
	row, err := m.Get(ctx, m.do.Overflowed, f.user, m.name(f, overflow))
	return row[0].Bool(), err
}

// delta is the change of the counters of one label by an operation.
type delta struct {
	f        *folder
	overflow int32
	unread   int64
	messages int64
}

// count notes that n emails came to a label. If n is negative, they left it.
func (m *mailbox) count(f *folder, overflow int32, n int64, read bool) {
	unread := n
	if read {
		unread = 0
	}
	for i := range m.deltas {
		if d := &m.deltas[i]; d.f == f && d.overflow == overflow {
			d.unread += unread
			d.messages += n
			return
		}
	}
	m.deltas = append(m.deltas, delta{f, overflow, unread, n})
}

// addCounts writes the changes of counters in one batch. All other writes are done before, so
// if the batch fails, the outcome is unknown.
func (m *mailbox) addCounts(ctx context.Context) error {
	m.Calls.Reset()
	for i := range m.deltas {
		d := &m.deltas[i]
		user := d.f.user
		if d.unread != 0 {
			m.Calls.Add(addUnread, user, m.name(d.f, d.overflow), drivers.Counter(d.unread))
		}
		if d.messages != 0 {
			m.Calls.Add(addMessages, user, drivers.Text(d.f.label), drivers.Int(d.overflow), drivers.Counter(d.messages))
		}
	}
	if len(m.Calls.List) == 0 {
		return nil
	}
	return models.Partly(m.S.Batch(ctx, m.do.Counters, m.Calls.List))
}
