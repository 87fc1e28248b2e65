package drivertest

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// reference is the simplest store that keeps the contract: lists of rows, which each call searches
// from end to end. It runs the patterns of every schema, one call at a time.
type reference struct {
	rows    map[*schemas.Table][]record
	statics map[*schemas.Table][]record // by partition key
}

// record has the values of a row by column.
type record map[*schemas.Column]drivers.Value

func newReference() *reference {
	return &reference{rows: map[*schemas.Table][]record{}, statics: map[*schemas.Table][]record{}}
}

// Compare orders values of a key column. A TimeUUID sorts by its time, and then by the last
// eight bytes, each of them signed.
func Compare(a, b drivers.Value) int {
	if a.Kind() == schemas.TimeUUID {
		u, v := a.UUIDBytes(), b.UUIDBytes()
		time := func(u [16]byte) uint64 {
			return uint64(binary.BigEndian.Uint16(u[6:])&0x0fff)<<48 | uint64(binary.BigEndian.Uint16(u[4:]))<<32 |
				uint64(binary.BigEndian.Uint32(u[:]))
		}
		return cmp.Or(cmp.Compare(time(u), time(v)),
			slices.CompareFunc(u[8:], v[8:], func(x, y byte) int { return cmp.Compare(int8(x), int8(y)) }))
	}
	return a.Compare(b)
}

// has reports whether a row has these values in these columns.
func (x record) has(columns []*schemas.Column, vals []drivers.Value) bool {
	for i, c := range columns {
		if !x[c].Equal(vals[i]) {
			return false
		}
	}
	return true
}

// lists returns the rows that a pattern is about, by table: rows, or the static columns of partitions.
func (r *reference) lists(p *schemas.Pattern) map[*schemas.Table][]record {
	if p.Static {
		return r.statics
	}
	return r.rows
}

func find(rows []record, columns []*schemas.Column, vals []drivers.Value) record {
	for _, x := range rows {
		if x.has(columns, vals) {
			return x
		}
	}
	return nil
}

// read runs a read. It examines the rows in the range that the key columns of the pattern give, as far as the limit.
func (r *reference) read(p *schemas.Pattern, args []drivers.Value) (o outcome) {
	l := p.ArgLayout()
	lists := r.lists(p)
	var rows []record
	for _, x := range lists[p.Table] {
		if x.has(p.By, args) && within(x, p, args, l) {
			rows = append(rows, x)
		}
	}
	slices.SortStableFunc(rows, func(a, b record) int { return compareRows(p, a, b) })
	if p.In != nil { // in the order of the list
		var listed []record
		for _, v := range args[l.In].Elems() {
			for _, x := range rows {
				if x[p.In].Equal(v) {
					listed = append(listed, x)
				}
			}
		}
		rows = listed
	}
	limit := p.Limit
	if p.LimitArg {
		limit = int(args[l.Limit].Int64())
	}
	for _, x := range rows {
		if limit > 0 && len(o.rows) == limit {
			break
		}
		o.cost.RowsScanned++
		if vals, found := r.yielded(p, x, args, l); found {
			o.rows = append(o.rows, line(vals))
		}
	}
	return o
}

// yielded returns the values that a read yields of a row, if it yields it.
func (r *reference) yielded(p *schemas.Pattern, x record, args []drivers.Value, l schemas.ArgLayout,
) (vals []drivers.Value, found bool) {
	var partition []drivers.Value
	for _, c := range p.Table.Partition {
		partition = append(partition, x[c])
	}
	for _, c := range p.Columns {
		if c.Role == schemas.Static && !p.Static {
			vals = append(vals, find(r.statics[p.Table], p.Table.Partition, partition)[c])
		} else {
			vals = append(vals, x[c])
		}
	}
	if p.Element != nil {
		pairs := x[p.Element].Elems()
		at := 0
		for at < len(pairs) && !pairs[at].Equal(args[l.Element]) {
			at += 2
		}
		if at == len(pairs) {
			return nil, false
		}
		vals = append(vals, pairs[at+1])
	}
	return vals, x.has(p.Filter, args[l.Filter:])
}

// within reports whether a row is in the range of a read, and after the row where its page begins.
func within(x record, p *schemas.Pattern, args []drivers.Value, l schemas.ArgLayout) bool {
	beyond := func(b *schemas.Bound, at, sign int) bool {
		if b == nil || args[at].IsNull() {
			return false
		}
		c := Compare(x[b.Column], args[at]) * sign
		return c < 0 || c == 0 && b.Open
	}
	if beyond(p.From, l.From, 1) || beyond(p.To, l.To, -1) {
		return false
	}
	if len(p.After) == 0 || args[l.After].IsNull() {
		return true
	}
	after := maps.Clone(x)
	for i, c := range p.After {
		after[c] = args[l.After+i]
	}
	return compareRows(p, x, after) > 0
}

// compareRows orders two rows as a read does: by the columns of its index, and by the key.
func compareRows(p *schemas.Pattern, a, b record) int {
	var columns []schemas.IndexColumn
	if p.Index != nil {
		columns = slices.Clone(p.Index.Columns)
	}
	for _, c := range p.Table.Key() {
		columns = append(columns, schemas.IndexColumn{Column: c, Desc: c.Desc})
	}
	for _, c := range columns {
		if d := Compare(a[c.Column], b[c.Column]); d != 0 {
			if c.Desc != p.Reverse {
				return -d
			}
			return d
		}
	}
	return 0
}

// write makes a write whose condition holds, and returns the row that an add returns.
func (r *reference) write(p *schemas.Pattern, args []drivers.Value) (returned []drivers.Value) {
	lists := r.lists(p)
	if p.Kind == schemas.Delete {
		gone := func(x record) bool { return x.has(p.By, args) }
		r.rows[p.Table] = slices.DeleteFunc(r.rows[p.Table], gone)
		if p.Scope == schemas.ScopePartition {
			r.statics[p.Table] = slices.DeleteFunc(r.statics[p.Table], gone)
		}
		return nil
	}
	x := r.written(p, args)
	if at := slices.IndexFunc(lists[p.Table], func(x record) bool { return x.has(p.By, args) }); at >= 0 {
		lists[p.Table][at] = x
	} else if p.Kind != schemas.Remove {
		lists[p.Table] = append(lists[p.Table], x)
	}
	for _, c := range p.Columns {
		returned = append(returned, x[c])
	}
	return returned
}

// written returns the row that a write leaves.
func (r *reference) written(p *schemas.Pattern, args []drivers.Value) record {
	lists := r.lists(p)
	x := maps.Clone(find(lists[p.Table], p.By, args))
	if x == nil {
		x = record{}
		for i, c := range p.By {
			x[c] = args[i].Clone()
		}
	}
	for i, v := range args[p.ArgLayout().Columns:][:len(p.Columns)] {
		c := p.Columns[i]
		switch p.Kind {
		case schemas.Add:
			v = drivers.Number(c.Type.Kind, x[c].Int64()+v.Int64())
		case schemas.Append:
			v = drivers.ListOf(slices.Concat(x[c].Elems(), v.Elems()))
		case schemas.Remove:
			v = drivers.ListOf(slices.DeleteFunc(slices.Clone(x[c].Elems()), func(e drivers.Value) bool {
				return slices.ContainsFunc(v.Elems(), e.Equal)
			}))
		}
		x[c] = v.Clone()
	}
	return x
}
