package datastax

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

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

func (m *mailbox) labelRow(row []drivers.Value) error {
	m.label = label{int32(row[0].Int64()), row[1].Int64()}
	return nil
}

// readCurrentLabel reads which label takes the folder's new emails.
func (m *mailbox) readCurrentLabel(ctx context.Context, f *folder) error {
	m.label = label{}
	now := m.now()
	err := m.S.Read(ctx, m.currentLabel, m.With(drivers.Text(f.username), drivers.Text(f.label)), m.onLabel)
	if err == nil {
		f.raise(m.label.overflow)
		f.looked.Store(now.UnixNano())
	}
	return err
}

// place returns the overflow number of the label that takes the folder's next email, which arrived
// or is moved at a time.
//
// Labels roll over without a lock. A process that finds the current label full marks
// it as overflowed before it uses the next label. Two processes may set the mark at
// once, and nobody removes it. A list follows the marks. A process that has not seen
// the mark may still use the full label, for as long as lease says. Either way its email is listed.
func (m *mailbox) place(ctx context.Context, f *folder, at time.Time) (int32, error) {
	if m.now().UnixNano()-f.looked.Load() <= int64(lease) && f.room.Add(-1) >= 0 {
		return f.current.Load(), nil
	}
	if err := m.readCurrentLabel(ctx, f); err != nil {
		return 0, err
	}
	l := m.label
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
	m.since = at
	newest := m.With(drivers.Text(f.username), drivers.Text(f.name(full)), drivers.Value{}, drivers.Bigint(1))
	if err := m.S.Read(ctx, m.page, newest, m.onNewest); err != nil {
		return err
	}
	since := m.With(drivers.Text(f.username), drivers.Text(f.name(full+1)), drivers.Timestamp(m.since.UnixMicro()))
	if _, err := m.S.Write(ctx, m.markSince, since); err != nil {
		return err
	}
	_, err := m.S.Write(ctx, m.markOverflowed, m.With(drivers.Text(f.username), drivers.Text(f.name(full)),
		drivers.Boolean(true)))
	return err
}

// newestRow takes the newest row of a label.
func (m *mailbox) newestRow(row []drivers.Value) error {
	for _, t := range [...]time.Time{models.TimeOf(row[0].UUIDBytes()), row[5].Time()} {
		if t.After(m.since) {
			m.since = t
		}
	}
	return nil
}

// isOverflowed reports whether another label follows one that yielded no row.
func (m *mailbox) isOverflowed(ctx context.Context, f *folder, overflow int32) (bool, error) {
	if f.current.Load() > overflow {
		return true, nil
	}
	m.flag = false
	err := m.S.Read(ctx, m.overflowed, m.With(drivers.Text(f.username), drivers.Text(f.name(overflow))), m.onFlag)
	return m.flag, err
}

func (m *mailbox) flagRow(row []drivers.Value) error {
	m.flag = row[0].Bool()
	return nil
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
		user := drivers.Text(d.f.username)
		if d.unread != 0 {
			m.Calls.Add(addUnread, user, drivers.Text(d.f.name(d.overflow)), drivers.Counter(d.unread))
		}
		if d.messages != 0 {
			m.Calls.Add(addMessages, user, drivers.Text(d.f.label), drivers.Int(d.overflow), drivers.Counter(d.messages))
		}
	}
	if len(m.Calls.List) == 0 {
		return nil
	}
	return models.Partly(m.S.Batch(ctx, m.counters, m.Calls.List))
}
