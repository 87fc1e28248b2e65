package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// Values are written as HBase's own class Bytes does: numbers in 4 or 8 big-endian bytes, true
// as -1 and false as 0 in one byte, UUIDs in 16 bytes, text and blobs as they are.
//
// In conditions HBase takes an empty value for an absent one, so no stored value is empty. An
// empty text or blob is the five bytes of escapeEmpty. A null is escapeNull, where a cell is a
// row and must exist. A blob that happens to begin with escape gets escapeValue before it. A
// text cannot begin with escape, since 0xFF never occurs in UTF-8.
const (
	escape      = "\xff\x00mb"
	escapeEmpty = escape + "e"
	escapeNull  = escape + "n"
	escapeValue = escape + "v"
	// escapeNever is a value that no cell has. A cell compared with it is either absent or
	// different.
	escapeNever = escape + "x"
)

var errValue = errors.New("a value that mailbench did not write")

// appendValue appends a value that is no collection.
func appendValue(dst []byte, v drivers.Value) []byte {
	switch v.Kind() {
	case schemas.Null:
		return append(dst, escapeNull...)
	case schemas.Text, schemas.Blob:
		b := v.Raw()
		if len(b) == 0 {
			return append(dst, escapeEmpty...)
		}
		if escaped(b) {
			dst = append(dst, escapeValue...)
		}
		return append(dst, b...)
	case schemas.Int:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int64()))
	case schemas.Boolean:
		return append(dst, byte(-v.Int64()))
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return append(dst, u[:]...)
	default:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
	}
}

// encodeValue is appendValue to nothing. It shares the bytes of a text or blob if it can.
func encodeValue(v drivers.Value) []byte {
	if b := v.Raw(); len(b) > 0 && !escaped(b) {
		return b
	}
	return appendValue(nil, v)
}

func escaped(b []byte) bool { return len(b) >= len(escape) && string(b[:len(escape)]) == escape }

// decodeValue undoes appendValue. The value shares src's bytes. If decodeValue is tolerant, a value that mailbench did
// not write is a broken one.
func decodeValue(kind schemas.Kind, src []byte, tolerant bool) (drivers.Value, error) {
	text := kind == schemas.Text || kind == schemas.Blob
	rest, isEscaped := bytes.CutPrefix(src, []byte(escape))
	switch {
	case isEscaped && string(rest) == "n":
		return drivers.Value{}, nil
	case isEscaped && text && string(rest) == "e":
		return drivers.Bytes(kind, rest[:0]), nil
	case isEscaped && text && bytes.HasPrefix(rest, []byte("v")):
		return drivers.Bytes(kind, rest[1:]), nil
	case text && len(src) > 0 && !isEscaped:
		return drivers.Bytes(kind, src), nil
	case text:
	case kind == schemas.Int && len(src) == 4:
		return drivers.Int(int32(binary.BigEndian.Uint32(src))), nil
	case kind == schemas.Boolean && len(src) == 1:
		return drivers.Boolean(src[0] != 0), nil
	case (kind == schemas.UUID || kind == schemas.TimeUUID) && len(src) == 16:
		return drivers.ID(kind, [16]byte(src)), nil
	case kind == schemas.Int, kind == schemas.Boolean, kind == schemas.UUID, kind == schemas.TimeUUID:
	case len(src) == 8:
		return drivers.Number(kind, int64(binary.BigEndian.Uint64(src))), nil
	}
	if tolerant {
		return drivers.Broken(src), nil
	}
	return drivers.Value{}, fmt.Errorf("%w: %d bytes for a %s", errValue, len(src), kind)
}

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

var beforeElement = []byte{elements}

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
		name, element, isElement := bytes.Cut(c.Qualifier, beforeElement)
		w := view.byName[string(name)]
		switch {
		case w == nil || isElement && !w.typ.Collection():
		case !w.typ.Collection():
			exists = exists || w.exists
			vals[w.at], err = decodeValue(w.typ.Kind, c.Value, d.tolerant)
		default:
			if d.at != w {
				d.at, d.from, d.stamp, d.since = w, len(d.elems), 0, 0
			}
			if isElement {
				err = d.element(element, c.Value, c.Stamp)
				if len(d.elems) > d.from {
					vals[w.at] = drivers.Collection(w.typ.Kind, d.elems[d.from:])
				}
			} else if d.stamp = c.Stamp; len(c.Value) == 8 {
				d.since = binary.BigEndian.Uint64(c.Value)
			}
		}
		if err != nil {
			return false, err
		}
	}
	return exists, nil
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
	d.arena, err = elementParts(t).Decode(key, d.elems[at:], d.arena, d.tolerant)
	if err == nil && t.Kind == schemas.Map {
		var v drivers.Value
		v, err = decodeValue(t.Elem.Kind, value[8:], d.tolerant)
		d.elems = append(d.elems, v)
	}
	return err
}

// elementParts returns how a qualifier ends with an element of a set or a key of a map.
func elementParts(t schemas.Type) keys.Columns {
	kind := t.Elem.Kind
	if t.Kind == schemas.Map {
		kind = t.Key.Kind
	}
	return keys.Columns{{Kind: kind, Raw: kind == schemas.Text || kind == schemas.Blob}}
}
