package cassandra

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// kindOf returns the kind with which a type of CQL is compared and written, Blob if there is none.
func kindOf(t gocql.Type) schemas.Kind {
	switch t {
	case gocql.TypeVarchar, gocql.TypeText, gocql.TypeAscii:
		return schemas.Text
	case gocql.TypeInt:
		return schemas.Int
	case gocql.TypeBigInt, gocql.TypeCounter:
		return schemas.Bigint
	case gocql.TypeTimestamp:
		return schemas.Timestamp
	case gocql.TypeBoolean:
		return schemas.Boolean
	case gocql.TypeUUID:
		return schemas.UUID
	case gocql.TypeTimeUUID:
		return schemas.TimeUUID
	}
	return schemas.Blob
}

// valueOf decodes a value of CQL; what it has no kind for, and what is damaged, stays bytes.
func valueOf(t gocql.TypeInfo, raw []byte) drivers.Value {
	v, err := readValue(kindOf(t.Type()), raw)
	if err != nil {
		return drivers.Blob(raw)
	}
	return v
}

// mostWritten is how many bytes of a value are written.
const mostWritten = 40

// text writes a parameter's value as CQL would, cut short.
func (p *parameter) text(raw rawValue) string {
	if p.in == "in" && len(raw) >= 4 {
		return fmt.Sprintf("(%d values)", binary.BigEndian.Uint32(raw))
	}
	typ := p.typ
	switch v := valueOf(typ, raw); v.Kind() {
	case schemas.Text:
		if len(raw) > mostWritten {
			return fmt.Sprintf("'%.*s…' (%d bytes)", mostWritten, raw, len(raw))
		}
		return "'" + string(raw) + "'"
	case schemas.Blob:
		if len(raw) > mostWritten {
			return fmt.Sprintf("0x%x… (%d bytes)", []byte(raw[:mostWritten/2]), len(raw))
		}
		return fmt.Sprintf("0x%x", []byte(raw))
	case schemas.Timestamp:
		return "'" + time.UnixMilli(v.Int64()).UTC().Format(time.RFC3339) + "'"
	case schemas.UUID, schemas.TimeUUID:
		return gocql.UUID(v.UUIDBytes()).String()
	case schemas.Boolean:
		return strconv.FormatBool(v.Bool())
	default:
		return strconv.FormatInt(v.Int64(), 10)
	}
}
