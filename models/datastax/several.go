package datastax

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// sought is an email that is looked for in the labels of a folder.
type sought struct {
	id       [16]byte
	wanted   bool  // the next read asks for it
	found    bool  // a label shows it: overflow and row are set
	overflow int32 // overflow number of that label
	row      shown
}

// seek sets the emails of hs as those to look for.
func seek(among []sought, hs []models.Handle) []sought {
	among = slices.Grow(among[:0], len(hs))[:len(hs)]
	for i, h := range hs {
		among[i] = sought{id: idOf(h), wanted: true}
	}
	return among
}

// several reads the rows of messages of a folder into m.here, in one call for each label that
// shows some of them. It returns ErrNotFound if one is missing or named twice.
func (m *mailbox) several(ctx context.Context, f *folder, hs []models.Handle) error {
	if err := m.Handles.Distinct(hs); err != nil {
		return err
	}
	m.here = seek(m.here, hs)
	for i, h := range hs {
		switch {
		case h.IsZero():
			return models.ErrNotFound
		case m.here[i].found:
			continue
		}
		overflow := overflowOf(h)
		for j := range hs {
			m.here[j].wanted = overflowOf(hs[j]) == overflow
		}
		if err := m.look(ctx, f, overflow, m.here); err != nil {
			return err
		}
		for j := range m.here {
			if m.here[j].wanted && !m.here[j].found {
				return models.ErrNotFound
			}
		}
	}
	return nil
}

// find looks for the emails of hs in the labels of a folder up to the current one, and sets
// m.there.
func (m *mailbox) find(ctx context.Context, f *folder, hs []models.Handle) error {
	m.there = seek(m.there, hs)
	for n := range f.current.Load() + 1 {
		if err := m.look(ctx, f, n, m.there); err != nil {
			return err
		}
		for i := range m.there {
			m.there[i].wanted = !m.there[i].found
		}
	}
	return nil
}

// look reads which of the wanted emails a label shows, in one call.
func (m *mailbox) look(ctx context.Context, f *folder, overflow int32, among []sought) error {
	m.elems = m.elems[:0]
	for i := range among {
		if among[i].wanted {
			m.elems = append(m.elems, drivers.TimeUUID(among[i].id))
		}
	}
	if len(m.elems) == 0 {
		return nil
	}
	m.looking = looking{among: among, overflow: overflow}
	args := m.With(drivers.Text(f.username), drivers.Text(f.name(overflow)), drivers.ListOf(m.elems))
	err := m.S.Read(ctx, m.inFolderOf, args, m.onLook)
	m.looking = looking{}
	return err
}

// looking is a read of one label for several emails.
type looking struct {
	among    []sought
	overflow int32
	at       int // index of the email whose row may come next
}

// lookRow takes a row of a label. Rows come in the order of the list.
func (m *mailbox) lookRow(row []drivers.Value) error {
	l, id := &m.looking, row[0].UUIDBytes()
	for l.at < len(l.among) && !(l.among[l.at].wanted && l.among[l.at].id == id) {
		l.at++
	}
	if l.at == len(l.among) {
		return fmt.Errorf("email %x came out of turn", id)
	}
	e := &l.among[l.at]
	e.found, e.overflow, e.row = true, l.overflow, m.keepShown(row[1:])
	l.at++
	return nil
}
