package elasticinbox

import (
	"context"
	"fmt"
	"math"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox. It writes a marker, and for Seen the unread counters of all
// labels that show the message.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.Failed(&err, f.Account, "flag")
	marker := markers[flag]
	if marker == "" {
		return models.ErrNotOffered // a star is a label here
	}
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil || (r.flags&flag != 0) == on {
		return err
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
	return h, m.change(ctx, f.Account.Address, m.do.Relabel)
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
func (m *mailbox) show(address string, l label) {
	missing := func(r *record) bool { return !r.carries(l) }
	m.addEach(missing, relabelColumnPut, drivers.Text(address), m.labelColumn(l), present)
	m.addEach(missing, relabelIndexPut, m.indexKey(address, l))
	for i := range m.recs {
		if r := &m.recs[i]; missing(r) {
			m.addMessage(&r.state, 1, l)
		}
	}
}

// hide removes a label from the messages of m.recs in the change in m.Calls.
func (m *mailbox) hide(address string, l label) {
	m.addEach(every, relabelIndexDelete, m.indexKey(address, l))
	m.addEach(every, relabelColumnDelete, drivers.Text(address), m.labelColumn(l))
	for i := range m.recs {
		m.addMessage(&m.recs[i].state, -1, l)
	}
}

// addEach adds a part of a batch for each message of m.recs that it is for: the key of a row, the message, and more. So
// rows of one partition follow each other.
func (m *mailbox) addEach(isFor func(r *record) bool, part int, key drivers.Value, more ...drivers.Value) {
	for i := range m.recs {
		if r := &m.recs[i]; isFor(r) {
			m.Calls.Add(part, key, drivers.TimeUUID(r.id))
			m.Calls.Also(more...)
		}
	}
}

func every(*record) bool { return true }

// change runs the batch in m.Calls, then writes the counters.
func (m *mailbox) change(ctx context.Context, address string, batch drivers.Statement) error {
	if err := m.S.Batch(ctx, batch, m.Calls.List); err != nil {
		return err
	}
	return models.Partly(m.count(ctx, address))
}

// tally holds the counters of one label, or the change of them by an operation.
type tally struct {
	label  label
	counts [len(stats)]int64
}

// stats are the statistics of a label, as components of a counter's name. Only label 0 has bytes.
var stats = [...]string{"b", "m", "u"}

// The positions of the statistics.
const statBytes, statMessages, statUnread = 0, 1, 2

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
	t.counts[statMessages] += messages
	t.counts[statUnread] += unread
	t.counts[statBytes] += bytes
}

// addMessage adds a message to the tallies of labels. If sign is -1, it removes the message.
func (m *mailbox) addMessage(s *state, sign int64, labels ...label) {
	for _, l := range labels {
		m.add(l, sign, sign*s.unread(), 0)
		if l == all {
			m.add(l, 0, 0, sign*s.size)
		}
	}
}

// count adds the tallies to the counters, in one batch that holds nothing else.
func (m *mailbox) count(ctx context.Context, address string) error {
	m.Calls.Reset()
	key := drivers.Text(address)
	for _, t := range m.tally {
		id := m.counterID(t.label)
		for i, change := range t.counts {
			if change != 0 {
				m.Calls.Add(only, key, drivers.Text("l"), id, drivers.Text(stats[i]), drivers.Counter(change))
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
		m.tally[0].addCounter(row[0], row[1].Int64())
		return nil
	})
	s := models.Stats{
		Known: models.KnowMessages | models.KnowUnread, Messages: t.counts[statMessages], Unread: t.counts[statUnread],
	}
	if t.label == all { // the only one whose bytes are counted
		s.Known, s.Bytes = s.Known|models.KnowBytes, t.counts[statBytes]
	}
	return s, err
}

// addCounter adds to the count of a statistic of that name, if there is one.
func (t *tally) addCounter(stat drivers.Value, n int64) {
	for i := range stats {
		if string(stat.Raw()) == stats[i] {
			t.counts[i] += n
		}
	}
}

// addCounters adds all counters of an account to the tallies, sign times.
func (m *mailbox) addCounters(ctx context.Context, address string, sign int64) error {
	return m.S.Read(ctx, m.do.AccountCounters, m.With(drivers.Text(address)), func(row []drivers.Value) error {
		if string(row[0].Raw()) != "l" {
			return nil // the source design allows other kinds
		}
		n, err := parseNumber(row[1].Raw())
		if err == nil {
			m.tallyOf(label(n)).addCounter(row[2], sign*row[3].Int64())
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
	for i := 0; i < len(labels) && err == nil; i++ {
		err = m.each(ctx, a.Address, labels[i].label, models.Handle{}, math.MaxInt, func(r *record) error {
			m.addMessage(&r.state, 1, labels[i].label)
			return nil
		})
	}
	if err == nil {
		err = m.addCounters(ctx, a.Address, -1)
	}
	if err == nil {
		err = m.count(ctx, a.Address)
	}
	return err
}
