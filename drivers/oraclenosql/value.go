package oraclenosql

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// field is a column as SQL and rows have it.
type field struct {
	name string
	typ  schemas.Type
	key  bool // part of the primary key, whose text and blobs are stored so that they sort
}

func fieldOf(c *schemas.Column) field { return field{identifier(c.Name), c.Type, inKey(c)} }

var errNotUTF8 = errors.New("it is no valid UTF-8, which Oracle's strings need")

// valid checks a text before it is sent: the server would replace what is no UTF-8.
func valid(v drivers.Value) error {
	if v.Kind() == schemas.Text && !utf8.Valid(v.Raw()) {
		return errNotUTF8
	}
	for _, e := range v.Elems() {
		if err := valid(e); err != nil {
			return err
		}
	}
	return nil
}

// encode returns a value as the SDK takes it. It shares the value's bytes.
func (f field) encode(v drivers.Value) any {
	if f.key && !v.IsNull() {
		switch f.typ.Kind {
		case schemas.Text:
			if b := v.Raw(); escaped(b) {
				return keyText(b)
			}
		case schemas.Blob:
			return hex.EncodeToString(v.Raw())
		case schemas.TimeUUID:
			return timeKey(v.UUIDBytes())
		case schemas.Boolean:
			return int(v.Int64())
		}
	}
	return encode(f.typ, v)
}

func encode(t schemas.Type, v drivers.Value) any {
	if v.IsNull() {
		return types.NullValueInstance
	}
	switch t.Kind {
	case schemas.Text:
		b := v.Raw()
		return unsafe.String(unsafe.SliceData(b), len(b))
	case schemas.Blob:
		if b := v.Raw(); b != nil {
			return b
		}
		return []byte{}
	case schemas.Int:
		return int(v.Int64())
	case schemas.Boolean:
		return v.Bool()
	case schemas.UUID, schemas.TimeUUID:
		return string(drivers.AppendUUID(nil, v.UUIDBytes()))
	case schemas.Timestamp:
		return v.Time()
	case schemas.List:
		return encodeAll(*t.Elem, v.Elems())
	case schemas.Set:
		return encodeAll(*t.Elem, distinct(v.Elems()))
	case schemas.Map:
		pairs := v.Elems()
		m := make(map[string]any, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			m[mapKey(*t.Key, pairs[i])] = encode(*t.Elem, pairs[i+1])
		}
		return types.NewMapValue(m)
	}
	return v.Int64()
}

func encodeAll(t schemas.Type, elems []drivers.Value) []types.FieldValue {
	all := make([]types.FieldValue, len(elems))
	for i, e := range elems {
		all[i] = encode(t, e)
	}
	return all
}

// distinct returns the elements of a set in order, each once.
func distinct(elems []drivers.Value) []drivers.Value {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(elems), drivers.Value.Compare), drivers.Value.Equal)
}

// mapKey returns the key of a map's element, which Oracle has as a string.
func mapKey(t schemas.Type, v drivers.Value) string {
	switch t.Kind {
	case schemas.Text:
		return string(v.Raw())
	case schemas.Blob:
		return hex.EncodeToString(v.Raw())
	case schemas.UUID, schemas.TimeUUID:
		return string(drivers.AppendUUID(nil, v.UUIDBytes()))
	}
	return strconv.FormatInt(v.Int64(), 10)
}

func keyOfMap(t schemas.Type, s string) (drivers.Value, error) {
	switch t.Kind {
	case schemas.Text:
		return drivers.Text(s), nil
	case schemas.Blob:
		b, err := hex.DecodeString(s)
		return drivers.Blob(b), err
	case schemas.UUID, schemas.TimeUUID:
		u, err := drivers.ParseUUID(s)
		return drivers.ID(t.Kind, u), err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return drivers.Number(t.Kind, n), err
}

// decode returns the value of a field that was read.
func (f field) decode(x any) (drivers.Value, error) {
	if n, ok := x.(int); ok && f.key && f.typ.Kind == schemas.Boolean {
		return drivers.Boolean(n != 0), nil
	}
	if s, ok := x.(string); ok && f.key {
		switch f.typ.Kind {
		case schemas.Text:
			text, err := textOfKey(s)
			return drivers.Text(text), err
		case schemas.Blob:
			b, err := hex.DecodeString(s)
			return drivers.Blob(b), err
		case schemas.TimeUUID:
			return timeOfKey(s)
		}
	}
	return decode(f.typ, x)
}

func decode(t schemas.Type, x any) (drivers.Value, error) {
	switch x := x.(type) {
	case nil, *types.NullValue, *types.JSONNullValue, *types.EmptyValue:
		return drivers.Value{}, nil
	case string:
		switch t.Kind {
		case schemas.Text:
			return drivers.Text(x), nil
		case schemas.UUID, schemas.TimeUUID:
			u, err := drivers.ParseUUID(x)
			return drivers.ID(t.Kind, u), err
		}
	case []byte:
		if t.Kind == schemas.Blob {
			return drivers.Blob(x), nil
		}
	case bool:
		if t.Kind == schemas.Boolean {
			return drivers.Boolean(x), nil
		}
	case int:
		return number(t, int64(x))
	case int64:
		return number(t, x)
	case time.Time:
		if t.Kind == schemas.Timestamp {
			return drivers.Timestamp(x.UnixMicro()), nil
		}
	case []types.FieldValue:
		return decodeList(t, x)
	case *types.MapValue:
		if t.Kind == schemas.Map {
			return decodeMap(t, x)
		}
	}
	return drivers.Value{}, fmt.Errorf("a %T was read, which is no %s", x, t)
}

func number(t schemas.Type, n int64) (drivers.Value, error) {
	switch t.Kind {
	case schemas.Int, schemas.Bigint, schemas.Counter:
		return drivers.Number(t.Kind, n), nil
	}
	return drivers.Value{}, fmt.Errorf("the number %d was read, which is no %s", n, t)
}

func decodeList(t schemas.Type, all []types.FieldValue) (drivers.Value, error) {
	if t.Kind != schemas.List && t.Kind != schemas.Set {
		return drivers.Value{}, fmt.Errorf("an array was read, which is no %s", t)
	}
	elems := make([]drivers.Value, len(all))
	for i, x := range all {
		var err error
		if elems[i], err = decode(*t.Elem, x); err != nil {
			return drivers.Value{}, fmt.Errorf("element %d: %w", i, err)
		}
	}
	if t.Kind == schemas.Set {
		elems = distinct(elems)
	}
	return drivers.Collection(t.Kind, elems), nil
}

// decodeMap returns a map with its keys in order.
func decodeMap(t schemas.Type, m *types.MapValue) (drivers.Value, error) {
	names := make([]string, 0, m.Len())
	for name := range m.Map() {
		names = append(names, name)
	}
	slices.Sort(names)
	pairs := make([]drivers.Value, 0, 2*len(names))
	for _, name := range names {
		k, err := keyOfMap(*t.Key, name)
		if err != nil {
			return drivers.Value{}, fmt.Errorf("key %q: %w", name, err)
		}
		v, err := decode(*t.Elem, m.Map()[name])
		if err != nil {
			return drivers.Value{}, fmt.Errorf("element %q: %w", name, err)
		}
		pairs = append(pairs, k, v)
	}
	return drivers.MapOf(pairs), nil
}
