package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.IndexChecker = (*Store)(nil)

// CheckIndexes implements drivers.IndexChecker.
func (s *Store) CheckIndexes(
	ctx context.Context, t *schemas.Table, step func() error, found func(drivers.IndexFault),
) error {
	_, tb, err := s.tables.Find(schemas.ScanOf(t))
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return drivers.ErrClosed
	}
	snapshot := s.db.NewSnapshot()
	c := indexCheck{data: []byte{}, tb: tb, r: snapshot, step: step, found: found}
	c.row = make([]drivers.Value, len(tb.key)+len(tb.rows.columns))
	for _, x := range t.Indexes {
		if p := tb.byIndex[tb.own(x)]; p != nil {
			c.name, c.path = x.Name, &p.path
			if err == nil {
				err = c.entries(ctx)
			}
			if err == nil {
				err = c.rows(ctx)
			}
		}
	}
	return corrupt(closeAfter(snapshot, err))
}

// own returns the table's own index of that name: x may be of another parse of the schema.
func (tb *table) own(x *schemas.Index) *schemas.Index {
	for own := range tb.byIndex {
		if own.Name == x.Name {
			return own
		}
	}
	return nil
}

// indexCheck compares one index with the rows of its table.
type indexCheck struct {
	tb    *table
	name  string
	path  *path
	r     pebble.Reader
	step  func() error
	found func(drivers.IndexFault)
	row   []drivers.Value // as path.append takes it
	arena []byte
	key   []byte
	data  []byte
}

// report adds a fault of the row whose key is in c.row.
func (c *indexCheck) report(what string) {
	c.found(drivers.IndexFault{Index: c.name, What: what, Key: c.row[:len(c.tb.key)]})
}

// entries looks for the row of each entry.
func (c *indexCheck) entries(ctx context.Context) error {
	return c.each(ctx, c.path, func(key, _ []byte) (err error) {
		if c.arena, err = c.path.decode(key, c.row, c.arena[:0]); err != nil {
			c.found(drivers.IndexFault{Index: c.name, What: fmt.Sprintf("entry %x cannot be read", key)})
			return nil
		}
		if c.key, err = c.tb.rows.append(c.key[:0], c.row); err != nil {
			return err
		}
		data, err := find(c.r, c.key, c.data)
		if data == nil || err != nil {
			if err == nil {
				c.report("the index has an entry without a row")
			}
			return err
		}
		c.data = data
		if want, err := c.entry(data); err == nil && !bytes.Equal(want, key) {
			c.report("the index has an entry of another value")
		}
		return nil
	})
}

// rows looks for the entry of each row. Rows that cannot be read are found by reading them.
func (c *indexCheck) rows(ctx context.Context) error {
	return c.each(ctx, &c.tb.rows.path, func(key, data []byte) (err error) {
		if c.arena, err = c.tb.rows.decode(key, c.row, c.arena[:0]); err != nil {
			return nil
		}
		want, err := c.entry(data)
		if err != nil || len(want) == 0 {
			return nil
		}
		there, err := find(c.r, want, c.data) // c.data is not nil: an entry's value is empty
		if there == nil && err == nil {
			c.report("the row has no entry in the index")
		}
		return err
	})
}

// entry returns the entry that the row with the key in c.row and this value should have.
func (c *indexCheck) entry(data []byte) ([]byte, error) {
	if err := c.tb.rows.decodeRow(data, c.row[len(c.tb.key):], false); err != nil {
		return nil, err
	}
	key, err := c.path.entry(c.key[:0], c.row)
	c.key = key
	return key, err
}

// each yields all keys of a path with their values.
func (c *indexCheck) each(ctx context.Context, p *path, yield func(key, data []byte) error) error {
	from := binary.BigEndian.AppendUint16(nil, p.space)
	o := pebble.IterOptions{LowerBound: from, UpperBound: keys.Successor(bytes.Clone(from))}
	it, err := c.r.NewIterWithContext(ctx, &o)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err = c.step(); err != nil {
			break
		}
		data, verr := it.ValueAndErr()
		if err = verr; err != nil {
			break
		}
		if err = yield(it.Key(), data); err != nil {
			break
		}
	}
	if err == nil {
		err = it.Error()
	}
	return closeAfter(it, err)
}
