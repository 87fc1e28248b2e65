package validate

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// fault says what is wrong with a value, or "".
func fault(t *schemas.Type, v *drivers.Value) (Check, string) {
	switch {
	case v.Broken():
		return Decode, fmt.Sprintf("%s is no %s", stored(v.Raw()), t)
	case v.IsNull():
		return "", ""
	case t.Collection():
		return faultOfElements(t, v)
	case v.Kind() == schemas.Text && !utf8.Valid(v.Raw()):
		return UTF8, stored(v.Raw()) + " is not UTF-8"
	case v.Kind() == schemas.TimeUUID:
		if id := v.UUIDBytes(); id[6]>>4 != 1 || id[8]>>6 != 2 {
			return TimeUUID, fmt.Sprintf("%s is no UUID of version 1", appendText(nil, v))
		}
	}
	return "", ""
}

func faultOfElements(t *schemas.Type, v *drivers.Value) (Check, string) {
	elems := v.Elems()
	for i := range elems {
		elem := t.Elem
		if t.Kind == schemas.Map && i%2 == 0 {
			elem = t.Key
		}
		if check, what := fault(elem, &elems[i]); check != "" {
			return check, "an element: " + what
		}
	}
	return "", ""
}

// stored returns at most the first 16 bytes, in hexadecimal digits.
func stored(b []byte) string {
	const most = 16
	if len(b) > most {
		return fmt.Sprintf("0x%x… (%d bytes)", b[:most], len(b))
	}
	return fmt.Sprintf("0x%x", b)
}

// appendText appends the text by which a value is compared: see schemas.Join.
func appendText(dst []byte, v *drivers.Value) []byte {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return append(dst, v.Raw()...)
	case schemas.Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case schemas.UUID, schemas.TimeUUID:
		return appendUUID(dst, v.UUIDBytes())
	}
	return strconv.AppendInt(dst, v.Int64(), 10)
}

func appendUUID(dst []byte, u [16]byte) []byte {
	var text [36]byte
	hex.Encode(text[:8], u[:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:], u[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return append(dst, text[:]...)
}

// mostShown is how many bytes of a key column are shown.
const mostShown = 100

// appendKey appends a row's key as people read it: column=value, column=value.
func appendKey(dst []byte, key []*schemas.Column, row []drivers.Value) []byte {
	for i, c := range key {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, c.Name...), '=')
		v := &row[i]
		switch {
		case v.Broken():
			dst = append(dst, stored(v.Raw())...)
		case v.Kind() == schemas.Blob:
			dst = append(dst, stored(v.Raw())...)
		case v.Kind() == schemas.Text:
			dst = strconv.AppendQuote(dst, string(v.Raw()[:min(len(v.Raw()), mostShown)]))
		default:
			dst = appendText(dst, v)
		}
	}
	return dst
}
