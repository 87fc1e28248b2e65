package oraclenosql

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"
)

// object is a map of NSON, the encoding of requests and answers.
type object map[string]any

// reader reads NSON. It panics at what is none.
type reader struct{ *bytes.Buffer }

func (r reader) int32() int { return int(int32(binary.BigEndian.Uint32(r.Next(4)))) }

// packed reads a packed integer: a byte for small ones, else the number of its bytes first.
func (r reader) packed() int64 {
	b, err := r.ReadByte()
	if err != nil {
		panic(err)
	}
	switch {
	case b < 0x08:
		n := int64(-1)
		for _, c := range r.Next(int(0x08 - b)) {
			n = n<<8 | int64(c)
		}
		return n - 119
	case b > 0xf7:
		n := int64(0)
		for _, c := range r.Next(int(b - 0xf7)) {
			n = n<<8 | int64(c)
		}
		return n + 121
	}
	return int64(b) - 127
}

func (r reader) text() string { return string(r.Next(int(max(r.packed(), 0)))) }

func (r reader) value() any {
	kind, err := r.ReadByte()
	if err != nil {
		panic(err)
	}
	switch types.DbType(kind) {
	case types.Map:
		r.int32()
		o := make(object)
		for range r.int32() {
			name := r.text()
			o[name] = r.value()
		}
		return o
	case types.Array:
		r.int32()
		all := make([]any, r.int32())
		for i := range all {
			all[i] = r.value()
		}
		return all
	case types.Integer:
		return int(r.packed())
	case types.Long:
		return r.packed()
	case types.String, types.Number:
		return r.text()
	case types.Timestamp:
		return "timestamp " + r.text()
	case types.Binary:
		return []byte(r.text())
	case types.Boolean:
		b, _ := r.ReadByte()
		return b != 0
	case types.Null, types.JSONNull, types.Empty:
		return nil
	}
	panic(fmt.Sprintf("unknown type %d", kind))
}

// writer writes NSON.
type writer struct{ bytes.Buffer }

func (w *writer) packed(n int64) {
	switch {
	case n < -119 || n > 120+1<<31:
		panic("no test needs such a number")
	case n > 120:
		b := binary.BigEndian.AppendUint32(nil, uint32(n-121))
		b = bytes.TrimLeft(b[:3], "\x00")
		b = append(b, byte(n-121))
		w.WriteByte(byte(0xf7 + len(b)))
		w.Write(b)
	default:
		w.WriteByte(byte(n + 127))
	}
}

func (w *writer) text(s string) {
	w.packed(int64(len(s)))
	w.WriteString(s)
}

func (w *writer) value(v any) {
	kind := func(t types.DbType) { w.WriteByte(byte(t)) }
	nested := func(n int, write func(*writer)) {
		var in writer
		write(&in)
		w.Write(binary.BigEndian.AppendUint32(nil, uint32(in.Len()+4)))
		w.Write(binary.BigEndian.AppendUint32(nil, uint32(n)))
		w.Write(in.Bytes())
	}
	switch v := v.(type) {
	case object:
		kind(types.Map)
		nested(len(v), func(in *writer) {
			for _, name := range slices.Sorted(maps.Keys(v)) {
				in.text(name)
				in.value(v[name])
			}
		})
	case []any:
		kind(types.Array)
		nested(len(v), func(in *writer) {
			for _, e := range v {
				in.value(e)
			}
		})
	case int:
		kind(types.Integer)
		w.packed(int64(v))
	case int64:
		kind(types.Long)
		w.packed(v)
	case string:
		kind(types.String)
		w.text(v)
	case []byte:
		kind(types.Binary)
		w.text(string(v))
	case bool:
		kind(types.Boolean)
		if v {
			w.WriteByte(1)
		} else {
			w.WriteByte(0)
		}
	case nil:
		kind(types.Null)
	default:
		panic(fmt.Sprintf("a %T", v))
	}
}
