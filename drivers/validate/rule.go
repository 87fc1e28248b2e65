package validate

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// rule is one reference or count of the schema.
type rule struct {
	*schemas.Relation
	number int
	table  *schemas.Table // declares the rule
	about  About
}

// counts reports whether the rule is a count.
func (r *rule) counts() bool { return r.Column != nil }

// rulesOf returns all rules of a schema.
func rulesOf(s *schemas.Schema) []*rule {
	var rules []*rule
	for _, t := range s.Tables {
		for _, r := range t.Refers {
			rules = append(rules, &rule{r, len(rules), t, About{t.Name, Reference, r.Name, r.Leftover}})
		}
		for _, c := range t.Counts {
			rules = append(rules, &rule{c, len(rules), t, About{t.Name, Count, c.Name, false}})
		}
	}
	return rules
}

// zero reports whether a missing number counts as 0, as a missing counter does.
func (r *rule) zero() bool { return r.counts() && r.Column.Type.Kind == schemas.Counter }

// side is what rows of one table bring to a rule: the rows that declare it, or the
// rows that they refer to or count.
type side struct {
	*rule
	at      bool // its rows are those that are referred to or counted
	matches []match
	slots   int // number of variables
	number  int // position in a row of the column that is compared or added up; -1 if each row counts 1
	element int // equal to number if that column is a map, of which each value is compared; else -1
	typ     schemas.Type
	named   bool    // records hold the key of their row
	pending record  // rows with the same digest become one record; one without rows is none
	lookup  *lookup // finds the rows of the other side, in a sample
}

// match is a column's template with the slots of its variables.
type match struct {
	column   int // position in a row
	typ      schemas.Type
	template *schemas.Template
	slots    []int
	rawID    bool // a blob of 16 bytes may be an identifier
}

// newSide compiles a side for rows that have the columns.
func newSide(r *rule, at bool, columns []*schemas.Column) *side {
	s := &side{rule: r, at: at, number: -1, element: -1, named: !at || r.zero()}
	names := r.Variables()
	s.slots = len(names)
	matches, column := r.From, r.Column
	if at {
		matches, column = r.At, r.Sum
	}
	for i := range matches {
		m := &matches[i]
		c := match{column: slices.Index(columns, m.Column), typ: m.Column.Type, template: &m.Template}
		for _, name := range m.Template.Names() {
			c.slots = append(c.slots, slices.Index(names, name))
		}
		if parts := m.Template.Parts; len(parts) == 1 && parts[0].Before == "" && m.Template.Tail == "" {
			c.rawID = m.Column.Type.Kind == schemas.Blob &&
				(parts[0].Type == schemas.UUID || parts[0].Type == schemas.TimeUUID)
		}
		s.matches = append(s.matches, c)
	}
	if column != nil {
		s.number, s.typ = slices.Index(columns, column), column.Type
		if column.Type.Kind == schemas.Map {
			s.element = s.number
		}
	}
	return s
}

// tuple is what one row, or one element of it, brings to a rule.
type tuple struct {
	texts  [][]byte // texts of the variables
	number int64
	bad    bool // the stored text is no number
}

// tuples makes tuples of rows, in buffers that it reuses.
type tuples struct {
	tuple
	found [][]byte
	arena []byte
}

// of calls yield for each tuple of a row, until it returns an error. A tuple is valid until yield returns.
func (t *tuples) of(s *side, row []drivers.Value, yield func(*tuple) error) error {
	t.texts = slices.Grow(t.texts[:0], s.slots)[:s.slots]
	t.arena = t.arena[:0]
	t.number, t.bad = 1, false
	if s.counts() && s.number >= 0 && s.element < 0 {
		switch null := row[s.number].IsNull(); {
		case !null:
			t.number, t.bad = s.numberOf(&row[s.number])
		case s.at:
			return nil
		default:
			t.number = 0 // a count of nothing need not be written
		}
	}
	return t.from(s, row, 0, yield)
}

// from matches the columns from number i on.
func (t *tuples) from(s *side, row []drivers.Value, i int, yield func(*tuple) error) error {
	if i == len(s.matches) {
		return yield(&t.tuple)
	}
	m := &s.matches[i]
	v := &row[m.column]
	if !m.typ.Collection() {
		if v.IsNull() || !t.take(m, v) {
			return nil
		}
		return t.from(s, row, i+1, yield)
	}
	elems, step := v.Elems(), 1
	if m.typ.Kind == schemas.Map {
		step = 2
	}
	for k := 0; k+step <= len(elems); k += step {
		at := len(t.arena)
		if !elems[k].IsNull() && t.take(m, &elems[k]) {
			if m.column == s.element {
				t.number, t.bad = s.numberOf(&elems[k+1])
			}
			if err := t.from(s, row, i+1, yield); err != nil {
				return err
			}
		}
		t.arena = t.arena[:at]
	}
	return nil
}

// take matches one value and keeps the texts of its variables.
func (t *tuples) take(m *match, v *drivers.Value) bool {
	var text []byte
	switch id := v.Raw(); {
	case m.rawID && len(id) == 16:
		text = t.text(func(dst []byte) []byte { return drivers.AppendUUID(dst, [16]byte(id)) })
	case v.Kind() == schemas.Text || v.Kind() == schemas.Blob:
		text = v.Raw()
	default:
		text = t.text(func(dst []byte) []byte { return appendText(dst, v) })
	}
	found, ok := m.template.Match(text, t.found[:0])
	t.found = found
	for i, f := range found {
		t.texts[m.slots[i]] = f
	}
	return ok
}

// text makes a text in the arena. Earlier texts stay valid where they are, also if
// the arena moves.
func (t *tuples) text(appendTo func([]byte) []byte) []byte {
	at := len(t.arena)
	t.arena = appendTo(t.arena)
	return t.arena[at:len(t.arena):len(t.arena)]
}

// numberOf returns the number of a value. A text that is compared spells it. The number
// of a text or blob that is added up is its length in bytes.
func (s *side) numberOf(v *drivers.Value) (n int64, bad bool) {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		if s.at {
			return int64(len(v.Raw())), false
		}
		n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
		return n, err != nil
	}
	return v.Int64(), v.IsNull()
}

// digest identifies the variables of a tuple under its rule.
type digest [16]byte

// digestOf returns the digest of a tuple; buf is grown and returned. It is the same in every process.
func digestOf(r *rule, t *tuple, buf []byte) (digest, []byte) {
	buf = binary.AppendUvarint(buf[:0], uint64(r.number))
	for _, text := range t.texts {
		buf = append(binary.AppendUvarint(buf, uint64(len(text))), text...)
	}
	sum := sha256.Sum256(buf)
	return digest(sum[:]), buf
}

// fault says what is wrong with a value, or "".
func fault(t *schemas.Type, v *drivers.Value) (Check, string) {
	switch {
	case v.Broken():
		return Decode, fmt.Sprintf("%s is no %s", stored(v.Raw()), t)
	case v.IsNull():
		return "", ""
	case t.Collection():
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
	case v.Kind() == schemas.Text && !utf8.Valid(v.Raw()):
		return UTF8, stored(v.Raw()) + " is not UTF-8"
	case v.Kind() == schemas.TimeUUID:
		if id := v.UUIDBytes(); id[6]>>4 != 1 || id[8]>>6 != 2 {
			return TimeUUID, fmt.Sprintf("%s is no UUID of version 1", appendText(nil, v))
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

// appendText appends the text by which a value is compared: see schemas.Relation.
func appendText(dst []byte, v *drivers.Value) []byte {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return append(dst, v.Raw()...)
	case schemas.Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case schemas.UUID, schemas.TimeUUID:
		return drivers.AppendUUID(dst, v.UUIDBytes())
	}
	return strconv.AppendInt(dst, v.Int64(), 10)
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
