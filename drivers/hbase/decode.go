package hbase

import (
	"encoding/binary"
	"errors"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
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

// decoder makes columns of the cells of one HBase row.
type decoder struct {
	tolerant bool // a value that cannot be decoded becomes a broken one

	// The collection whose cells decode is reading.
	at    *wanted
	from  int    // index of its first element in elems
	stamp uint64 // HBase's timestamp of its own cell, in ms; 0 if it has none
	since uint64 // stamp in its own cell; 0 if it has none
	elems []drivers.Value
	arena []byte
}

// decode sets vals to the columns of a row. exists is false if none of its cells makes it exist.
func (d *decoder) decode(view *view, cells []rpc.Cell, vals []drivers.Value) (exists bool, err error) {
	clear(vals)
	exists, d.at, d.elems, d.arena = !view.row, nil, d.elems[:0], d.arena[:0]
	for i := range cells {
		c := &cells[i]
		if string(c.Qualifier) == markerName {
			exists = true
			continue
		}
		w, element := view.column(c.Qualifier)
		switch {
		case w == nil:
		case !w.typ.Collection():
			exists = exists || w.exists
			vals[w.at], err = decodeValue(w.typ.Kind, c.Value, d.tolerant)
		default:
			if d.at != w {
				d.endCollection(vals)
				d.at, d.from, d.stamp, d.since = w, len(d.elems), 0, 0
			}
			if element != nil {
				err = d.element(element, c.Value, c.Stamp)
			} else if d.stamp = c.Stamp; len(c.Value) == 8 {
				d.since = binary.BigEndian.Uint64(c.Value)
			}
		}
		if err != nil {
			return false, err
		}
	}
	d.endCollection(vals)
	return exists, nil
}

// column returns the column of a cell, or nil if it is not wanted. element is what the qualifier says of an element of
// a collection, or nil.
func (v *view) column(qualifier []byte) (w *wanted, element []byte) {
	for i := range v.want {
		w := &v.want[i]
		n := len(w.name)
		switch {
		case len(qualifier) < n || string(qualifier[:n]) != w.name:
		case len(qualifier) == n:
			return w, nil
		case w.typ.Collection() && qualifier[n] == elements:
			return w, qualifier[n+1:]
		}
	}
	return nil, nil
}

// endCollection sets the column of the current collection, if there is one with elements.
func (d *decoder) endCollection(vals []drivers.Value) {
	if d.at != nil && len(d.elems) > d.from {
		vals[d.at.at] = drivers.Collection(d.at.typ.Kind, d.elems[d.from:])
	}
}

var errElement = errors.New("an element of a collection that mailbench did not write")

// element takes one element of the current collection.
func (d *decoder) element(key, value []byte, stamp uint64) error {
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
	d.arena, err = elementParts(t).decode(key, d.elems[at:], d.arena, d.tolerant)
	if err == nil && t.Kind == schemas.Map {
		var v drivers.Value
		v, err = decodeValue(t.Elem.Kind, value[8:], d.tolerant)
		d.elems = append(d.elems, v)
	}
	return err
}

// elementParts returns how a qualifier ends with an element of a set or a key of a map.
func elementParts(t schemas.Type) keyParts {
	kind := t.Elem.Kind
	if t.Kind == schemas.Map {
		kind = t.Key.Kind
	}
	return keyParts{{kind: kind, raw: kind == schemas.Text || kind == schemas.Blob}}
}
