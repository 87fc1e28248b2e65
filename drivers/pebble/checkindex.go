package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.IndexChecker = (*Store)(nil)

// CheckIndexes implements drivers.IndexChecker.
func (s *Store) CheckIndexes(
	ctx context.Context, t *schemas.Table, step func() error, found func(drivers.IndexFault),
) error {
	tb, err := s.tables.Find(schemas.ScanOf(t))
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return drivers.ErrClosed
	}
	snapshot := s.db.NewSnapshot()
	c := indexCheck{tb: tb, r: snapshot, step: step, found: found, data: []byte{}}
	c.row = make([]drivers.Value, len(tb.key)+len(tb.rows.columns))
	for _, c.index = range tb.indexes {
		if err == nil {
			err = c.each(ctx, &c.path, c.checkEntry)
		}
		if err == nil {
			err = c.each(ctx, &tb.rows.path, c.checkRow)
		}
	}
	return corrupt(closeAfter(snapshot, err))
}

// indexCheck compares one index with the rows of its table.
type indexCheck struct {
	*index
	tb    *table
	r     pebble.Reader
	step  func() error
	found func(drivers.IndexFault)
	row   []drivers.Value // as path.append takes it
	arena []byte
	key   []byte
	data  []byte // not nil: an entry has an empty value
}

// each checks all keys of a path.
func (c *indexCheck) each(ctx context.Context, p *path, check func(key, value []byte) error) error {
	space := string(binary.BigEndian.AppendUint16(nil, p.space))
	return each(ctx, c.r, space, func(key, value []byte) error {
		if err := c.step(); err != nil {
			return err
		}
		return check(key, value)
	})
}

// report adds a fault of the row whose key is in c.row.
func (c *indexCheck) report(what string) {
	c.found(drivers.IndexFault{Index: c.name, What: what, Key: c.row[:len(c.tb.key)]})
}

// checkEntry looks for the row of an entry.
func (c *indexCheck) checkEntry(key, _ []byte) (err error) {
	if c.arena, err = c.decode(key, c.row, c.arena[:0]); err != nil {
		c.found(drivers.IndexFault{Index: c.name, What: fmt.Sprintf("entry %x cannot be read", key)})
		return nil
	}
	if c.key, err = c.tb.rows.append(c.key[:0], c.row); err != nil {
		return err
	}
	data, err := find(c.r, c.key, c.data)
	switch {
	case err != nil:
		return err
	case data == nil:
		c.report("the index has an entry without a row")
		return nil
	}
	c.data = data
	if want, ok := c.wanted(data); ok && !bytes.Equal(want, key) {
		c.report("the index has an entry of another value")
	}
	return nil
}

// checkRow looks for the entry of a row. Rows that cannot be read are found by reading them.
func (c *indexCheck) checkRow(key, value []byte) (err error) {
	if c.arena, err = c.tb.rows.decode(key, c.row, c.arena[:0]); err != nil {
		return nil
	}
	want, ok := c.wanted(value)
	if !ok || len(want) == 0 {
		return nil
	}
	there, err := find(c.r, want, c.data)
	if there == nil && err == nil {
		c.report("the row has no entry in the index")
	}
	return err
}

// wanted returns the entry that the row with the key in c.row and this value should have.
func (c *indexCheck) wanted(value []byte) (key []byte, ok bool) {
	err := c.tb.rows.decodeRow(value, c.row[len(c.tb.key):], false)
	if err == nil {
		c.key, err = c.append(c.key[:0], c.row)
	}
	return c.key, err == nil
}
