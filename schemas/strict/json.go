package strict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSON decodes a text that is one JSON value. With known, its fields are the only ones that an object may
// have. The error says what is wrong in the words of this package.
func JSON(text []byte, into any, known ...string) error {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	d := json.NewDecoder(bytes.NewReader(text))
	if len(known) > 0 {
		d.DisallowUnknownFields()
	}
	err := d.Decode(into)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		if more := bytes.TrimSpace(text[d.InputOffset():]); len(more) > 0 {
			return fmt.Errorf("%.20q follows the JSON value, which must be the only one", more)
		}
	case len(text) == 0:
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON has no end")
	case errors.As(err, &syntax):
		at := max(0, min(int(syntax.Offset), len(text))-1)
		if line := 1 + bytes.Count(text[:at], []byte("\n")); line > 1 {
			return fmt.Errorf("line %d: %.20q is not JSON", line, text[at:])
		}
		return fmt.Errorf("%.20q is not JSON", text[at:])
	case errors.As(err, &kind):
		return fmt.Errorf("%s must be %s, found %s", cmp.Or(kind.Field, "it"), typeName(kind.Type), found(kind.Value))
	}
	if field, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		return Unknown("field", strings.Trim(field, `"`), known...)
	}
	return err
}

// typeName is what JSON must have for a Go type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object {…}"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// found is what a JSON value is, such as "a number 1e999".
func found(value string) string {
	switch kind, _, _ := strings.Cut(value, " "); kind {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a text"
	}
	return "a " + value
}
