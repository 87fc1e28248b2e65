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
	number  int     // position in a row of the column that is compared or added up; -1 if each row counts 1
	element int     // equal to number if that column is a map, of which each value is compared; else -1
	named   bool    // records hold the key of their row
	pending record  // rows with the same digest become one record; one without rows is none
	lookup  *lookup // finds the rows of the other side, in a sample

	// The tuple that is yielded: what one row, or one element of it, brings to the rule.
	texts [][]byte // of the variables
	value int64
	bad   bool // the stored text is no number

	// Buffers: a check of an embedded engine takes half as long again if each row needs new ones.
	found [][]byte
	text  []byte
}

// match is a column's template with the slots of its variables.
type match struct {
	column   int // position in a row
	typ      schemas.Type
	template *schemas.Template
	slots    []int
	rawID    bool   // a blob of 16 bytes may be an identifier
	buffer   []byte // of the text that is matched
}

// newSide compiles a side for rows that have the columns.
func newSide(r *rule, at bool, columns []*schemas.Column) *side {
	s := &side{rule: r, at: at, number: -1, element: -1, named: !at || r.zero()}
	names := r.Variables()
	s.texts = make([][]byte, len(names))
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
		s.number = slices.Index(columns, column)
		if column.Type.Kind == schemas.Map {
			s.element = s.number
		}
	}
	return s
}

// tuples calls yield for each tuple of a row, until it returns an error. The side has the tuple until yield returns.
func (s *side) tuples(row []drivers.Value, yield func() error) error {
	s.value, s.bad = 1, false
	if s.counts() && s.number >= 0 && s.element < 0 {
		switch null := row[s.number].IsNull(); {
		case !null:
			s.value, s.bad = s.numberOf(&row[s.number])
		case s.at:
			return nil
		default:
			s.value = 0 // a count of nothing need not be written
		}
	}
	return s.from(0, row, yield)
}

// from matches the columns from number i on: of a collection each element, or each key of a map.
func (s *side) from(i int, row []drivers.Value, yield func() error) error {
	if i == len(s.matches) {
		return yield()
	}
	m := &s.matches[i]
	elems, step := row[m.column:m.column+1], 1
	if m.typ.Collection() {
		elems = elems[0].Elems()
	}
	if m.typ.Kind == schemas.Map {
		step = 2
	}
	for k := 0; k+step <= len(elems); k += step {
		if elems[k].IsNull() {
			continue
		}
		var ok bool
		if s.found, ok = m.template.Match(m.text(&elems[k]), s.found[:0]); !ok {
			continue
		}
		for n, text := range s.found {
			s.texts[m.slots[n]] = text
		}
		if m.column == s.element {
			s.value, s.bad = s.numberOf(&elems[k+1])
		}
		if err := s.from(i+1, row, yield); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of a value that is matched. It is valid until the next call.
func (m *match) text(v *drivers.Value) []byte {
	switch raw := v.Raw(); {
	case m.rawID && len(raw) == 16:
		m.buffer = drivers.AppendUUID(m.buffer[:0], [16]byte(raw))
	case raw != nil:
		return raw
	default:
		m.buffer = v.AppendText(m.buffer[:0])
	}
	return m.buffer
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

// digest returns the digest of the tuple that is yielded. It is the same in every process.
func (s *side) digest() digest {
	s.text = binary.AppendUvarint(s.text[:0], uint64(s.rule.number))
	for _, text := range s.texts {
		s.text = append(binary.AppendUvarint(s.text, uint64(len(text))), text...)
	}
	sum := sha256.Sum256(s.text)
	return digest(sum[:])
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
			return TimeUUID, fmt.Sprintf("%s is no UUID of version 1", v.AppendText(nil))
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
		case v.Broken() || v.Kind() == schemas.Blob:
			dst = append(dst, stored(v.Raw())...)
		case v.Kind() == schemas.Text:
			dst = strconv.AppendQuote(dst, string(v.Raw()[:min(len(v.Raw()), mostShown)]))
		default:
			dst = v.AppendText(dst)
		}
	}
	return dst
}
