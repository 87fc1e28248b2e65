package oraclenosql

import (
	"fmt"

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
			return "STRING", "holds hexadecimal digits, which sort as the bytes do: a key takes no BINARY"
		}
	case schemas.Boolean:
		if inKey(c) {
			return "INTEGER", "is 0 or 1: Oracle cannot read a range of BOOLEAN keys"
		}
	case schemas.UUID:
		return "STRING AS UUID", ""
	case schemas.TimeUUID:
		if inKey(c) {
			return "STRING", "holds a timeuuid's hexadecimal digits, those of its time first, so that it sorts by time"
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

// indexable reports whether an index may be over a column.
func indexable(c *schemas.Column) bool {
	return !c.Type.Collection() && (c.Type.Kind != schemas.Blob || inKey(c))
}
