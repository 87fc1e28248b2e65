package elasticinbox

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox. It writes a marker, and for Seen the unread counters of all
// labels that show the message.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.Failed(&err, f.Account, "flag")
	marker := ""
	switch flag {
	case models.Seen:
		marker = seenMarker
	case models.Answered:
		marker = answeredMarker
	default:
		return models.ErrNotOffered // a star is a label here
	}
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return err
	}
	if was := flag == models.Seen && r.seen || flag == models.Answered && r.answered; was == on {
		return nil
	}
	args := m.With(drivers.Text(f.Account.Address), messageOf(h), drivers.Text(marker))
	if on {
		_, err = m.S.Write(ctx, m.do.ColumnPut, m.Also(present))
	} else {
		_, err = m.S.Write(ctx, m.do.ColumnDelete, args)
	}
	if err == nil && flag == models.Seen {
		change := int64(1)
		if on {
			change = -1
		}
		for _, l := range r.labels {
			m.add(l, 0, change, 0)
		}
		err = models.Partly(m.count(ctx, f.Account.Address))
	}
	return err
}

// Label implements models.Labeler.
func (m *mailbox) Label(ctx context.Context, f *models.Folder, h models.Handle, l *models.Folder,
	on bool,
) (_ models.Handle, err error) {
	defer m.Failed(&err, f.Account, "label")
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return models.Handle{}, err
	}
	if r.carries(labelOf(l)) == on {
		return h, nil
	}
	if on {
		m.show(f.Account.Address, labelOf(l))
	} else {
		m.hide(f.Account.Address, labelOf(l))
	}
	if err := m.change(ctx, f.Account.Address, m.do.Relabel); err != nil {
		return models.Handle{}, err
	}
	return h, nil
}

// Move implements models.Mailbox: it replaces one label by another, for all
// messages at once. A message that has the other label already only loses one.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.Failed(&err, from.Account, "move")
	m.reset()
	if err := m.several(ctx, from, hs); err != nil {
		return err
	}
	copy(handles, hs)
	if labelOf(from) == labelOf(to) || len(hs) == 0 {
		return nil
	}
	address := from.Account.Address
	// Labels are added first: an interruption leaves a message under both, not under none.
	m.show(address, labelOf(to))
	m.hide(address, labelOf(from))
	return m.change(ctx, address, m.do.Relabel)
}

// show adds a label to the messages of m.recs that do not carry it, in the change in m.Calls.
// Rows of one partition follow each other.
func (m *mailbox) show(address string, l label) {
	key, column, index := drivers.Text(address), m.labelColumn(l), m.indexKey(address, l)
	for i := range m.recs {
		if r := &m.recs[i]; !r.carries(l) {
			m.Calls.Add(relabelColumnPut, key, drivers.TimeUUID(r.id), column, present)
			m.add(l, 1, r.unread(), 0)
		}
	}
	for i := range m.recs {
		if r := &m.recs[i]; !r.carries(l) {
			m.Calls.Add(relabelIndexPut, index, drivers.TimeUUID(r.id))
		}
	}
}

// hide removes a label from the messages of m.recs in the change in m.Calls.
func (m *mailbox) hide(address string, l label) {
	key, column, index := drivers.Text(address), m.labelColumn(l), m.indexKey(address, l)
	for i := range m.recs {
		m.Calls.Add(relabelIndexDelete, index, drivers.TimeUUID(m.recs[i].id))
	}
	for i := range m.recs {
		m.Calls.Add(relabelColumnDelete, key, drivers.TimeUUID(m.recs[i].id), column)
		m.add(l, -1, -m.recs[i].unread(), 0)
	}
}

// change runs the batch in m.Calls, then writes the counters.
func (m *mailbox) change(ctx context.Context, address string, batch drivers.Statement) error {
	if err := m.S.Batch(ctx, batch, m.Calls.List); err != nil {
		return err
	}
	return models.Partly(m.count(ctx, address))
}

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
		for _, c := range [...]struct {
			stat   string
			change int64
		}{{statBytes, t.bytes}, {statMessages, t.messages}, {statUnread, t.unread}} {
			if c.change != 0 {
				m.Calls.Add(only, key, drivers.Text("l"), id, drivers.Text(c.stat), drivers.Counter(c.change))
			}
		}
	}
	if len(m.Calls.List) == 0 {
		return nil
	}
	if err := m.S.Batch(ctx, m.do.Counts, m.Calls.List); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return nil
}

// Stats implements models.Mailbox.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (_ models.Stats, err error) {
	defer m.Failed(&err, f.Account, "stats")
	m.reset()
	t := m.tallyOf(labelOf(f))
	args := m.With(drivers.Text(f.Account.Address), drivers.Text("l"), m.counterID(labelOf(f)))
	err = m.Read(ctx, m.do.Counters, args, func(m *mailbox, row []drivers.Value) error {
		m.tally[0].set(row[0].Raw(), row[1].Int64())
		return nil
	})
	if err != nil {
		return models.Stats{}, err
	}
	s := models.Stats{Known: models.KnowMessages | models.KnowUnread, Messages: t.messages, Unread: t.unread}
	if t.label == all { // the only one whose bytes are counted
		s.Known, s.Bytes = s.Known|models.KnowBytes, t.bytes
	}
	return s, nil
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
	return m.S.Read(ctx, m.do.AccountCounters, m.With(drivers.Text(address)), func(row []drivers.Value) error {
		if string(row[0].Raw()) != "l" {
			return nil // the source design allows other kinds
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
func (m *mailbox) Recount(ctx context.Context, a *models.Account) (err error) {
	defer m.Failed(&err, a, "recount")
	m.reset()
	labels, err := m.labels(ctx, a.Address)
	if err != nil {
		return err
	}
	var counted []tally
	for _, n := range labels {
		t, err := m.recount(ctx, a.Address, n.label)
		if err != nil {
			return err
		}
		counted = append(counted, t)
	}
	if err := m.readCounters(ctx, a.Address, nil); err != nil {
		return err
	}
	for i := range m.tally {
		t := &m.tally[i]
		t.messages, t.unread, t.bytes = -t.messages, -t.unread, -t.bytes
	}
	for _, t := range counted {
		m.add(t.label, t.messages, t.unread, t.bytes)
	}
	return m.count(ctx, a.Address)
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
