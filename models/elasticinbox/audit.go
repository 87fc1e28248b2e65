package elasticinbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
)

// inspectRows is how many sub-columns an inspection reads at a time.
const inspectRows = 4000

// inspection reads the metadata of one account after another. It holds a few words for each message of the current
// account, and for each body that is not in the database.
type inspection struct {
	*mailbox
	found   *models.Audit
	address string
	entries map[[16]byte]int  // index entries of each message of the account
	shown   map[[16]byte]bool // messages that a folder shows
	files   map[[16]byte]bool // messages that are not in the database
}

// Inspect implements models.Inspector. It finds messages that lack index entries, headers or blocks, and reads those
// that no folder shows. It also finds files without a message.
func (m *mailbox) Inspect(ctx context.Context, found *models.Audit) error {
	x := &inspection{mailbox: m, found: found, files: map[[16]byte]bool{}}
	accounts, err := m.Accounts(ctx)
	for i := 0; i < len(accounts) && err == nil; i++ {
		x.address, x.entries, x.shown = accounts[i], map[[16]byte]int{}, map[[16]byte]bool{}
		if err = x.indexes(ctx); err == nil {
			err = x.metadata(ctx)
		}
	}
	if err != nil || m.outside == nil {
		return err
	}
	found.InterruptedBlobs, err = m.outside.Each(func(id [16]byte) error {
		if !x.files[id] {
			found.Unreferenced++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the blobs in %s: %w", blobs.FSLocal, err)
	}
	return nil
}

// indexes reads the index entries of an account. The schema declares that each leads to a message.
func (x *inspection) indexes(ctx context.Context) error {
	x.reset()
	labels, err := x.labels(ctx, x.address)
	if errors.Is(err, models.ErrBroken) {
		err = nil // it cannot log in either
	}
	for i := 0; i < len(labels) && err == nil; i++ {
		l := labels[i].label
		page := x.With(x.indexKey(x.address, l), drivers.Value{}, drivers.Value{})
		err = x.S.Read(ctx, x.do.IndexPage, page, func(row []drivers.Value) error {
			if row[0].Broken() {
				return nil // it names no message
			}
			id := row[0].UUIDBytes()
			x.entries[id]++
			x.shown[id] = x.shown[id] || l != all
			return nil
		})
	}
	return err
}

// metadata reads all super columns of the account, page by page.
func (x *inspection) metadata(ctx context.Context) error {
	after, rows := [2]drivers.Value{}, inspectRows
	for {
		x.reset()
		x.recs = x.recs[:0]
		n := 0
		page := x.With(drivers.Text(x.address), after[0], after[1], drivers.Bigint(int64(rows)))
		err := x.S.Read(ctx, x.do.Metadata, page, func(row []drivers.Value) error {
			if n++; row[0].Broken() {
				return nil // it names no message, and would be where the next page begins
			}
			err := x.column(row)
			if r := &x.recs[len(x.recs)-1]; r.fault == nil {
				r.fault = err
			}
			return nil
		})
		recs, last := x.recs, n < rows
		if !last && len(recs) > 0 {
			recs = recs[:len(recs)-1] // it may continue on the next page
		}
		for i := 0; i < len(recs) && err == nil; i++ {
			err = x.message(ctx, &recs[i])
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

// message checks a message.
func (x *inspection) message(ctx context.Context, r *record) error {
	what := fmt.Sprintf("message %s of account %q", drivers.AppendUUID(nil, r.id), x.address)
	x.files[r.id] = r.outside
	wrong := max(0, len(r.labels)-x.entries[r.id]) // the schema declares that no entry is without a label
	if r.deleted {                                 // its labels are for a restore
		wrong = x.entries[r.id]
		x.found.Deleted++
	}
	if wrong > 0 {
		x.found.Find(models.Dangling, int64(wrong), "%s with %d labels, deleted %t, has %d index entries", what,
			len(r.labels), r.deleted, x.entries[r.id])
	}
	shown := x.shown[r.id] && !r.deleted
	err := r.fault
	if err == nil {
		err = x.sound(ctx, r, shown)
	} else if shown {
		return nil // its folder cannot be listed
	}
	switch {
	case errors.Is(err, models.ErrBroken):
		x.found.Find(models.BrokenBody, 1, "%s: %v", what, err)
		err = nil
	case len(r.labels) == 0 && !r.deleted:
		x.found.Unreferenced++ // an interrupted delivery
	}
	return err
}

// sound returns an error if a message is not as it was delivered. It reads the body unless a folder shows the message.
func (x *inspection) sound(ctx context.Context, r *record, shown bool) error {
	each := int64(r.blockSize)
	if r.headers != 4 || !r.outside && (each == 0 || int64(r.blocks) != (r.size+each-1)/each) {
		return fmt.Errorf("%w: a header is missing, or its location is wrong", models.ErrBroken)
	}
	if !shown {
		err := x.beginBody(r)
		if err == nil {
			_, err = x.WholeRaw(ctx, io.Discard)
		}
		if err != nil {
			return err
		}
	}
	if !r.outside {
		return nil
	}
	n, err := x.outside.ReadAt(r.id, make([]byte, 1), r.size)
	switch {
	case n > 0:
		return fmt.Errorf("%w: its file is longer than %d bytes", models.ErrBroken, r.size)
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read a blob in %s: %w", blobs.FSLocal, err)
	}
	return nil
}
