package oraclenosql

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// inKey reports whether a column is part of the primary key.
func inKey(c *schemas.Column) bool {
	return c.Role == schemas.Partition || c.Role == schemas.Clustering
}

// columnType returns the type of a column, and a note on what that type does not say of
// the schema's type, or "".
func columnType(c *schemas.Column) (typ, note string) {
	switch c.Type.Kind {
	case schemas.Blob:
		if inKey(c) {
			return "STRING", "has hexadecimal digits, which sort like the bytes: a key cannot be BINARY"
		}
	case schemas.Boolean:
		if inKey(c) {
			return "INTEGER", "is 0 or 1: Oracle cannot read a range of BOOLEAN keys"
		}
	case schemas.UUID:
		return "STRING AS UUID", ""
	case schemas.TimeUUID:
		if inKey(c) {
			return "STRING", "has a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time"
		}
		return "STRING AS UUID", ""
	case schemas.Counter:
		return "LONG", "is a counter: UPDATE … SET adds to it, and reads the row to do so"
	}
	return typeOf(c.Type), collectionNote(c.Type)
}

func collectionNote(t schemas.Type) string {
	switch {
	case t.Kind == schemas.Set:
		return "is a set: Oracle has arrays, which the client keeps sorted, without duplicates"
	case t.Kind == schemas.Map && t.Key.Kind != schemas.Text:
		return fmt.Sprintf("has keys of type %s, which are written as text: the keys of a map are strings", t.Key)
	}
	return ""
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

// namespaceOf returns the namespace of a schema: mailbench_NAMESPACE_SCHEMA.
func namespaceOf(namespace, schema string) string {
	return plan.PlaceName(namespace, plan.Identifier(schema))
}

// lastName returns a nested table's own name, without those of the tables around it.
func lastName(t *schemas.Table) string {
	return identifier(t.Name[strings.LastIndexByte(t.Name, '.')+1:])
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

// escaped reports whether a text has a character that is stored with an escape.
func escaped(b []byte) bool {
	for i, c := range b {
		if c <= lowEscape || c >= 0xf0 || c == 0xef && bytes.HasPrefix(b[i:], []byte("\uffff")) {
			return true
		}
	}
	return false
}

// keyText returns a text as a key holds it.
func keyText(b []byte) string {
	if !escaped(b) {
		return string(b)
	}
	var s strings.Builder
	for _, r := range string(b) {
		switch {
		case r <= lowEscape:
			s.WriteRune(lowEscape)
			s.WriteRune(r + 1)
		case r == highEscape:
			s.WriteRune(highEscape)
			s.WriteRune(lowEscape)
		case r > highEscape:
			s.WriteRune(highEscape)
			s.WriteRune(r)
		default:
			s.WriteRune(r)
		}
	}
	return s.String()
}

// textOfKey is the reverse of keyText.
func textOfKey(s string) (string, error) {
	if !strings.ContainsAny(s, string([]rune{lowEscape, highEscape})) {
		return s, nil
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		if r != lowEscape && r != highEscape {
			b.WriteRune(r)
			continue
		}
		next, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
		switch {
		case r == lowEscape && (next == 1 || next == 2):
			b.WriteRune(next - 1)
		case r == highEscape && next == lowEscape:
			b.WriteRune(highEscape)
		case r == highEscape && next > highEscape:
			b.WriteRune(next)
		default:
			return "", fmt.Errorf("key %q has an escape that mailbench does not write", s)
		}
	}
	return b.String(), nil
}

// timeKey returns a timeuuid as a key holds it: the hexadecimal digits of the bytes that package keys sorts it by.
func timeKey(u [16]byte) string {
	b, _ := keys.Append(nil, drivers.TimeUUID(u), false) // a timeuuid can be part of a key
	return hex.EncodeToString(b)
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
