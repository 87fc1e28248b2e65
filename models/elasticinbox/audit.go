package elasticinbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
)

const (
	// auditRows is how many sub-columns an audit reads at a time.
	auditRows = 4000
	// broken is the number of blocks of a message that is counted as broken.
	broken = -1
)

// audit audits one account after another. It holds a few words for each message of
// the current account, and the number of blocks of every other message.
type audit struct {
	*mailbox
	found   models.Audit
	address string
	labels  []label
	known   map[[16]byte]*known
	files   map[[16]byte]bool  // messages that are not in the database
	bodies  map[[16]byte]int64 // number of blocks of each message by its metadata; broken if it counts as broken
}

// known is the metadata of a message, and the number of entries that refer to it.
type known struct {
	labels  []label
	deleted bool
	purge   [16]byte
	unread  int64
	size    int64
	entries int // index entries, or one purge entry
}

// Audit implements models.Mailbox.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := &audit{mailbox: m, bodies: map[[16]byte]int64{}, files: map[[16]byte]bool{}}
	accounts := map[string][]label{}
	err := a.S.Read(ctx, a.do.Accounts, nil, func(row []drivers.Value) error {
		address := row[0].Str()
		labels := accounts[address]
		n, ok, err := parseLabel(row[1].Raw(), row[2])
		if err != nil {
			a.found.Find(models.Dangling, 1, "account %q has a label %q: %v", address, row[1].Raw(), err)
		}
		if ok {
			labels = append(labels, n.label)
		}
		accounts[address] = labels
		return nil
	})
	for _, address := range slices.Sorted(maps.Keys(accounts)) {
		if err != nil {
			break
		}
		if err = a.account(ctx, address, accounts[address]); err != nil {
			err = fmt.Errorf("account %s: %w", address, err)
		}
	}
	if err == nil {
		err = a.strays(ctx)
	}
	if err != nil {
		return a.found, fmt.Errorf("elasticinbox: verification: %w", err)
	}
	return a.found, nil
}

func (a *audit) account(ctx context.Context, address string, labels []label) error {
	a.address, a.labels, a.known = address, labels, map[[16]byte]*known{}
	a.found.Accounts++
	if !slices.Contains(labels, all) {
		a.found.Find(models.Dangling, 1, "account %q has no label:0, which reserves the address", address)
	}
	for _, l := range labels {
		if l != all {
			a.found.Folders++
		}
	}
	if err := a.metadataOf(ctx); err != nil {
		return err
	}
	a.reset()
	for _, l := range a.labels {
		if err := a.index(ctx, l); err != nil {
			return err
		}
	}
	if err := a.purgeIndex(ctx); err != nil {
		return err
	}
	for id, k := range a.known {
		want := len(k.labels)
		if k.deleted {
			want = 1
		}
		if want > k.entries {
			a.found.Find(models.Dangling, int64(want-k.entries), "message %s of account %q: %d of its %d index entries are lost",
				models.UUIDText(id), address, want-k.entries, want)
		}
	}
	return a.drift(ctx)
}

// metadataOf reads all super columns of the account and checks their blocks.
func (a *audit) metadataOf(ctx context.Context) error {
	after, rows := [2]drivers.Value{}, auditRows
	for {
		a.reset()
		a.recs = a.recs[:0]
		n := 0
		err := a.S.Read(ctx, a.do.Metadata, a.With(drivers.Text(a.address), after[0], after[1], drivers.Bigint(int64(rows))),
			func(row []drivers.Value) error {
				n++
				if row[0].Broken() {
					return nil // it would be where the next page begins
				}
				id := row[0].UUIDBytes()
				if len(a.recs) == 0 || a.recs[len(a.recs)-1].id != id {
					a.recs = append(a.recs, record{id: id})
				}
				r := &a.recs[len(a.recs)-1]
				if err := a.take(r, row[1].Raw(), row[2].Raw()); err != nil && r.fault == nil {
					r.fault = err
				}
				return nil
			})
		if err != nil {
			return err
		}
		last := n < rows
		if !last && len(a.recs) > 0 {
			a.recs = a.recs[:len(a.recs)-1] // it may continue on the next page
		}
		for i := range a.recs {
			if err := a.message(ctx, &a.recs[i]); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		if len(a.recs) == 0 {
			rows *= 2 // one message is longer than a page
			continue
		}
		after = [2]drivers.Value{drivers.TimeUUID(a.recs[len(a.recs)-1].id), drivers.Text("\U0010ffff")}
	}
}

// message notes a message and checks its blocks.
func (a *audit) message(ctx context.Context, r *record) error {
	a.known[r.id] = &known{
		labels: slices.Clone(r.labels), deleted: r.deleted, purge: r.purge, unread: r.unread(),
		size: r.size,
	}
	for _, l := range r.labels {
		if !slices.Contains(a.labels, l) {
			a.labels = append(a.labels, l) // an index that no label names
		}
	}
	a.bodies[r.id] = int64(r.blocks)
	if r.outside {
		a.files[r.id] = true
	}
	each := int64(r.blockSize)
	counted := r.outside || each > 0 && int64(r.blocks) == (r.size+each-1)/each
	whole := r.fault == nil && r.headers == 4 && counted
	if whole {
		err := a.beginBody(r)
		if err == nil {
			_, err = a.Reader.Whole(ctx, io.Discard)
		}
		if whole = !errors.Is(err, models.ErrBroken); whole && err != nil {
			return err
		}
	}
	if whole && r.outside { // its file may be longer
		n, err := a.outside.ReadAt(r.id, make([]byte, 1), r.size)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, blobs.ErrMissing) {
			return fmt.Errorf("read a blob in %s: %w", blobs.FSLocal, err)
		}
		whole = n == 0
	}
	if whole && len(r.labels) == 0 && !r.deleted {
		a.found.Unreferenced++ // an interrupted delivery: no label shows it
	}
	if !whole {
		a.bodies[r.id] = broken
		why := "a header, a block or its checksum is not as it was delivered"
		if r.fault != nil {
			why = r.fault.Error()
		}
		a.found.Find(models.BrokenBody, 1, "message %s of account %q: %s", models.UUIDText(r.id), a.address, why)
	}
	return nil
}

// index checks that each entry of a label's index refers to a message with that
// label, and counts the entries.
func (a *audit) index(ctx context.Context, l label) error {
	a.tallyOf(l)
	after := drivers.Value{}
	for {
		a.ids = a.ids[:0]
		n := 0
		err := a.S.Read(ctx, a.do.IndexPage, a.With(a.indexKey(a.address, l), after, drivers.Bigint(auditRows)),
			func(row []drivers.Value) error {
				n++
				if row[0].Broken() {
					return nil // it would be where the next page begins
				}
				a.ids = append(a.ids, row[0])
				return nil
			})
		if err != nil {
			return err
		}
		for _, id := range a.ids {
			k := a.known[id.UUIDBytes()]
			if k == nil || k.deleted || !slices.Contains(k.labels, l) {
				a.found.Find(models.Dangling, 1, "index entry %s of label %d of account %q leads to no message with that label",
					models.UUIDText(id.UUIDBytes()), l, a.address)
				continue
			}
			k.entries++
			if l == all {
				a.add(l, 1, k.unread, k.size)
			} else {
				a.found.Messages++
				a.add(l, 1, k.unread, 0)
			}
		}
		if n < auditRows || len(a.ids) == 0 {
			return nil
		}
		after = a.ids[len(a.ids)-1]
	}
}

// purgeIndex checks the deletions. One message may have several; its metadata
// names the one that counts.
func (a *audit) purgeIndex(ctx context.Context) error {
	after, end := drivers.Value{}, time.Unix(1<<40, 0) // after every TimeUUID
	for {
		ds, more, err := a.deletions(ctx, a.address, after, end)
		if err != nil {
			return err
		}
		for _, d := range ds {
			switch k := a.known[d.message]; {
			case k == nil || !k.deleted:
				a.found.Find(models.Dangling, 1, "purge entry %s of account %q leads to no deleted message",
					models.UUIDText(d.column), a.address)
			case k.purge == d.column:
				k.entries++
				a.found.Deleted++
			}
		}
		if !more || ds[len(ds)-1].column == ([16]byte{}) { // a key that cannot be decoded
			return nil
		}
		after = drivers.TimeUUID(ds[len(ds)-1].column)
	}
}

// drift compares the counts of the indexes with the counters.
func (a *audit) drift(ctx context.Context) error {
	counted := slices.Clone(a.tally)
	if err := a.readCounters(ctx, a.address, func(id []byte) {
		a.found.Find(models.Dangling, 1, "account %q has counters of %q, which is no label", a.address, id)
	}); err != nil {
		return err
	}
	for _, t := range counted {
		a.add(t.label, -t.messages, -t.unread, -t.bytes)
	}
	for _, t := range a.tally {
		by := max(t.messages, -t.messages) + max(t.unread, -t.unread) + max(t.bytes, -t.bytes)
		if by != 0 {
			a.found.Find(models.CounterDrift, by, "label %d of account %q: messages by %d, unread by %d, bytes by %d",
				t.label, a.address, t.messages, t.unread, t.bytes)
		}
	}
	return nil
}

// strays finds blocks and files without metadata, which an interrupted delivery or purge leaves, and writes into files
// that were interrupted. A block after the last one of a message that has metadata is a fault.
func (a *audit) strays(ctx context.Context) error {
	stray := map[[16]byte]bool{}
	err := a.S.Read(ctx, a.do.Blocks, nil, func(row []drivers.Value) error {
		id := row[0].UUIDBytes()
		if blocks, ok := a.bodies[id]; !ok {
			stray[id] = true
		} else if blocks != broken && row[1].Int64() >= blocks {
			a.bodies[id] = broken
			a.found.Find(models.BrokenBody, 1, "message %s has a block %d after its last", models.UUIDText(id), row[1].Int64())
		}
		return nil
	})
	a.found.Unreferenced += int64(len(stray))
	if err != nil || a.outside == nil {
		return err
	}
	a.found.InterruptedBlobs, err = a.outside.Each(func(id [16]byte) error {
		if !a.files[id] {
			a.found.Unreferenced++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the blobs in %s: %w", blobs.FSLocal, err)
	}
	return nil
}
