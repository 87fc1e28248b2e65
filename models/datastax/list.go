package datastax

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// listing is the state of a List call.
type listing struct {
	yield    func(*models.Entry) error
	entry    models.Entry
	overflow int32 // overflow number of the label being read
	rows     int   // rows that this label has yielded
	merge    bool  // the folder has overflow labels: rows are held and sorted
	more     bool  // another label follows the one being read
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
// If a folder has overflow labels, List reads a page from each of them and merges
// the pages by id. The newest label alone is not enough: clocks differ between
// processes, and a moved email brings an old id to the newest label. A static
// column of each partition says whether another label follows. A folder without
// overflow labels therefore costs one slice.
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
	var from drivers.Value
	if !after.IsZero() {
		from = drivers.TimeUUID(idOf(after))
	}
	m.Arena.Reset()
	l := &m.list
	*l = listing{yield: yield, more: true, held: l.held[:0]}
	for n := int32(0); l.more; n++ {
		l.overflow, l.rows, l.more = n, 0, false
		args := m.With(drivers.Text(f.username), drivers.Text(f.name(n)), from, drivers.Bigint(int64(limit)))
		err := m.S.Read(ctx, m.page, args, m.onPage)
		if err == nil && l.rows == 0 {
			l.more, err = m.isOverflowed(ctx, f, n)
			l.merge = l.merge || l.more
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(l.held, func(a, b held) int { return compareTime(b.id, a.id) })
	for i := range l.held[:min(limit, len(l.held))] {
		h := &l.held[i]
		if err := l.emit(h.id, h.overflow, h.from, h.subject, h.read); err != nil {
			return err
		}
	}
	return nil
}

// pageRow takes a row of a page. The first row of a label says whether another label follows.
// If so, List holds all rows back to sort them.
func (m *mailbox) pageRow(row []drivers.Value) error {
	l := &m.list
	if l.rows++; l.rows == 1 {
		l.more = row[4].Bool()
		l.merge = l.merge || l.more
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
