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
	overflow int32     // overflow number of the label being read
	rows     int       // rows that this label has yielded
	since    time.Time // since when it is in use; zero: nobody knows
	merge    bool      // the folder has overflow labels: rows are held and sorted
	more     bool      // another label follows the one being read
	asked    []int32   // labels that were read
	held     []held
}

// held is a row that List keeps until it has read and sorted the rows of all labels.
type held struct {
	id            [16]byte
	overflow      int32
	from, subject []byte
	read          bool
}

// List implements models.Mailbox: Q2.
//
// A folder without overflow labels costs one slice: a static column of each partition says whether
// another label follows. If some do, List begins with the newest, and goes on to older ones until
// it has a page that no older label can change. It merges what it has read by id, since clocks
// differ between processes, and a moved email brings an old id to the newest label. What can make a
// page change is an email of an older label that is newer than the last of the page. An older label
// shows none that is much newer than the label after it (see late), which knows since when it is in use.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	return m.FailedIn("list", f, m.readPage(ctx, ref(f), after, limit, yield))
}

func (m *mailbox) readPage(ctx context.Context, f *folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	if limit <= 0 {
		return ctx.Err()
	}
	m.Arena.Reset()
	l, top := &m.list, f.current.Load()
	*l = listing{yield: yield, merge: top > 0, asked: l.asked[:0], held: l.held[:0]}
	if err := m.readLabel(ctx, f, top, after, limit); err != nil || !l.merge {
		return err
	}
	if l.more && top == 0 { // this process does not know how many labels follow
		if err := m.readCurrentLabel(ctx, f); err != nil {
			return err
		}
	}
	for l.more {
		top = max(top+1, f.current.Load())
		if err := m.readLabel(ctx, f, top, after, limit); err != nil {
			return err
		}
		f.raise(top)
	}
	for n := top; ; {
		slices.SortFunc(l.held, func(a, b held) int { return compareTime(b.id, a.id) })
		if n == 0 || l.whole(limit) {
			break
		}
		n--
		if slices.Contains(l.asked, n) {
			continue
		}
		if err := m.readOlderLabel(ctx, f, n, after, limit); err != nil {
			return err
		}
	}
	for i := range l.held[:min(limit, len(l.held))] {
		h := &l.held[i]
		if err := l.emit(h.id, h.overflow, h.from, h.subject, h.read); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether labels before the oldest that was read cannot change the page.
func (l *listing) whole(limit int) bool {
	return len(l.held) >= limit && !l.since.IsZero() && models.TimeOf(l.held[limit-1].id).After(l.since.Add(late))
}

// readOlderLabel reads a page of a label that older emails have. It asks for no more rows than the page
// lacks, and for the others only if the page can have them: if what newer labels show is not all newer.
func (m *mailbox) readOlderLabel(ctx context.Context, f *folder, n int32, after models.Handle, limit int) error {
	l := &m.list
	had := len(l.held)
	if had == 0 || had >= limit {
		return m.readLabel(ctx, f, n, after, limit)
	}
	oldest := l.held[had-1].id
	if err := m.readLabel(ctx, f, n, after, limit-had); err != nil || l.rows < limit-had {
		return err
	}
	last := &l.held[len(l.held)-1]
	if compareTime(last.id, oldest) <= 0 {
		return nil
	}
	since := l.since
	err := m.readLabel(ctx, f, n, handleOf(last.id, n), had)
	l.since = since
	return err
}

// readLabel reads a page of one label.
func (m *mailbox) readLabel(ctx context.Context, f *folder, n int32, after models.Handle, limit int) error {
	l := &m.list
	l.overflow, l.rows, l.more, l.since = n, 0, false, time.Time{}
	l.asked = append(l.asked, n)
	var from drivers.Value
	if !after.IsZero() {
		from = drivers.TimeUUID(idOf(after))
	}
	args := m.With(drivers.Text(f.username), drivers.Text(f.name(n)), from, drivers.Bigint(int64(limit)))
	err := m.S.Read(ctx, m.page, args, m.onPage)
	if err == nil && l.rows == 0 {
		l.more, err = m.isOverflowed(ctx, f, n)
		l.merge = l.merge || l.more
	}
	return err
}

// pageRow takes a row of a page. The first row of a label says whether another label follows, and
// since when the label is in use. If there are several labels, List holds all rows back to sort them.
func (m *mailbox) pageRow(row []drivers.Value) error {
	l := &m.list
	if l.rows++; l.rows == 1 {
		l.more = row[4].Bool()
		l.merge = l.merge || l.more
		if !row[5].IsNull() {
			l.since = row[5].Time()
		}
	}
	id, from, subject, read := row[0].UUIDBytes(), row[1].Raw(), row[2].Raw(), row[3].Bool()
	if !l.merge {
		return l.emit(id, l.overflow, from, subject, read)
	}
	l.held = append(l.held, held{id, l.overflow, m.Arena.Bytes(from), m.Arena.Bytes(subject), read})
	return nil
}

func (l *listing) emit(id [16]byte, overflow int32, from, subject []byte, read bool) error {
	l.entry = models.Entry{
		Handle:  handleOf(id, overflow),
		Known:   models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSeen,
		From:    from,
		Subject: subject,
		Date:    models.TimeOf(id),
		Seen:    read,
	}
	return l.yield(&l.entry)
}

// compareTime compares TimeUUIDs as a store sorts them: by time, then by the bytes
// after the time.
func compareTime(a, b [16]byte) int {
	if c := cmp.Compare(models.TicksOf(a), models.TicksOf(b)); c != 0 {
		return c
	}
	return bytes.Compare(a[8:], b[8:])
}
