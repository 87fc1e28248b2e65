// Package strict reads YAML and accepts nothing unknown. It finds every fault of a
// file, each with its place, what was expected and the nearest known word.
package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Decoder reads YAML nodes strictly and gathers every fault it meets.
type Decoder struct {
	File string // name of the file in messages
	Errs Errors
	// Stored: the text is of a file that mailbench wrote, and may have words of an earlier version of the language.
	Stored bool
	// Origins are the names of the files of nodes that are not from File.
	Origins map[*yaml.Node]string
}

// Entry is one key of a mapping with its value.
type Entry struct {
	Name       string
	Key, Value *yaml.Node
}

// Fail records a fault at n.
func (d *Decoder) Fail(n *yaml.Node, format string, args ...any) { d.FailAt(d.At(n), format, args...) }

// FailAt records a fault at a place.
func (d *Decoder) FailAt(at Pos, format string, args ...any) {
	d.Errs = append(d.Errs, &Error{File: d.File, Pos: at, Msg: fmt.Sprintf(format, args...)})
}

// Check records a fault at n unless ok, which it returns.
func (d *Decoder) Check(ok bool, n *yaml.Node, format string, args ...any) bool {
	if !ok {
		d.Fail(n, format, args...)
	}
	return ok
}

// Unknown records a word that is none of the known ones. what is the kind of word
// ("column"), where its place ("in pattern page").
func (d *Decoder) Unknown(n *yaml.Node, what, word, where string, known []string) {
	d.Fail(n, "unknown %s %s %s", what, quoted(word), where)
	d.Errs[len(d.Errs)-1].meant(word, known)
}

// Meant records a fault at n, whose text is none of the known words.
func (d *Decoder) Meant(n *yaml.Node, known []string, format string, args ...any) {
	d.Fail(n, format, args...)
	e := d.Errs[len(d.Errs)-1]
	if e.meant(n.Value, known); len(known) == 0 {
		e.Msg += "; it has none"
	}
}

// meant adds the known word that was probably meant, or all of them.
func (e *Error) meant(word string, known []string) {
	if e.Near = Nearest(word, known); e.Near == "" && len(known) > 0 {
		e.Msg += "; expected one of " + strings.Join(known, ", ")
	}
}

// Document returns the root node of the file's one document, or nil. expected says,
// for messages, what the file should hold.
func (d *Decoder) Document(src []byte, expected string) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.Fail(&yaml.Node{Line: 1, Column: 1}, "the file is empty; expected %s", expected)
		return nil
	case err != nil:
		d.syntax(src, err)
		return nil
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		d.Fail(&second, "a second YAML document; expected one in a file")
	case !errors.Is(err, io.EOF):
		d.syntax(src, err)
	}
	if nodes(&doc, mostNodes) <= 0 {
		d.Errs = nil // the second document does not matter
		d.Fail(&yaml.Node{Line: 1, Column: 1}, "the file has more than %d keys and values; divide it", mostNodes)
		return nil
	}
	return doc.Content[0]
}

// Keys returns the keys of a file's top level in their order, or nil if it is no mapping.
func Keys(src []byte) []string { return KeysOf(new(Decoder).Document(src, "")) }

// Find is the index of a key in the contents of a mapping, or below 0.
func Find(n *yaml.Node, key string) int {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// KeysOf returns the keys of a mapping in their order, or nil of any other node and of none.
func KeysOf(n *yaml.Node) (names []string) {
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		names = append(names, n.Content[i].Value)
	}
	return names
}

// mostNodes is how many keys and values a document may have. It bounds what a reader does with each pair of them.
const mostNodes = 200_000

// nodes returns how many of left nodes are left after n and all below it.
func nodes(n *yaml.Node, left int) int {
	left--
	for _, c := range n.Content {
		if left <= 0 {
			break
		}
		left = nodes(c, left)
	}
	return left
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: line (\d+): `)
	indentedByTab = regexp.MustCompile(`^ *\t`)
	// fromZero are the errors in which yaml.v3 counts lines from 0: those of
	// its parser, but not those of its scanner (see fail in its decode.go).
	fromZero = regexp.MustCompile(`^did not find expected (<|node content|'-' indicator|key|',' or)`)
)

// syntax records an error of the YAML reader, which names a line but no column.
func (d *Decoder) syntax(src []byte, err error) {
	at, msg := &yaml.Node{Line: 1, Column: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		msg = err.Error()[len(m[0]):]
		if fromZero.MatchString(msg) {
			at.Line++
		}
	}
	if lines := bytes.Split(src, []byte("\n")); at.Line <= len(lines) && indentedByTab.Match(lines[at.Line-1]) {
		msg += "; indent the line with spaces instead of tabs"
	} else if strings.Contains(msg, "cannot start any token") || strings.Contains(msg, "expected comment or line break") {
		msg += "; write a text that begins with one of > % @ ` in quotes"
	}
	d.Fail(at, "not YAML: %s", msg)
}

// Mapping returns the entries of a mapping in file order, without duplicates.
func (d *Decoder) Mapping(n *yaml.Node, what string) []Entry {
	if n.Kind != yaml.MappingNode {
		d.Fail(n, "%s must be a mapping (key: value), found %s", what, Found(n))
		return nil
	}
	var entries []Entry
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			d.Fail(k, "a key of %s must be a name, found %s", what, Found(k))
			continue
		}
		if line, ok := lines[k.Value]; ok {
			d.Fail(k, "duplicate key %q in %s; line %d has it already", k.Value, what, line)
			continue
		}
		lines[k.Value] = k.Line
		entries = append(entries, Entry{k.Value, k, v})
	}
	return entries
}

// Fields returns the entries of a mapping whose keys are words of the language. A misspelt key is a fault, and then
// read as the one that was probably meant, so that no other fault follows from it.
func (d *Decoder) Fields(n *yaml.Node, what string, known []string) map[string]Entry {
	fields := make(map[string]Entry)
	for _, e := range d.Mapping(n, what) {
		if now := Renamed(e.Name); d.Stored && slices.Contains(known, now) {
			e.Name, e.Key.Value = now, now
		} else if !slices.Contains(known, e.Name) {
			d.Unknown(e.Key, "key", e.Name, "in "+what, known)
			e.Name = d.Errs[len(d.Errs)-1].Near
			if _, there := fields[e.Name]; there || e.Name == "" {
				continue
			}
		}
		fields[e.Name] = e
	}
	return fields
}

// Word returns a word and the mapping that belongs to it, which is empty for a plain word: WORD, or {WORD: {…}}.
// Of anything else the word is nil.
func Word(n *yaml.Node) (word, below *yaml.Node) {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		return n.Content[0], n.Content[1]
	case n.Kind == yaml.ScalarNode:
		return n, &yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
	}
	return nil, nil
}

// Text returns the text of a scalar; what names it in the message.
func (d *Decoder) Text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		d.Fail(n, "%s must be text, found %s", what, Found(n))
		return "", false
	}
	return n.Value, true
}

// List returns the nodes of a list. A single text is a list of one.
func (d *Decoder) List(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return []*yaml.Node{n}
	}
	d.Fail(n, "%s must be a name or a list of names, found %s", what, Found(n))
	return nil
}

// Count returns a number from 1 up. Of anything else it records a fault and returns 0.
func (d *Decoder) Count(n *yaml.Node, what string) int {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		if i, err := strconv.Atoi(n.Value); err == nil && i > 0 {
			return i
		}
	}
	d.Fail(n, "%s must be a number from 1 up, found %s", what, Found(n))
	return 0
}

// Found describes a node for messages.
func Found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "a YAML alias, which the language does not have"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the truth value " + n.Value
	}
	return quoted(n.Value)
}

// quoted quotes a word, or the beginning of a long one.
func quoted(word string) string {
	if text := []rune(word); len(text) > foundMost {
		return strconv.Quote(string(text[:foundMost])) + "…"
	}
	return strconv.Quote(word)
}

// foundMost is how many characters of a text a message repeats.
const foundMost = 60

// From gives a node and all below it an origin: the name of the file that they are from.
func (d *Decoder) From(origin string, n *yaml.Node) *yaml.Node {
	if d.Origins == nil {
		d.Origins = make(map[*yaml.Node]string)
	}
	d.Origins[n] = origin
	for _, below := range n.Content {
		d.From(origin, below)
	}
	return n
}

// At returns the place of a node.
func (d *Decoder) At(n *yaml.Node) Pos { return Pos{n.Line, n.Column, d.Origins[n]} }

// Pos is a place in a file; lines and columns count from 1. File is "" for the file
// that was read, else the file that this one is based on.
type Pos struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	File   string `json:"file"`
}

// In returns file:line:column of the place. file is the file that was read.
func (p Pos) In(file string) string {
	return fmt.Sprintf("%s:%d:%d", cmp.Or(p.File, file), p.Line, p.Column)
}

// Error is one fault of a file, at its place.
type Error struct {
	File string
	Pos  Pos
	Msg  string // what was found and what was expected
	Near string // the known word that was probably meant, or ""
}

// Error returns one line: file:line:column, the message and the nearest word.
func (e *Error) Error() string {
	return e.Pos.In(e.File) + ": " + e.Text()
}

// Text returns the message and the nearest word, for a file that the user does not see.
func (e *Error) Text() string {
	return e.Msg + didYouMean(e.Near)
}

// Errors are all faults of a file, in the order of their places.
type Errors []*Error

// mostShown is how many faults a message lists.
const mostShown = 20

// Error returns one line a fault, and how many more there are.
func (es Errors) Error() string {
	var lines []string
	for _, e := range es[:min(len(es), mostShown)] {
		lines = append(lines, e.Error())
	}
	if more := len(es) - mostShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Sorted returns the faults in the order of their places, or nil (an error that
// is nil) if there are none.
func (es Errors) Sorted() error {
	if len(es) == 0 {
		return nil
	}
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return es
}

// Size is a number of bytes, or a plain count. It is written as a number, with a unit or
// without: B, KB, MB, GB are powers of 1000, and KiB, MiB, GiB are powers of 1024.
type Size int64

// Sizes.
const (
	KB Size = 1000
	MB      = 1000 * KB
	GB      = 1000 * MB

	KiB Size = 1 << 10
	MiB      = 1 << 20
	GiB      = 1 << 30
)

// units begin with the widest, so that String finds the shortest text.
var units = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"GB", GB}, {"MiB", MiB}, {"MB", MB}, {"KiB", KiB}, {"KB", KB}, {"B", 1}}

// ParseSize reads a size such as 200, 6KB or 1.5MiB. The result must be a whole number
// that is not negative.
func ParseSize(s string) (Size, error) {
	number, unit := s, Size(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || number == "" || strings.ContainsAny(number, "xXpP_") {
		return 0, fmt.Errorf("%q is not a size; expected a number, with a unit or none (B, KB, MB, GB, KiB, MiB, GiB)", s)
	}
	switch f *= float64(unit); {
	case f < 0:
		return 0, fmt.Errorf("%s is negative; expected 0 or more", s)
	case f > 1<<62:
		return 0, fmt.Errorf("%s is too large", s)
	case f != math.Trunc(f):
		return 0, fmt.Errorf("%s is not a whole number", s)
	}
	return Size(f), nil
}

// String returns the size as the language writes it, exactly: 6KB, 1536.
func (s Size) String() string {
	for _, u := range units {
		if u.size > 1 && s >= u.size && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
