package cassandra

import (
	"encoding/binary"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// bindValue is a bound value of a statement. It is made once for each session and
// statement; gocql asks it for its bytes and copies them into the request.
type bindValue struct {
	v   drivers.Value
	buf []byte
}

// MarshalCQL implements gocql.Marshaler. Kinds were checked before.
func (s *bindValue) MarshalCQL(gocql.TypeInfo) ([]byte, error) {
	if s.v.IsNull() {
		return nil, nil
	}
	if b := s.v.Raw(); len(b) > 0 {
		return b, nil
	}
	s.buf = appendValue(s.buf[:0], s.v)
	return s.buf, nil
}

// empty is an empty text or blob, which nil would make null.
var empty = []byte{}

// appendValue appends a value that is not null in the form of the native
// protocol.
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

// resultValue is where a column of a result goes: gocql hands it the bytes, which lie
// in the response and are shared by the value. A response is read once and never
// reused, so that a value stays as it is for as long as somebody holds it.
type resultValue struct {
	typ   schemas.Type
	v     drivers.Value
	elems *[]drivers.Value // room for the elements of the row's collections
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (c *resultValue) UnmarshalCQL(_ gocql.TypeInfo, data []byte) (err error) {
	if data == nil {
		c.v = drivers.Value{}
		return nil
	}
	if c.typ.Collection() {
		c.v, err = c.collection(data)
		return err
	}
	c.v, err = readValue(c.typ.Kind, data)
	return err
}

// collection reads a set, list or map. Cassandra has no empty ones.
func (c *resultValue) collection(data []byte) (drivers.Value, error) {
	if len(data) < 4 {
		return drivers.Value{}, fmt.Errorf("a %s of %d bytes", c.typ, len(data))
	}
	n := int(binary.BigEndian.Uint32(data))
	data = data[4:]
	if c.typ.Kind == schemas.Map {
		n *= 2
	}
	begin := len(*c.elems)
	for i := range n {
		typ := c.typ.Elem
		if c.typ.Kind == schemas.Map && i%2 == 0 {
			typ = c.typ.Key
		}
		if len(data) < 4 || int(int32(binary.BigEndian.Uint32(data))) > len(data)-4 || int32(binary.BigEndian.Uint32(data)) < 0 {
			return drivers.Value{}, fmt.Errorf("a %s ends within element %d of %d", c.typ, i+1, n)
		}
		end := 4 + int(binary.BigEndian.Uint32(data))
		e, err := readValue(typ.Kind, data[4:end])
		if err != nil {
			return drivers.Value{}, err
		}
		*c.elems = append(*c.elems, e)
		data = data[end:]
	}
	elems := (*c.elems)[begin:len(*c.elems):len(*c.elems)]
	switch c.typ.Kind {
	case schemas.Set:
		return drivers.SetOf(elems), nil
	case schemas.Map:
		return drivers.MapOf(elems), nil
	}
	return drivers.ListOf(elems), nil
}

// readValue reads a value that is no collection.
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
