package datastax

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// lookEvery is the part of a label's free space after which a process reads its size
// again. A read with each delivery would cost more. Each process that shares a store
// may exceed the limit by a sixteenth, which the limit allows for.
const lookEvery = 16

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
	err := m.S.Read(ctx, m.currentLabel, m.With(drivers.Text(f.username), drivers.Text(f.label)), m.onLabel)
	if err == nil {
		f.raise(m.label.overflow)
	}
	return err
}

// place returns the overflow number of the label that takes the folder's next email.
//
// Labels roll over without a lock. A process that finds the current label full marks
// it as overflowed before it uses the next label. Two processes may set the mark at
// once, and nobody removes it. A list follows the marks. A process that has not seen
// the mark may still use the full label. Either way its email is listed.
func (m *mailbox) place(ctx context.Context, f *folder) (int32, error) {
	if f.room.Add(-1) >= 0 {
		return f.current.Load(), nil
	}
	if err := m.readCurrentLabel(ctx, f); err != nil {
		return 0, err
	}
	l := m.label
	if l.size >= int64(m.limit) {
		args := m.With(drivers.Text(f.username), drivers.Text(f.name(l.overflow)), drivers.Boolean(true))
		if _, err := m.S.Write(ctx, m.markOverflowed, args); err != nil {
			return 0, err
		}
		l = label{overflow: l.overflow + 1}
		f.raise(l.overflow)
	}
	f.room.Store(m.share(l.size) - 1)
	return l.overflow, nil
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
