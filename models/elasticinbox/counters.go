package elasticinbox

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// tally holds the numbers of one label, or the change of them by an operation.
// Only label 0 has bytes.
type tally struct {
	label                   label
	messages, unread, bytes int64
}

// The statistics of a label, as components of a counter's name.
const (
	statBytes    = "b"
	statMessages = "m"
	statUnread   = "u"
)

// tallyOf returns the tally of a label. A new tally is 0.
func (m *mailbox) tallyOf(l label) *tally {
	for i := range m.tally {
		if m.tally[i].label == l {
			return &m.tally[i]
		}
	}
	m.tally = append(m.tally, tally{label: l})
	return &m.tally[len(m.tally)-1]
}

// add adds a change of a label to its tally.
func (m *mailbox) add(l label, messages, unread, bytes int64) {
	t := m.tallyOf(l)
	t.messages += messages
	t.unread += unread
	t.bytes += bytes
}

// addMessage adds a message to the tallies of all its labels, label 0 included. If
// sign is -1, it removes the message.
func (m *mailbox) addMessage(r *record, sign int64) {
	for _, l := range r.labels {
		m.add(l, sign, sign*r.unread(), 0)
	}
	m.add(all, 0, 0, sign*r.size)
}

// count adds the tallies to the counters, in one batch that holds nothing else.
func (m *mailbox) count(ctx context.Context, address string) error {
	m.Calls.Reset()
	key := drivers.Text(address)
	for _, t := range m.tally {
		id := m.counterID(t.label)
		if t.bytes != 0 {
			m.Calls.Add(only, key, drivers.Text("l"), id, drivers.Text(statBytes), drivers.Counter(t.bytes))
		}
		if t.messages != 0 {
			m.Calls.Add(only, key, drivers.Text("l"), id, drivers.Text(statMessages), drivers.Counter(t.messages))
		}
		if t.unread != 0 {
			m.Calls.Add(only, key, drivers.Text("l"), id, drivers.Text(statUnread), drivers.Counter(t.unread))
		}
	}
	if len(m.Calls.List) == 0 {
		return nil
	}
	if err := m.S.Batch(ctx, m.counts, m.Calls.List); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return nil
}

// Stats implements models.Mailbox.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	m.reset()
	t := m.tallyOf(labelOf(f))
	err := m.S.Read(ctx, m.counters, m.With(drivers.Text(f.Account.Address), drivers.Text("l"), m.counterID(labelOf(f))),
		m.onCounter)
	if err != nil {
		return models.Stats{}, m.Failed("stats", f.Account, err)
	}
	s := models.Stats{Known: models.KnowMessages | models.KnowUnread, Messages: t.messages, Unread: t.unread}
	if t.label == all { // the only one whose bytes are counted
		s.Known, s.Bytes = s.Known|models.KnowBytes, t.bytes
	}
	return s, nil
}

// counter takes a row (stat, value) of the counters of the one label in m.tally.
func (m *mailbox) counter(row []drivers.Value) error {
	m.tally[0].set(row[0].Raw(), row[1].Int64())
	return nil
}

func (t *tally) set(stat []byte, n int64) {
	switch string(stat) {
	case statBytes:
		t.bytes = n
	case statMessages:
		t.messages = n
	case statUnread:
		t.unread = n
	}
}

// readCounters reads all counters of an account into m.tally. strange, if it is given, is
// called for the id of a counter that is of no label, which is an error without it.
func (m *mailbox) readCounters(ctx context.Context, address string, strange func(id []byte)) error {
	m.tally = m.tally[:0]
	return m.S.Read(ctx, m.accountCounters, m.With(drivers.Text(address)), func(row []drivers.Value) error {
		if string(row[0].Raw()) != "l" {
			return nil // the document allows other kinds
		}
		n, err := parseNumber(row[1].Raw())
		switch {
		case err == nil:
			m.tallyOf(label(n)).set(row[2].Raw(), row[3].Int64())
		case strange != nil:
			strange(row[1].Raw())
			return nil
		}
		return err
	})
}

// Recount implements models.Recounter. A counter cannot be set, so Recount adds the difference
// between the count of the index and the counter. Two recounts at a time would both add it,
// which the caller must prevent.
func (m *mailbox) Recount(ctx context.Context, a *models.Account) error {
	m.reset()
	labels, err := m.labels(ctx, a.Address)
	if err != nil {
		return m.Failed("recount", a, err)
	}
	var counted []tally
	for _, n := range labels {
		t, err := m.recount(ctx, a.Address, n.label)
		if err != nil {
			return m.Failed("recount", a, err)
		}
		counted = append(counted, t)
	}
	if err := m.readCounters(ctx, a.Address, nil); err != nil {
		return m.Failed("recount", a, err)
	}
	for i := range m.tally {
		t := &m.tally[i]
		t.messages, t.unread, t.bytes = -t.messages, -t.unread, -t.bytes
	}
	for _, t := range counted {
		m.add(t.label, t.messages, t.unread, t.bytes)
	}
	return m.Failed("recount", a, m.count(ctx, a.Address))
}

// recount counts one label from its index.
func (m *mailbox) recount(ctx context.Context, address string, l label) (tally, error) {
	t := tally{label: l}
	after := drivers.Value{}
	for {
		m.text = m.text[:0]
		more, err := m.page(ctx, address, l, after, maxPage)
		if err != nil || len(m.recs) == 0 {
			return t, err
		}
		for i := range m.recs {
			if r := &m.recs[i]; r.carries(l) {
				t.messages++
				t.unread += r.unread()
				if l == all {
					t.bytes += r.size
				}
			}
		}
		if !more {
			return t, nil
		}
		after = drivers.TimeUUID(m.recs[len(m.recs)-1].id)
	}
}
