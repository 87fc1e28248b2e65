package james

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// A handle is the UID and the size of the message, both big-endian. The size never
// changes, so a variant's flags can be conditional on it.

func handleOf(uid, size int64) (h models.Handle) {
	binary.BigEndian.PutUint64(h[:], uint64(uid))
	binary.BigEndian.PutUint64(h[8:], uint64(size))
	return h
}

func uidOf(h models.Handle) int64  { return int64(binary.BigEndian.Uint64(h[:])) }
func sizeOf(h models.Handle) int64 { return int64(binary.BigEndian.Uint64(h[8:])) }

// UID implements models.UIDs.
func (m *mailbox) UID(h models.Handle) uint64 { return uint64(uidOf(h)) }

// Positions of the mailbox row's numbers in the pattern "numbers".
const (
	lastUID = iota
	messageCount
)

// reserve takes n UIDs of a mailbox and returns the first. It adds as many messages as count says to
// the mailbox's number of messages, if that takes no request of its own: if an increment does both.
func (m *mailbox) reserve(ctx context.Context, f *models.Folder, n, count int64) (int64, error) {
	last, err := int64(0), error(nil)
	if m.lwt.has() { // its callers take one
		last, err = m.putIf(ctx, f, 0, nil, drivers.Value{})
	} else if m.casUID {
		last, err = m.increment(ctx, f, m.nextUID, true, lastUID, n)
	} else {
		var res drivers.Result
		res, err = m.S.Write(ctx, m.nextUID, m.With(key(f), drivers.Bigint(n), drivers.Bigint(count)))
		if err == nil && len(res.Row) > 0 {
			last = res.Row[lastUID].Int64()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("reserve a UID: %w", err)
	}
	return last - n + 1, nil
}

// countMessages adds to the mailbox's number of messages.
func (m *mailbox) countMessages(ctx context.Context, f *models.Folder, n int64) error {
	if n == 0 {
		return nil
	}
	if _, err := m.increment(ctx, f, m.count, m.casCount, messageCount, n); err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	return nil
}

// casAttempts is how often the model tries a compare-and-set of a UID whose outcome
// is unknown. Contention can make the outcome unknown.
const casAttempts = 5

// increment adds n to a number of the mailbox row and returns the new value, if the
// statement returns it. With cas, it reads the number and writes the sum by
// compare-and-set, until no other worker has changed the number in between. After
// an unknown outcome it tries again only for UIDs: an unused UID does no harm, but
// a count would be added twice.
func (m *mailbox) increment(ctx context.Context, f *models.Folder, stmt drivers.Statement, cas bool, number int,
	n int64,
) (int64, error) {
	if !cas {
		res, err := m.S.Write(ctx, stmt, m.With(key(f), drivers.Bigint(n)))
		if err != nil || len(res.Row) == 0 {
			return 0, err
		}
		return res.Row[0].Int64(), nil
	}
	defer m.Repeating(false)
	for attempt := 1; ; attempt++ {
		m.Repeating(attempt > 1)
		was, err := m.number(ctx, f, number)
		if err != nil {
			return 0, err
		}
		res, err := m.S.Write(ctx, stmt, m.With(key(f), drivers.Bigint(was.Int64()+n), was))
		if number == lastUID && errors.Is(err, drivers.ErrUnknown) && attempt < casAttempts && ctx.Err() == nil {
			continue
		}
		if err != nil || res.Applied {
			return was.Int64() + n, err
		}
	}
}

// number reads a number of the mailbox row: null if it was never written.
func (m *mailbox) number(ctx context.Context, f *models.Folder, number int) (drivers.Value, error) {
	m.counts = [2]drivers.Value{}
	err := m.S.Read(ctx, m.numbers, m.With(key(f)), m.onNumbers)
	return m.counts[number], err
}

// numbersRow takes the mailbox row's numbers.
func (m *mailbox) numbersRow(row []drivers.Value) error {
	copy(m.counts[:], row)
	return nil
}
