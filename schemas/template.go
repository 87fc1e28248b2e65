package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Template is a text with places for variables: "{account}:{label int}". A name
// in braces matches any text; with a type after it, only text in the form of the
// type. {} matches text that does not matter. All else matches itself.
type Template struct {
	Text  string // the template as it was written
	Parts []TemplatePart
	Tail  string // the text after the last variable
}

// TemplatePart is a variable with the text before it.
type TemplatePart struct {
	Before string
	Name   string // "" of {}
	Type   Kind   // Int, Bigint, UUID or TimeUUID; Null for any text
}

// templateTypes are the types that a variable may have.
var templateTypes = []Kind{Int, Bigint, UUID, TimeUUID}

// parseTemplate reads a template. The error is without a place.
func parseTemplate(text string) (Template, error) {
	t := Template{Text: text}
	rest := text
	for {
		before, inner, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return t, errors.New(`a "}" without its "{"`)
		}
		if !found {
			t.Tail = before
			return t, nil
		}
		inner, rest, found = strings.Cut(inner, "}")
		if !found || strings.Contains(inner, "{") {
			return t, errors.New(`a "{" without its "}"`)
		}
		p := TemplatePart{Before: before}
		if err := p.parse(inner); err != nil {
			return t, err
		}
		if len(t.Parts) > 0 && before == "" {
			return t, errors.New("two variables with no text between them; expected text that shows where one ends")
		}
		if p.Name != "" && slices.ContainsFunc(t.Parts, func(o TemplatePart) bool { return o.Name == p.Name }) {
			return t, fmt.Errorf("{%s} twice", p.Name)
		}
		t.Parts = append(t.Parts, p)
	}
}

// parse reads what is in braces: nothing, a name, or a name and a type.
func (p *TemplatePart) parse(inner string) error {
	words := strings.Fields(inner)
	if len(words) == 0 {
		return nil
	}
	if !nameForm.MatchString(words[0]) || len(words) > 2 {
		return fmt.Errorf("{%s}; expected {name}, {name type} or {}", inner)
	}
	p.Name = words[0]
	if len(words) == 1 {
		return nil
	}
	i := slices.IndexFunc(templateTypes, func(k Kind) bool { return k.String() == words[1] })
	if i < 0 {
		return fmt.Errorf("{%s}; a variable's type is int, bigint, uuid or timeuuid", inner)
	}
	p.Type = templateTypes[i]
	return nil
}

// Names returns the names of the variables, in order.
func (t *Template) Names() []string {
	var names []string
	for _, p := range t.Parts {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// Match appends to found the text of each named variable, in order, if the whole
// of b matches the template. The texts share the memory of b. If b can be read in
// several ways, the last variable is as short as possible, then the one before it, and
// so on. Match tries no other way, even if the types of variables rule that one out.
func (t *Template) Match(b []byte, found [][]byte) ([][]byte, bool) {
	if len(t.Parts) == 0 {
		return found, string(b) == t.Tail
	}
	if !bytes.HasSuffix(b, []byte(t.Tail)) {
		return found, false
	}
	b = b[:len(b)-len(t.Tail)]
	from := len(found)
	for i, p := range slices.Backward(t.Parts) {
		at := bytes.LastIndex(b, []byte(p.Before))
		if i == 0 && !bytes.HasPrefix(b, []byte(p.Before)) {
			return found[:from], false
		}
		if i == 0 {
			at = 0
		}
		if at < 0 {
			return found[:from], false
		}
		text := b[at+len(p.Before):]
		if !is(p.Type, text) {
			return found[:from], false
		}
		if p.Name != "" {
			found = append(found, text)
		}
		b = b[:at]
	}
	slices.Reverse(found[from:])
	return found, true
}

// is reports whether a text has the form of the type. Of a number it limits only the
// digits, to 19.
func is(k Kind, text []byte) bool {
	switch k {
	case Int, Bigint:
		digits := bytes.TrimPrefix(text, []byte("-"))
		return len(digits) > 0 && len(digits) < 20 && !bytes.ContainsFunc(digits,
			func(r rune) bool { return r < '0' || r > '9' })
	case UUID, TimeUUID:
		if len(text) != 36 {
			return false
		}
		for i, c := range text {
			dash := i == 8 || i == 13 || i == 18 || i == 23
			hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
			if dash != (c == '-') || !dash && !hex {
				return false
			}
		}
	}
	return true
}
