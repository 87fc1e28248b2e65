package oraclenosql

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
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
	switch b, k := v.Raw(), f.typ.Kind; {
	case v.IsNull():
		return types.NullValueInstance
	case f.key && k == schemas.Text && slices.ContainsFunc(b, mayEscape):
		return keyText(b)
	case k == schemas.Text:
		return unsafe.String(unsafe.SliceData(b), len(b))
	case f.key && k == schemas.Blob:
		return hex.EncodeToString(b)
	case k == schemas.Blob && b == nil:
		return []byte{}
	case k == schemas.Blob:
		return b
	case k == schemas.Boolean && !f.key:
		return v.Bool()
	case k == schemas.Int || k == schemas.Boolean:
		return int(v.Int64())
	case f.key && k == schemas.TimeUUID:
		return timeKey(v.UUIDBytes())
	case k == schemas.UUID || k == schemas.TimeUUID:
		return string(drivers.AppendUUID(nil, v.UUIDBytes()))
	case k == schemas.Timestamp:
		return v.Time()
	case k == schemas.List:
		return field{typ: *f.typ.Elem}.encodeAll(v.Elems())
	case k == schemas.Set:
		return field{typ: *f.typ.Elem}.encodeAll(distinct(v.Elems()))
	case k == schemas.Map:
		pairs := v.Elems()
		m := make(map[string]any, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			m[mapKey(*f.typ.Key, pairs[i])] = field{typ: *f.typ.Elem}.encode(pairs[i+1])
		}
		return types.NewMapValue(m)
	}
	return v.Int64()
}

func (f field) encodeAll(elems []drivers.Value) []types.FieldValue {
	all := make([]types.FieldValue, len(elems))
	for i, e := range elems {
		all[i] = f.encode(e)
	}
	return all
}

// distinct returns elements in the order of their values, each once.
func distinct(elems []drivers.Value) []drivers.Value {
	return slices.CompactFunc(slices.SortedFunc(slices.Values(elems), drivers.Value.Compare), drivers.Value.Equal)
}

// mapKey returns the key of a map's element, which Oracle has as a string.
func mapKey(t schemas.Type, v drivers.Value) string {
	switch t.Kind {
	case schemas.Blob:
		return hex.EncodeToString(v.Raw())
	case schemas.Boolean:
		return strconv.FormatInt(v.Int64(), 10)
	}
	return string(v.AppendText(nil))
}

func keyOfMap(t schemas.Type, s string) (drivers.Value, error) {
	if t.Kind == schemas.Blob {
		b, err := hex.DecodeString(s)
		return drivers.Blob(b), err
	}
	return drivers.ParseText(t.Kind, s)
}

// decode returns the value of a field that was read.
func (f field) decode(x any) (drivers.Value, error) {
	k := f.typ.Kind
	switch x := x.(type) {
	case nil, *types.NullValue, *types.JSONNullValue, *types.EmptyValue:
		return drivers.Value{}, nil
	case string:
		switch {
		case f.key && k == schemas.Text:
			text, err := textOfKey(x)
			return drivers.Text(text), err
		case f.key && k == schemas.Blob:
			b, err := hex.DecodeString(x)
			return drivers.Blob(b), err
		case f.key && k == schemas.TimeUUID:
			return timeOfKey(x)
		case k == schemas.Text:
			return drivers.Text(x), nil
		case k == schemas.UUID || k == schemas.TimeUUID:
			u, err := drivers.ParseUUID(x)
			return drivers.ID(k, u), err
		}
	case []byte:
		if k == schemas.Blob {
			return drivers.Blob(x), nil
		}
	case bool:
		if k == schemas.Boolean {
			return drivers.Boolean(x), nil
		}
	case int:
		return f.decode(int64(x))
	case int64:
		switch {
		case f.key && k == schemas.Boolean:
			return drivers.Boolean(x != 0), nil
		case k == schemas.Int || k == schemas.Bigint || k == schemas.Counter:
			return drivers.Number(k, x), nil
		}
		return drivers.Value{}, fmt.Errorf("the number %d was read, which is no %s", x, f.typ)
	case time.Time:
		if k == schemas.Timestamp {
			return drivers.Timestamp(x.UnixMicro()), nil
		}
	case []types.FieldValue:
		return decodeList(f.typ, x)
	case *types.MapValue:
		if k == schemas.Map {
			return decodeMap(f.typ, x)
		}
	}
	return drivers.Value{}, fmt.Errorf("a %T was read, which is no %s", x, f.typ)
}

func decodeList(t schemas.Type, all []types.FieldValue) (drivers.Value, error) {
	if t.Kind != schemas.List && t.Kind != schemas.Set {
		return drivers.Value{}, fmt.Errorf("an array was read, which is no %s", t)
	}
	elems, elem := make([]drivers.Value, len(all)), field{typ: *t.Elem}
	for i, x := range all {
		var err error
		if elems[i], err = elem.decode(x); err != nil {
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
	pairs := make([]drivers.Value, 0, 2*m.Len())
	for _, name := range slices.Sorted(maps.Keys(m.Map())) {
		k, err := keyOfMap(*t.Key, name)
		if err != nil {
			return drivers.Value{}, fmt.Errorf("key %q: %w", name, err)
		}
		v, err := field{typ: *t.Elem}.decode(m.Map()[name])
		if err != nil {
			return drivers.Value{}, fmt.Errorf("element %q: %w", name, err)
		}
		pairs = append(pairs, k, v)
	}
	return drivers.MapOf(pairs), nil
}

// inKey reports whether a column is part of the primary key.
func inKey(c *schemas.Column) bool {
	return c.Role == schemas.Partition || c.Role == schemas.Clustering
}

// columnType returns the type of a column, and a note on what that type does not say of
// the schema's type, or "".
func (f field) columnType() (typ, note string) {
	switch k := f.typ.Kind; {
	case f.key && k == schemas.Blob:
		return "STRING", "has hexadecimal digits, which sort like the bytes: a key cannot be BINARY"
	case f.key && k == schemas.Boolean:
		return "INTEGER", "is 0 or 1: Oracle cannot read a range of BOOLEAN keys"
	case f.key && k == schemas.TimeUUID:
		return "STRING", "has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time"
	case k == schemas.UUID || k == schemas.TimeUUID:
		return "STRING AS UUID", ""
	case k == schemas.Counter:
		note = "is a counter: UPDATE … SET adds to it, and reads the row to do so"
	case k == schemas.Set:
		note = "is a set: Oracle has arrays, which the client keeps sorted, without duplicates"
	case k == schemas.Map && f.typ.Key.Kind != schemas.Text:
		note = fmt.Sprintf("has keys of type %s, which are written as text: the keys of a map are strings", f.typ.Key)
	}
	return typeOf(f.typ), note
}

// typeOf returns the type of a value, also of one within a collection.
func typeOf(t schemas.Type) string {
	switch t.Kind {
	case schemas.Text, schemas.UUID, schemas.TimeUUID:
		return "STRING"
	case schemas.Blob:
		return "BINARY"
	case schemas.Int:
		return "INTEGER"
	case schemas.Bigint, schemas.Counter:
		return "LONG"
	case schemas.Boolean:
		return "BOOLEAN"
	case schemas.Timestamp:
		return "TIMESTAMP(6)" // microseconds
	case schemas.Set, schemas.List:
		return "ARRAY(" + typeOf(*t.Elem) + ")"
	case schemas.Map:
		return "MAP(" + typeOf(*t.Elem) + ")"
	}
	panic(fmt.Sprintf("type %s has no type of Oracle", t)) // no schema file has it
}

// notIndexable reports whether no index may be over a column.
func notIndexable(c schemas.IndexColumn) bool {
	return c.Column.Type.Collection() || c.Column.Type.Kind == schemas.Blob && !inKey(c.Column)
}

// reserved lists the words of the grammar that cannot be names: its rule id leaves them
// out.
var reserved = []string{
	"cascade", "force", "join", "left", "maxvalue", "minvalue", "only", "outer", "uuid", "null", "false", "true",
}

// identifier returns a name as SQL takes it: letters, digits and underscores, and no
// reserved word. Names of the schema language are short enough for Oracle, which takes
// 64 characters, and begin with a letter.
func identifier(name string) string {
	id := plan.Identifier(name)
	if slices.Contains(reserved, strings.ToLower(id)) {
		id += "_"
	}
	return id
}

// Oracle sorts strings by Java's modified UTF-8: U+0000 comes after U+007F, and
// characters above U+FFFF come before U+E000. The schema language sorts text by its
// bytes. Keys with such characters are escaped, so that they sort by their bytes; all
// other text is stored as it is. U+0000 and U+0001 follow a U+0001; U+FFFF and the
// characters above it follow a U+FFFF.
const (
	lowEscape  = '\x01'
	highEscape = '\uffff'
)

// mayEscape reports whether a character with such a byte may need an escape: U+FFFF begins with 0xef.
func mayEscape(b byte) bool { return b <= lowEscape || b >= 0xef }

// keyText returns a text as a key holds it.
func keyText(b []byte) string {
	var s strings.Builder
	for _, r := range string(b) {
		switch {
		case r <= lowEscape:
			s.WriteRune(lowEscape)
			r++
		case r >= highEscape:
			s.WriteRune(highEscape)
		}
		if r == highEscape {
			r = lowEscape
		}
		s.WriteRune(r)
	}
	return s.String()
}

var unescape = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01", "\uffff\x01", "\uffff", "\uffff", "")

// textOfKey is the reverse of keyText.
func textOfKey(s string) (string, error) {
	if !strings.ContainsAny(s, string([]rune{lowEscape, highEscape})) {
		return s, nil
	}
	text := unescape.Replace(s)
	if keyText([]byte(text)) != s {
		return "", fmt.Errorf("key %q has an escape that mailbench does not write", s)
	}
	return text, nil
}

// timeKey returns a timeuuid as a key holds it: the hexadecimal digits of the bytes that package keys sorts it by.
func timeKey(u [16]byte) string {
	return hex.EncodeToString(keys.Append(nil, drivers.TimeUUID(u), false))
}

// timeOfKey is the reverse of timeKey.
func timeOfKey(s string) (drivers.Value, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 16 {
		return drivers.Value{}, fmt.Errorf("key %q is no timeuuid: it needs 32 hexadecimal digits", s)
	}
	v, _, _, err := keys.Decode(b, schemas.TimeUUID, false, nil)
	return v, err
}
