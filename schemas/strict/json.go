package strict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		want := jsonName(kind.Type.Kind().String())
		return fmt.Errorf("%s must be %s, found %s", cmp.Or(kind.Field, "it"), want, jsonName(kind.Value))
	}
	if field, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		return Unknown("field", strings.Trim(field, `"`), known...)
	}
	return err
}

// jsonName is the name of a kind of JSON values, or of a Go kind that takes them.
func jsonName(kind string) string {
	switch kind {
	case "string":
		return "a text"
	case "slice", "array":
		return "a list"
	case "struct", "map", "object":
		return "an object"
	case "bool":
		return "true or false"
	case "number", "float64":
		return "a number"
	case "int", "int64", "uint64":
		return "a whole number"
	}
	return strings.TrimPrefix(kind, "number ") // one that the type does not hold, such as 1e999
}
