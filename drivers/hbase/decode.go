package hbase

import (
	"encoding/binary"
	"errors"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// A collection is stored as a cell of its own and one cell for each element. With c
// the column's name and e the element, or a map's key:
//
//	c              → stamp           when the collection was last put or deleted
//	c, 0, e        → stamp           an element of a set
//	c, 0, e        → stamp, value    an entry of a map
//	c, 0, stamp    → value           an element of a list
//
// Elements older than the collection's own cell do not count. That is why neither an append
// nor a put that replaces the collection has to read. HBase's timestamp decides which cell is
// older; within one millisecond the stamp does. A stamp is nanoseconds of the client's clock.
// In lists the client's processTag follows it.
const elements = 0

// rowDecoder makes columns of the cells of one HBase row.
type rowDecoder struct {
	view *view
	vals []drivers.Value

	tolerant bool // a value that cannot be decoded becomes a broken one

	exists bool // the row exists
	cells  bool // the HBase row has some cell

	// The collection whose cells take is reading.
	at    *wanted
	from  int    // index of its first element in elems
	stamp uint64 // HBase's timestamp of its own cell, in ms; 0 if it has none
	since uint64 // stamp in its own cell; 0 if it has none
	elems []drivers.Value
	arena []byte
}

// begin starts a row. vals is where its columns go.
func (d *rowDecoder) begin(v *view, vals []drivers.Value) {
	d.view, d.vals = v, vals
	clear(vals)
	d.exists, d.cells, d.at = false, false, nil
	d.elems, d.arena = d.elems[:0], d.arena[:0]
}

// take takes the next cell of the row.
func (d *rowDecoder) take(c cell, stamp uint64) error {
	d.cells = true
	if string(c.qualifier) == markerName {
		d.exists = true
		return nil
	}
	for i := range d.view.want {
		w := &d.view.want[i]
		n := len(w.name)
		if len(c.qualifier) < n || string(c.qualifier[:n]) != w.name {
			continue
		}
		switch collection := w.typ.Collection(); {
		case len(c.qualifier) == n && collection:
			d.collection(w)
			d.stamp, d.since = stamp, 0
			if len(c.value) == 8 {
				d.since = binary.BigEndian.Uint64(c.value)
			}
			return nil
		case len(c.qualifier) == n:
			d.exists = d.exists || w.exists
			var err error
			d.vals[w.at], err = d.value(w.typ.Kind, c.value)
			return err
		case collection && c.qualifier[n] == elements:
			if d.at != w {
				d.collection(w)
				d.stamp, d.since = 0, 0
			}
			return d.element(c.qualifier[n+1:], c.value, stamp)
		}
	}
	return nil
}

// value decodes a value that is no collection.
func (d *rowDecoder) value(k schemas.Kind, stored []byte) (drivers.Value, error) {
	v, err := decodeValue(k, stored)
	if err != nil && d.tolerant {
		return drivers.Broken(stored), nil
	}
	return v, err
}

// collection ends the current collection and begins the next one.
func (d *rowDecoder) collection(w *wanted) {
	if at := d.at; at != nil {
		if elems := d.elems[d.from:]; len(elems) > 0 {
			switch at.typ.Kind {
			case schemas.Set:
				d.vals[at.at] = drivers.SetOf(elems)
			case schemas.List:
				d.vals[at.at] = drivers.ListOf(elems)
			default:
				d.vals[at.at] = drivers.MapOf(elems)
			}
		}
	}
	d.at, d.from = w, len(d.elems)
}

// finish ends the row.
func (d *rowDecoder) finish() {
	d.collection(nil)
	d.exists = d.exists || d.cells && !d.view.row
}

var errElement = errors.New("an element of a collection that mailbench did not write")

// element takes one element of the current collection.
func (d *rowDecoder) element(key, value []byte, stamp uint64) error {
	t := d.at.typ
	stamped := value
	if t.Kind == schemas.List {
		stamped = key
	}
	if len(stamped) < 8 && d.tolerant {
		d.elems = append(d.elems, drivers.Broken(stamped))
		if t.Kind == schemas.Map {
			d.elems = append(d.elems, drivers.Broken(value))
		}
		return nil
	}
	if len(stamped) < 8 {
		return errElement
	}
	if stamp < d.stamp || stamp == d.stamp && binary.BigEndian.Uint64(stamped) < d.since {
		return nil
	}
	if t.Kind == schemas.List {
		v, err := d.value(t.Elem.Kind, value)
		d.elems = append(d.elems, v)
		return err
	}
	v, _, arena, err := elementPart(t).decode(key, d.arena)
	d.arena = arena
	if err != nil && d.tolerant {
		v, err = drivers.Broken(key), nil
	}
	if err != nil {
		return err
	}
	d.elems = append(d.elems, v)
	if t.Kind == schemas.Map {
		v, err = d.value(t.Elem.Kind, value[8:])
		d.elems = append(d.elems, v)
	}
	return err
}

// elementPart returns how a qualifier ends with an element of a set or a key of a map.
func elementPart(t schemas.Type) keyPart {
	kind := t.Elem.Kind
	if t.Kind == schemas.Map {
		kind = t.Key.Kind
	}
	return keyPart{kind: kind, raw: kind == schemas.Text || kind == schemas.Blob}
}

// rowSink yields rows that are HBase rows.
type rowSink struct {
	*reading
	decoder rowDecoder
	key     []byte // row key of the current row; nil between rows
	static  bool   // the rows are static columns: their key is the partition key
}

func (k *rowSink) take(c cell, stamp uint64) error {
	if k.key == nil {
		k.key = c.row
		k.decoder.begin(&k.st.view, k.vals)
	}
	return k.decoder.take(c, stamp)
}

func (k *rowSink) restartRow() { k.key = nil }

func (k *rowSink) rowLimit() uint32 {
	left := k.calls.Left()
	if left < 0 || left >= maxFetch {
		return 0
	}
	return uint32(left)
}

// end yields the current row, if it exists.
func (k *rowSink) end() (err error) {
	if k.key == nil {
		return nil
	}
	key := k.key
	k.key = nil
	if len(k.st.filters) == 0 {
		k.examined(1)
	}
	if k.decoder.finish(); !k.decoder.exists {
		if k.tolerant && k.decoder.cells {
			k.skip(key)
		}
		return nil
	}
	parts := k.st.table.row
	if k.static {
		parts = k.st.table.static
	}
	if k.arena, err = decodeKey(parts, key, k.keyVals, k.arena[:0]); err != nil {
		if !k.tolerant {
			return err
		}
		breakAll(k.keyVals, key)
	}
	return k.emit()
}
