package cassandra

import (
	"encoding/binary"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// bindValue is the value of one bind marker. gocql copies its bytes into the request.
type bindValue struct{ v drivers.Value }

// MarshalCQL implements gocql.Marshaler. The value's kind was checked before.
func (s *bindValue) MarshalCQL(gocql.TypeInfo) ([]byte, error) {
	if s.v.IsNull() {
		return nil, nil
	}
	if b := s.v.Raw(); len(b) > 0 {
		return b, nil
	}
	return appendValue(nil, s.v), nil
}

// empty is an empty text or blob. A nil slice would mean null.
var empty = []byte{}

// appendValue appends a value in the native protocol's encoding. It must not be
// null.
func appendValue(dst []byte, v drivers.Value) []byte {
	if dst == nil {
		dst = empty
	}
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return append(dst, v.Raw()...)
	case schemas.Int:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int64()))
	case schemas.Boolean:
		return append(dst, byte(v.Int64()))
	case schemas.UUID, schemas.TimeUUID:
		id := v.UUIDBytes()
		return append(dst, id[:]...)
	case schemas.Set, schemas.List, schemas.Map:
		n := len(v.Elems())
		if v.Kind() == schemas.Map {
			n /= 2
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		for _, e := range v.Elems() {
			at := len(dst)
			dst = appendValue(append(dst, 0, 0, 0, 0), e)
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
}

// resultValue receives a column of a result. Its value shares the bytes of the
// response, which gocql never reuses. So the value stays valid as long as somebody
// holds it.
type resultValue struct {
	typ schemas.Type
	v   drivers.Value
	// tolerant is that of the session. If true, a value that cannot be decoded becomes a broken one.
	tolerant *bool
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (c *resultValue) UnmarshalCQL(_ gocql.TypeInfo, data []byte) (err error) {
	if data == nil {
		c.v = drivers.Value{}
		return nil
	}
	if c.typ.Collection() {
		c.v, err = c.collection(data)
	} else {
		c.v, err = readTyped(c.typ, data)
	}
	if err != nil && *c.tolerant {
		c.v, err = drivers.Broken(data), nil
	}
	return err
}

// collection decodes a set, list or map. Cassandra stores no empty ones.
func (c *resultValue) collection(data []byte) (drivers.Value, error) {
	m := metadata{rest: data}
	n := m.number(4)
	if m.short || n < 0 {
		return drivers.Value{}, fmt.Errorf("a %s of %d bytes", c.typ, len(data))
	}
	if c.typ.Kind == schemas.Map {
		n *= 2
	}
	var elems []drivers.Value
	for i := range n {
		typ := c.typ.Elem
		if c.typ.Kind == schemas.Map && i%2 == 0 {
			typ = c.typ.Key
		}
		size := m.number(4)
		if m.short || size < 0 || size > len(m.rest) {
			return drivers.Value{}, fmt.Errorf("a %s ends within element %d of %d", c.typ, i+1, n)
		}
		e, err := readTyped(*typ, m.rest[:size])
		if err != nil {
			return drivers.Value{}, err
		}
		elems = append(elems, e)
		m.skip(size)
	}
	return drivers.Collection(c.typ.Kind, elems), nil
}

// readTyped decodes a value that is not a collection. Of a type that only CQL has it returns the bytes,
// unless they are those of the kind that the type is taken for.
func readTyped(t schemas.Type, data []byte) (drivers.Value, error) {
	if t.Foreign == "" {
		return readValue(t.Kind, data)
	}
	if t.Kind != schemas.Null {
		if v, err := readValue(t.Kind, data); err == nil {
			return v, nil
		}
	}
	return drivers.Bytes(schemas.Blob, data), nil
}

// readValue decodes a value that is not a collection.
func readValue(k schemas.Kind, data []byte) (drivers.Value, error) {
	switch k {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(k, data), nil
	case schemas.Int:
		if len(data) == 4 {
			return drivers.Int(int32(binary.BigEndian.Uint32(data))), nil
		}
	case schemas.Boolean:
		if len(data) == 1 {
			return drivers.Boolean(data[0] != 0), nil
		}
	case schemas.UUID, schemas.TimeUUID:
		if len(data) == 16 {
			return drivers.ID(k, [16]byte(data)), nil
		}
	default:
		if len(data) == 8 {
			return drivers.Number(k, int64(binary.BigEndian.Uint64(data))), nil
		}
	}
	return drivers.Value{}, fmt.Errorf("a %s of %d bytes", k, len(data))
}
