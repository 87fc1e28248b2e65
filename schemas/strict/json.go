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
		// A number that is too large, such as 1e999, is named.
		want, found := kind.Type.Kind().String(), strings.TrimPrefix(kind.Value, "number ")
		return fmt.Errorf("%s must be %s, found %s", cmp.Or(kind.Field, "it"), cmp.Or(jsonNames[want], want),
			cmp.Or(jsonNames[found], found))
	}
	if field, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		return Unknown("field", strings.Trim(field, `"`), known...)
	}
	return err
}

// jsonNames are the names of kinds of JSON values, and of Go kinds that take them.
var jsonNames = map[string]string{
	"string": "a text", "slice": "a list", "array": "a list",
	"struct": "an object", "map": "an object", "object": "an object", "bool": "true or false",
	"number": "a number", "float64": "a number",
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number",
}
