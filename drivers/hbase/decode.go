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

// rowDecoder makes columns of the cells of one HBase row. Its user sets view and vals for a read.
type rowDecoder struct {
	view *view
	vals []drivers.Value

	tolerant bool // a value that cannot be decoded becomes a broken one

	key    []byte // row key of the current row; nil between rows
	exists bool   // the row exists

	// The collection whose cells take is reading.
	at    *wanted
	from  int    // index of its first element in elems
	stamp uint64 // HBase's timestamp of its own cell, in ms; 0 if it has none
	since uint64 // stamp in its own cell; 0 if it has none
	elems []drivers.Value
	arena []byte
}

// take takes the next cell of the row.
func (d *rowDecoder) take(c cell, stamp uint64) error {
	if d.key == nil {
		clear(d.vals)
		d.key, d.exists, d.at = c.row, !d.view.row, nil
		d.elems, d.arena = d.elems[:0], d.arena[:0]
	}
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
			d.begin(w)
			d.stamp = stamp
			if len(c.value) == 8 {
				d.since = binary.BigEndian.Uint64(c.value)
			}
			return nil
		case len(c.qualifier) == n:
			d.exists = d.exists || w.exists
			var err error
			d.vals[w.at], err = decodeValue(w.typ.Kind, c.value, d.tolerant)
			return err
		case collection && c.qualifier[n] == elements:
			if d.at != w {
				d.begin(w)
			}
			return d.element(c.qualifier[n+1:], c.value, stamp)
		}
	}
	return nil
}

// begin begins the cells of a collection.
func (d *rowDecoder) begin(w *wanted) {
	d.endCollection()
	d.at, d.from, d.stamp, d.since = w, len(d.elems), 0, 0
}

// endCollection sets the column of the current collection, if there is one.
func (d *rowDecoder) endCollection() {
	at := d.at
	if at == nil || len(d.elems) == d.from {
		return
	}
	switch elems := d.elems[d.from:]; at.typ.Kind {
	case schemas.Set:
		d.vals[at.at] = drivers.SetOf(elems)
	case schemas.List:
		d.vals[at.at] = drivers.ListOf(elems)
	default:
		d.vals[at.at] = drivers.MapOf(elems)
	}
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
		v, err := decodeValue(t.Elem.Kind, value, d.tolerant)
		d.elems = append(d.elems, v)
		return err
	}
	at := len(d.elems)
	d.elems = append(d.elems, drivers.Value{})
	var err error
	d.arena, err = decodeKey(elementParts(t), key, d.elems[at:], d.arena, d.tolerant)
	if err == nil && t.Kind == schemas.Map {
		var v drivers.Value
		v, err = decodeValue(t.Elem.Kind, value[8:], d.tolerant)
		d.elems = append(d.elems, v)
	}
	return err
}

// elementParts returns how a qualifier ends with an element of a set or a key of a map.
func elementParts(t schemas.Type) []keyPart {
	kind := t.Elem.Kind
	if t.Kind == schemas.Map {
		kind = t.Key.Kind
	}
	return []keyPart{{kind: kind, raw: kind == schemas.Text || kind == schemas.Blob}}
}

// rowSink yields rows that are HBase rows, or the static columns of partitions.
type rowSink struct {
	rowDecoder
	r     *reading
	parts []keyPart // of the row keys
}

func (k *rowSink) restartRow() { k.key = nil }

// end yields the current row, if it exists.
func (k *rowSink) end() (err error) {
	key, r := k.key, k.r
	if key == nil {
		return nil
	}
	k.key = nil
	if len(r.st.filters) == 0 { // else HBase's scan metrics count them
		r.slot.cost.Cost.RowsExamined++
	}
	if !k.exists {
		if k.tolerant {
			r.skip(key)
		}
		return nil
	}
	if k.at != nil {
		k.endCollection()
	}
	if r.arena, err = decodeKey(k.parts, key, r.keyVals, r.arena[:0], k.tolerant); err != nil {
		return err
	}
	return r.emit()
}
