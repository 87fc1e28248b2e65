package elasticinbox

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox. It writes a marker, and for Seen the unread counters of all
// labels that show the message.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	marker := ""
	switch flag {
	case models.Seen:
		marker = seenMarker
	case models.Answered:
		marker = answeredMarker
	default:
		return m.Failed("flag", f.Account, models.ErrNotOffered) // a star is a label here
	}
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return m.Failed("flag", f.Account, err)
	}
	if was := flag == models.Seen && r.seen || flag == models.Answered && r.answered; was == on {
		return nil
	}
	args := m.With(drivers.Text(f.Account.Address), messageOf(h), drivers.Text(marker))
	if on {
		_, err = m.S.Write(ctx, m.columnPut, m.Also(present))
	} else {
		_, err = m.S.Write(ctx, m.columnDelete, args)
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
	return m.Failed("flag", f.Account, err)
}

// Label implements models.Labeler.
func (m *mailbox) Label(ctx context.Context, f *models.Folder, h models.Handle, l *models.Folder,
	on bool,
) (models.Handle, error) {
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return models.Handle{}, m.Failed("label", f.Account, err)
	}
	if r.carries(labelOf(l)) == on {
		return h, nil
	}
	if on {
		m.show(f.Account.Address, labelOf(l))
	} else {
		m.hide(f.Account.Address, labelOf(l))
	}
	if err := m.change(ctx, f.Account.Address, m.relabel); err != nil {
		return models.Handle{}, m.Failed("label", f.Account, err)
	}
	return h, nil
}

// Move implements models.Mailbox: it replaces one label by another, for all
// messages at once. A message that has the other label already only loses one.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	m.reset()
	if err := m.several(ctx, from, hs); err != nil {
		return m.Failed("move", from.Account, err)
	}
	copy(handles, hs)
	if labelOf(from) == labelOf(to) || len(hs) == 0 {
		return nil
	}
	address := from.Account.Address
	// Labels are added first: an interruption leaves a message under both, not under none.
	m.show(address, labelOf(to))
	m.hide(address, labelOf(from))
	return m.Failed("move", from.Account, m.change(ctx, address, m.relabel))
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
