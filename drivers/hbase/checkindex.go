package hbase

import (
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.IndexChecker = (*Store)(nil)

// CheckIndexes implements drivers.IndexChecker. It has no snapshot, so the rows must not change meanwhile. An
// entry without its row is stale: reads pass over it.
func (s *Store) CheckIndexes(
	ctx context.Context, t *schemas.Table, step func() error, found func(drivers.IndexFault),
) error {
	return s.during("check the indexes of table "+t.Name, func() error {
		_, tb, err := s.compiler.tables.Find(schemas.ScanOf(t))
		if err != nil {
			return err
		}
		scan, look := newSession(s.cluster, s.compiler), newSession(s.cluster, s.compiler)
		defer scan.Close()
		defer look.Close()
		scan.Tolerate(true)
		look.Tolerate(true)
		for i := range tb.indexes {
			c := indexCheck{
				ctx: ctx, t: tb, x: &tb.indexes[i], scan: &scan.reading, look: &look.reading, step: step, found: found,
			}
			if err = c.entries(); err == nil {
				err = c.rows()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// indexCheck compares one index with the rows of its table, some hundred at a time.
type indexCheck struct {
	ctx        context.Context
	t          *table
	x          *index
	scan, look *reading
	step       func() error
	found      func(drivers.IndexFault)
}

// tell tells of a row.
func (c *indexCheck) tell(what string, key []drivers.Value, stale bool) {
	c.found(drivers.IndexFault{Index: c.x.schema.Name, What: what, Key: key, Stale: stale})
}

// each scans a table and has do take what it yields, some hundred rows of so many columns at a time.
func (c *indexCheck) each(t *table, columns []*schemas.Column, do func(all []drivers.Value) error) error {
	st := &statement{table: t, Plan: plan.Of(&schemas.Pattern{
		Name: "check of " + c.x.schema.Name, Kind: schemas.Scan, Table: t.schema, Columns: columns,
	})}
	if err := st.compile(); err != nil {
		return err
	}
	var all []drivers.Value
	err := c.scan.read(c.ctx, st, nil, func(row []drivers.Value) error {
		if err := c.step(); err != nil {
			return err
		}
		if at := slices.IndexFunc(row, drivers.Value.Broken); at >= 0 {
			if t == c.x.entries {
				c.tell("an entry cannot be read", nil, false)
			}
			return nil // a row that cannot be read is found by reading it
		}
		for i := range row {
			all = append(all, row[i].Clone())
		}
		if len(all) < maxTogether*len(columns) {
			return nil
		}
		err := do(all)
		all = all[:0]
		return err
	})
	if err == nil && len(all) > 0 {
		err = do(all)
	}
	return err
}

// entries looks for the row of each entry.
func (c *indexCheck) entries() error {
	width, key := len(c.x.from), len(c.t.key)
	return c.each(c.x.entries, c.x.entries.key, func(all []drivers.Value) error {
		n := len(all) / width
		keys, there := make([]drivers.Value, n*key), make([]bool, n)
		for i := range n {
			for at, of := range c.x.from {
				if of < key {
					keys[i*key+of] = all[i*width+at]
				}
			}
		}
		row := make([]drivers.Value, key+len(c.t.columns))
		err := c.look.fetch(c.ctx, c.t.old, keys, func(i int, vals []drivers.Value) error {
			there[i] = true
			copy(row, keys[i*key:(i+1)*key])
			c.t.spread(row[key:], vals)
			if !slices.EqualFunc(c.x.values(row), all[i*width:(i+1)*width], drivers.Value.Equal) {
				c.tell("the index has an entry of another value", row[:key], true)
			}
			return nil
		})
		for i := range n {
			if err == nil && !there[i] {
				c.tell("the index has an entry, and there is no row", keys[i*key:(i+1)*key], true)
			}
		}
		return err
	})
}

// rows looks for the entry of each row.
func (c *indexCheck) rows() error {
	columns := slices.Concat(c.t.key, c.t.indexed())
	return c.each(c.t, columns, func(all []drivers.Value) error {
		m, key := &c.look.multi, len(c.t.key)
		var keys []drivers.Value
		m.begin()
		for vals := range slices.Chunk(all, len(columns)) {
			row := make([]drivers.Value, key+len(c.t.columns))
			c.t.spread(row, vals)
			e, err := c.x.edit(c.x.put, row)
			if err != nil {
				return err
			}
			if e.ops == nil { // a column of the index is null
				continue
			}
			keys = append(keys, row[:key]...)
			get, o := m.next(), &e.ops[0]
			get.begin("Get", e.table, e.row)
			get.asGet(e.row, []*pb.Column{{Family: []byte(o.family), Qualifier: [][]byte{e.qualifier(o)}}}, nil, 0)
		}
		n := m.n
		if _, err := m.send(c.ctx, c.look.cluster, c.look.slot); err != nil {
			return err
		}
		for i, get := range m.calls[:n] {
			there := false
			if err := get.eachCell(func(cell, uint64) error { there = true; return nil }); err != nil {
				return err
			}
			if !there {
				c.tell("the row has no entry in the index", keys[i*key:(i+1)*key], false)
			}
		}
		return nil
	})
}
