package schemas

import (
	"strings"
	"testing"
)

// TestParseStored: a text that an earlier build has stored is the schema that its text in today's words is. A file
// of the user with the old words is refused.
func TestParseStored(t *testing.T) {
	const now = `schema: 1
name: old
description: words of an earlier version
parameters:
  size: {default: 2, min: 1, max: 9, description: a number}
  place: {default: a, enum: [a, b], description: a word}
tables:
  top: {description: a table, partition: [k text], columns: {n: bigint, l: list<text>}}
  top.in: {parent: top, clustering: [c int], references: {up: {description: a row, to: top, by: k, orphan_ok: true}}}
patterns:
  add: {increment: top, columns: n}
  remove: {description: an element, remove-element: top, columns: l}
`
	old := strings.NewReplacer("description:", "doc:", "min:", "least:", "max:", "most:", "enum:", "words:",
		"parent:", "in:", "references:", "refers:", "orphan_ok:", "leftover:", "increment:", "add:",
		"remove-element:", "remove:").Replace(now)
	want, err := Parse("now.yaml", []byte(now))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := ParseStored("old.yaml", []byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(Format(stored)), string(Format(want)); got != want {
		t.Errorf("stored:\n%s\nwant:\n%s", got, want)
	}
	if _, err := Parse("old.yaml", []byte(old)); err == nil {
		t.Error("a file with old words is accepted")
	}
}
