package elasticinbox

import (
	"context"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Delete implements models.Mailbox: it moves messages from every label index to the
// purge index, and counts them off. Metadata and blocks stay, unless the model removes at once.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.Failed(&err, f.Account, "delete")
	m.reset()
	if err := m.several(ctx, f, hs); err != nil {
		return err
	}
	if len(hs) == 0 {
		return nil
	}
	address, now := f.Account.Address, m.now()
	if m.deletes == removes { // metadata and index entries, then blocks
		for i := range m.recs {
			m.Calls.Add(eraseMessage, drivers.Text(address), drivers.TimeUUID(m.recs[i].id))
			m.addMessage(&m.recs[i], -1)
		}
		m.unlist(address, eraseIndex)
		err := m.change(ctx, address, m.do.Erase)
		for i := 0; i < len(m.recs) && err == nil; i++ {
			err = models.Partly(m.dropBody(ctx, m.recs[i].id, m.recs[i].outside, m.recs[i].blocks))
		}
		return err
	}
	// Rows of one partition follow each other.
	for i := range m.recs {
		r := &m.recs[i]
		r.purge = m.uuids.Next(now)
		m.Calls.Add(discardMark, drivers.Text(address), drivers.TimeUUID(r.id), drivers.Text(purgeMark),
			drivers.Blob(r.purge[:]))
		m.addMessage(r, -1)
	}
	purgeKey := m.purgeKey(address)
	for i := range m.recs {
		m.Calls.Add(discardPurge, purgeKey, drivers.TimeUUID(m.recs[i].purge), drivers.TimeUUID(m.recs[i].id))
	}
	m.unlist(address, discardIndex)
	return m.change(ctx, address, m.do.Discard)
}

// unlist adds the deletes of the index entries of m.recs, label by label, as a part of a batch.
func (m *mailbox) unlist(address string, part int) {
	for _, t := range m.tally { // each label that one of them has
		index := m.indexKey(address, t.label)
		for i := range m.recs {
			if slices.Contains(m.recs[i].labels, t.label) {
				m.Calls.Add(part, index, drivers.TimeUUID(m.recs[i].id))
			}
		}
	}
}

// Restore implements models.Purger: it adds the message to the indexes of the labels in its metadata.
func (m *mailbox) Restore(ctx context.Context, a *models.Account, h models.Handle) (err error) {
	defer m.Failed(&err, a, "restore")
	m.reset()
	if h.IsZero() {
		return models.ErrNotFound
	}
	m.ids = append(m.ids[:0], messageOf(h))
	err = m.lookup(ctx, a.Address)
	if err == nil && !m.recs[0].deleted {
		err = models.ErrNotFound
	}
	if err != nil {
		return err
	}
	r := &m.recs[0]
	for _, l := range r.labels {
		m.Calls.Add(restoreIndex, m.indexKey(a.Address, l), messageOf(h))
	}
	m.Calls.Add(restoreMark, drivers.Text(a.Address), messageOf(h), drivers.Text(purgeMark))
	m.Calls.Add(restorePurge, m.purgeKey(a.Address), drivers.TimeUUID(r.purge))
	m.addMessage(r, 1)
	return m.change(ctx, a.Address, m.do.Restore)
}

// deletion is an entry of the purge index.
type deletion struct{ column, message [16]byte }

// deletions reads up to purgeAtOnce entries of the purge index after the column
// after that are older than before; a null column means from the first. More is
// false at the end of the index.
func (m *mailbox) deletions(ctx context.Context, address string, after drivers.Value,
	before time.Time,
) (ds []deletion, more bool, err error) {
	args := m.With(m.purgeKey(address), drivers.TimeUUID(models.MaxTimeUUID(before)), after, drivers.Bigint(purgeAtOnce))
	err = m.S.Read(ctx, m.do.PurgePage, args, func(row []drivers.Value) error {
		d := deletion{row[0].UUIDBytes(), row[1].UUIDBytes()}
		if models.TimeOf(d.column).Before(before) { // the bound is that of the millisecond
			ds = append(ds, d)
		}
		return nil
	})
	return ds, len(ds) == purgeAtOnce, err
}

// Purge implements models.Purger: it deletes metadata and purge entries, then blocks.
func (m *mailbox) Purge(ctx context.Context, a *models.Account, before time.Time) (_ int, err error) {
	defer m.Failed(&err, a, "purge")
	purged, after := 0, drivers.Value{}
	for {
		m.reset()
		ds, more, err := m.deletions(ctx, a.Address, after, before)
		if err == nil && len(ds) > 0 {
			var n int
			n, err = m.purge(ctx, a.Address, ds)
			purged += n
		}
		if err != nil {
			return purged, err
		}
		if !more {
			return purged, nil
		}
		after = drivers.TimeUUID(ds[len(ds)-1].column)
	}
}

// purge removes the messages of a page of deletions, and returns how many it
// removed. If a message was restored, or deleted again later, purge removes only
// the entry.
func (m *mailbox) purge(ctx context.Context, address string, ds []deletion) (int, error) {
	m.ids = m.ids[:0]
	for i, d := range ds {
		if !slices.ContainsFunc(ds[:i], func(e deletion) bool { return e.message == d.message }) {
			m.ids = append(m.ids, drivers.TimeUUID(d.message))
		}
	}
	if err := m.lookup(ctx, address); err != nil {
		return 0, err
	}
	var gone []*record
	m.Calls.Reset()
	for i := range m.recs {
		r := &m.recs[i]
		if r.deleted && slices.Contains(ds, deletion{r.purge, r.id}) {
			m.Calls.Add(eraseMessage, drivers.Text(address), drivers.TimeUUID(r.id))
			gone = append(gone, r)
		}
	}
	key := m.purgeKey(address)
	for _, d := range ds {
		m.Calls.Add(eraseIndex, key, drivers.TimeUUID(d.column))
	}
	if err := m.S.Batch(ctx, m.do.Erase, m.Calls.List); err != nil {
		return 0, models.Partly(err)
	}
	// The metadata is gone, so these messages cannot be restored.
	for _, r := range gone {
		if err := m.dropBody(ctx, r.id, r.outside, r.blocks); err != nil {
			return len(gone), models.Partly(err)
		}
	}
	return len(gone), nil
}
