package elasticinbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

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
	known   map[[16]byte]*state // messages of the account that were checked
	files   map[[16]byte]bool   // messages that are not in the database
	bodies  map[[16]byte]int64  // number of blocks of each message by its metadata; broken if it counts as broken
}

// Audit implements models.Mailbox.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := &audit{mailbox: m, bodies: map[[16]byte]int64{}, files: map[[16]byte]bool{}}
	accounts := map[string][]label{}
	readLabels := m.Scan(m.do.Accounts, func(row []drivers.Value) {
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
	})
	err := m.Verify(ctx, readLabels, func(ctx context.Context) error {
		for _, address := range slices.Sorted(maps.Keys(accounts)) {
			if err := a.account(ctx, address, accounts[address]); err != nil {
				return fmt.Errorf("account %s: %w", address, err)
			}
		}
		return nil
	}, a.strays)
	return a.found, err
}

func (a *audit) account(ctx context.Context, address string, labels []label) error {
	a.address, a.labels, a.known = address, labels, map[[16]byte]*state{}
	a.found.Accounts++
	if !slices.Contains(labels, all) {
		a.found.Find(models.Dangling, 1, "account %q has no label:0, which reserves the address", address)
	}
	for _, l := range labels {
		if l != all {
			a.found.Folders++
		}
	}
	err := a.metadata(ctx)
	a.reset()
	for i := 0; i < len(a.labels) && err == nil; i++ {
		err = a.index(ctx, a.labels[i])
	}
	if err == nil {
		err = a.purgeIndex(ctx)
	}
	if err != nil {
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

// metadata reads all super columns of the account, page by page, and checks their blocks.
func (a *audit) metadata(ctx context.Context) error {
	after, rows := [2]drivers.Value{}, auditRows
	for {
		a.reset()
		a.recs = a.recs[:0]
		n := 0
		page := a.With(drivers.Text(a.address), after[0], after[1], drivers.Bigint(int64(rows)))
		err := a.S.Read(ctx, a.do.Metadata, page, func(row []drivers.Value) error {
			if n++; row[0].Broken() {
				return nil // it names no message, and would be where the next page begins
			}
			err := a.column(row)
			if r := &a.recs[len(a.recs)-1]; r.fault == nil {
				r.fault = err
			}
			return nil
		})
		recs, last := a.recs, n < rows
		if !last && len(recs) > 0 {
			recs = recs[:len(recs)-1] // it may continue on the next page
		}
		for i := 0; i < len(recs) && err == nil; i++ {
			err = a.message(ctx, &recs[i])
		}
		switch {
		case err != nil || last:
			return err
		case len(recs) == 0:
			rows *= 2 // one message is longer than a page
		default:
			after = [2]drivers.Value{drivers.TimeUUID(recs[len(recs)-1].id), drivers.Text("\U0010ffff")}
		}
	}
}

// message notes a message and checks its blocks.
func (a *audit) message(ctx context.Context, r *record) error {
	k := r.state
	k.labels = slices.Clone(r.labels)
	a.known[r.id] = &k
	for _, l := range r.labels {
		if !slices.Contains(a.labels, l) {
			a.labels = append(a.labels, l) // an index that no label names
		}
	}
	a.bodies[r.id] = int64(r.blocks)
	if r.outside {
		a.files[r.id] = true
	}
	if r.fault == nil {
		whole, err := a.whole(ctx, r)
		if err != nil {
			return err
		}
		if !whole {
			r.fault = errNotWhole
		}
	}
	switch {
	case r.fault != nil:
		a.bodies[r.id] = broken
		a.found.Find(models.BrokenBody, 1, "message %s of account %q: %v", models.UUIDText(r.id), a.address, r.fault)
	case len(r.labels) == 0 && !r.deleted:
		a.found.Unreferenced++ // an interrupted delivery: no label shows it
	}
	return nil
}

var errNotWhole = errors.New("a header, a block or its checksum is not as it was delivered")

// whole reads the body of a message, and reports whether it is as it was delivered.
func (a *audit) whole(ctx context.Context, r *record) (bool, error) {
	each := int64(r.blockSize)
	counted := r.outside || each > 0 && int64(r.blocks) == (r.size+each-1)/each
	if r.headers != 4 || !counted {
		return false, nil
	}
	err := a.beginBody(r)
	if err == nil {
		_, err = a.WholeRaw(ctx, io.Discard)
	}
	if errors.Is(err, models.ErrBroken) {
		return false, nil
	}
	if err != nil || !r.outside {
		return err == nil, err
	}
	n, err := a.outside.ReadAt(r.id, make([]byte, 1), r.size) // its file may be longer
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read a blob in %s: %w", blobs.FSLocal, err)
	}
	return n == 0, nil
}

// index checks that each entry of a label's index refers to a message with that
// label, and counts the entries.
func (a *audit) index(ctx context.Context, l label) error {
	entries := a.With(a.indexKey(a.address, l), drivers.Value{}, drivers.Value{})
	return a.S.Read(ctx, a.do.IndexPage, entries, func(row []drivers.Value) error {
		if row[0].Broken() {
			return nil // it names no message
		}
		id := row[0].UUIDBytes()
		k := a.known[id]
		if k == nil || !k.carries(l) {
			a.found.Find(models.Dangling, 1, "index entry %s of label %d of account %q leads to no message with that label",
				models.UUIDText(id), l, a.address)
			return nil
		}
		k.entries++
		if l != all {
			a.found.Messages++
		}
		a.addMessage(k, 1, l)
		return nil
	})
}

// purgeIndex checks the deletions. One message may have several; its metadata
// names the one that counts.
func (a *audit) purgeIndex(ctx context.Context) error {
	deletions := a.With(a.purgeKey(a.address), drivers.Value{}, drivers.Value{}, drivers.Value{})
	return a.S.Read(ctx, a.do.PurgePage, deletions, func(row []drivers.Value) error {
		column := row[0].UUIDBytes()
		switch k := a.known[row[1].UUIDBytes()]; {
		case k == nil || !k.deleted:
			a.found.Find(models.Dangling, 1, "purge entry %s of account %q leads to no deleted message",
				models.UUIDText(column), a.address)
		case k.purge == column:
			k.entries++
			a.found.Deleted++
		}
		return nil
	})
}

// drift compares the counts of the indexes with the counters.
func (a *audit) drift(ctx context.Context) error {
	err := a.addCounters(ctx, a.address, -1, func(id []byte) {
		a.found.Find(models.Dangling, 1, "account %q has counters of %q, which is no label", a.address, id)
	})
	slices.SortFunc(a.tally, func(s, t tally) int { return cmp.Compare(s.label, t.label) })
	for _, t := range a.tally {
		by := int64(0)
		for _, n := range t.counts {
			by += max(n, -n)
		}
		if err == nil && by != 0 {
			a.found.Find(models.CounterDrift, by, "label %d of account %q: messages by %d, unread by %d, bytes by %d",
				t.label, a.address, -t.counts[statMessages], -t.counts[statUnread], -t.counts[statBytes])
		}
	}
	return err
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
