package elasticinbox

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox. Each recipient gets his own metadata, index
// entries, counters and blocks.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	for i, f := range to {
		id, err := m.deliver(ctx, msg, f)
		if err != nil {
			for j := range i {
				err = m.withdraw(ctx, err, msg, to[j], [16]byte(handles[j][:16]), true)
			}
			m.Failed(&err, f.Account, "delivery")
			return err
		}
		handles[i] = handleOf(id)
	}
	return nil
}

// Holds implements models.Holder. A move writes no blocks.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	h := models.HoldsChunks(msg, window*int64(m.blockSize))
	h.Move = 0
	return h
}

// deliver stores the blocks, then metadata and index entries, then the counters.
func (m *mailbox) deliver(ctx context.Context, msg *mail.Message, f *models.Folder) (id [16]byte, err error) {
	m.reset()
	id = m.uuids.Next(msg.Date)
	var sum uint32
	if m.goesOutside(msg.Raw.Size()) {
		sum, err = m.putOutside(id, msg.Raw)
	} else {
		sum, err = m.putBlocks(ctx, id, msg.Raw)
	}
	if cap(m.buffer) > models.KeepBuffer {
		m.buffer = nil
		m.Forget()
	}
	if err == nil {
		err = m.putMetadata(ctx, id, msg, f, sum)
	}
	if err == nil {
		m.addMessage(&state{size: msg.Raw.Size()}, 1, all, labelOf(f))
		err = m.count(ctx, f.Account.Address)
	}
	if err != nil {
		err = m.withdraw(ctx, err, msg, f, id, false)
	}
	return id, err
}

// putBlocks writes the raw message in windows of blocks and returns its checksum.
func (m *mailbox) putBlocks(ctx context.Context, id [16]byte, raw mail.Content) (uint32, error) {
	each := int64(m.blockSize)
	return models.EachPiece(raw, &m.buffer, window*each, func(off int64, b []byte) error {
		m.Calls.Reset()
		for block := range slices.Chunk(b, m.blockSize) {
			m.Calls.Add(only, drivers.TimeUUID(id), drivers.Int(int32(off/each)), drivers.Int(0), drivers.Blob(block))
			off += each
		}
		if err := m.S.Batch(ctx, m.do.BlocksPut, m.Calls.List); err != nil {
			return fmt.Errorf("write blocks: %w", err)
		}
		return nil
	})
}

// putMetadata writes the super column and its index entries.
func (m *mailbox) putMetadata(ctx context.Context, id [16]byte, msg *mail.Message, f *models.Folder, sum uint32) error {
	key, message, l := drivers.Text(f.Account.Address), drivers.TimeUUID(id), labelOf(f)
	m.Calls.Reset()
	put := func(part int, column, value drivers.Value) {
		m.Calls.Add(part, key, message, column, value)
	}
	put(storeColumn, drivers.Text("from"), m.blob(appendAddresses(m.text, msg.From)))
	put(storeColumn, drivers.Text("to"), m.blob(appendAddresses(m.text, msg.To...)))
	put(storeColumn, drivers.Text("subject"), m.blob(append(m.text, msg.Subject...)))
	date := mail.Bounded(msg.Date).UTC()
	put(storeColumn, drivers.Text("date"), m.blob(date.AppendFormat(m.text, time.RFC3339Nano)))
	size := msg.Raw.Size()
	if !m.goesOutside(size) {
		put(storeSize, drivers.Text("size"), m.blob(strconv.AppendInt(m.text, size, 10)))
	}
	put(storeColumn, drivers.Text("location"), m.location(f.Account.Address, id, size))
	put(storeColumn, m.labelColumn(all), present)
	put(storeColumn, m.labelColumn(l), present)
	put(storeParts, drivers.Text("parts"), m.blob(models.AppendLayout(m.text, msg, sum)))
	m.Calls.Add(storeIndex, m.indexKey(f.Account.Address, all), message)
	m.Calls.Add(storeIndex, m.indexKey(f.Account.Address, l), message)
	if err := m.S.Batch(ctx, m.do.Store, m.Calls.List); err != nil {
		return fmt.Errorf("write metadata and indexes: %w", err)
	}
	return nil
}

func (m *mailbox) blocksOf(size int64) int {
	return int((size + int64(m.blockSize) - 1) / int64(m.blockSize))
}

// withdraw removes what a failed delivery has written, and returns why it failed.
func (m *mailbox) withdraw(
	ctx context.Context, why error, msg *mail.Message, f *models.Folder, id [16]byte, counted bool,
) error {
	return models.Withdraw(ctx, why, func(ctx context.Context) error {
		m.reset()
		message, address := drivers.TimeUUID(id), f.Account.Address
		m.Calls.Add(eraseMessage, drivers.Text(address), message)
		m.Calls.Add(eraseIndex, m.indexKey(address, all), message)
		m.Calls.Add(eraseIndex, m.indexKey(address, labelOf(f)), message)
		err := m.S.Batch(ctx, m.do.Erase, m.Calls.List)
		if err == nil && counted {
			m.addMessage(&state{size: msg.Raw.Size()}, -1, all, labelOf(f))
			err = m.count(ctx, address)
		}
		if err == nil {
			size := msg.Raw.Size()
			err = m.dropBody(ctx, id, m.goesOutside(size), m.blocksOf(size))
		}
		return err
	})
}

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
			m.addMessage(&m.recs[i].state, -1, m.recs[i].labels...)
		}
		m.addEach(every, eraseMessage, drivers.Text(address))
		m.unlist(address, eraseIndex)
		err := m.change(ctx, address, m.do.Erase)
		if err == nil {
			_, err = m.dropBodies(ctx, every)
		}
		return err
	}
	// Rows of one partition follow each other.
	for i := range m.recs {
		r := &m.recs[i]
		r.purge = m.uuids.Next(now)
		m.Calls.Add(discardMark, drivers.Text(address), drivers.TimeUUID(r.id), drivers.Text(purgeMark),
			drivers.Blob(r.purge[:]))
		m.addMessage(&r.state, -1, r.labels...)
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
		m.addEach(func(r *record) bool { return slices.Contains(r.labels, t.label) }, part, m.indexKey(address, t.label))
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
	if err == nil && (len(m.recs) == 0 || !m.recs[0].deleted) {
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
	m.addMessage(&r.state, 1, r.labels...)
	return m.change(ctx, a.Address, m.do.Restore)
}

// deletion is an entry of the purge index.
type deletion struct{ column, message [16]byte }

// Purge implements models.Purger: it deletes metadata and purge entries, then blocks.
func (m *mailbox) Purge(ctx context.Context, a *models.Account, before time.Time) (_ int, err error) {
	defer m.Failed(&err, a, "purge")
	purged, after := 0, drivers.Value{}
	for {
		m.reset()
		var ds []deletion
		to := drivers.TimeUUID(models.MaxTimeUUID(before))
		page := m.With(m.purgeKey(a.Address), to, after, drivers.Bigint(purgeAtOnce))
		err := m.S.Read(ctx, m.do.PurgePage, page, func(row []drivers.Value) error {
			d := deletion{row[0].UUIDBytes(), row[1].UUIDBytes()}
			if models.TimeOf(d.column).Before(before) { // the bound is that of the millisecond
				ds = append(ds, d)
			}
			return nil
		})
		n := 0
		if err == nil && len(ds) > 0 {
			n, err = m.purge(ctx, a.Address, ds)
		}
		purged += n
		if err != nil || len(ds) < purgeAtOnce {
			return purged, err
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
	gone := func(r *record) bool { return r.deleted && slices.Contains(ds, deletion{r.purge, r.id}) }
	m.Calls.Reset()
	m.addEach(gone, eraseMessage, drivers.Text(address))
	key := m.purgeKey(address)
	for _, d := range ds {
		m.Calls.Add(eraseIndex, key, drivers.TimeUUID(d.column))
	}
	if err := m.S.Batch(ctx, m.do.Erase, m.Calls.List); err != nil {
		return 0, models.Partly(err)
	}
	return m.dropBodies(ctx, gone)
}

// dropBodies removes the bodies of messages of m.recs, and returns how many messages are gone. They cannot be restored,
// since their metadata is gone.
func (m *mailbox) dropBodies(ctx context.Context, gone func(r *record) bool) (n int, err error) {
	for i := range m.recs {
		if r := &m.recs[i]; gone(r) {
			n++
			if err == nil {
				err = models.Partly(m.dropBody(ctx, r.id, r.outside, r.blocks))
			}
		}
	}
	return n, err
}
