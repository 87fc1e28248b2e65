// Package render writes the comments that drivers share: those of a schema as statements of their
// engine. The comments say what each table is for, what is not in the
// source document, and how the engine differs from the schema.
//
//	t := render.New("--")
//	t.Head(s, "The CQL that mailbench creates.")
//	t.Table(s.Table("users"))
//	t.Statement("CREATE TABLE …;")
package render

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// width bounds a line of comments, in bytes.
const width = 100

// Text is a schema in an engine's language.
type Text struct {
	b    strings.Builder
	mark string // the characters that begin a line of comments
}

// New returns an empty text, in which mark begins a line of comments.
func New(mark string) *Text { return &Text{mark: mark} }

// String returns the text.
func (t *Text) String() string { return t.b.String() }

// Head writes what the schema is, how the text was made, and which patterns write
// something that is not in the source document.
func (t *Text) Head(s *schemas.Schema, how string) {
	t.Comment(s.Doc)
	t.Comment(how)
	for _, p := range s.Patterns {
		does := "writes"
		if p.Kind.Reads() {
			does = "reads"
		}
		t.addition("what pattern "+p.Name+" "+does, p.Addition)
	}
}

// Table begins a paragraph that says what a table is for, and whether it, or which of its
// columns and indexes, are not in the source document.
func (t *Text) Table(of *schemas.Table) {
	t.b.WriteByte('\n')
	doc := of.Name
	if of.Doc != "" {
		doc += ": " + of.Doc
	}
	t.Comment(doc)
	t.addition("the table", of.Addition)
	for _, c := range slices.Concat(of.Static, of.Columns) {
		t.addition("column "+c.Name, c.Addition)
	}
	for _, x := range of.Indexes {
		t.addition("index "+x.Name, x.Addition)
	}
}

func (t *Text) addition(what, why string) {
	if why != "" {
		t.Comment("Extension, not in the source design: " + what + ": " + why)
	}
}

// Comment writes a paragraph of comments in lines of at most width bytes. An empty
// paragraph writes nothing.
func (t *Text) Comment(paragraph string) {
	line := ""
	for _, word := range strings.Fields(paragraph) {
		if line != "" && len(line)+1+len(word) > width {
			t.Statement(line)
			line = ""
		}
		if line == "" {
			line = t.mark
		}
		line += " " + word
	}
	if line != "" {
		t.Statement(line)
	}
}

// Statement writes a statement as it is.
func (t *Text) Statement(stmt string) { t.b.WriteString(stmt + "\n") }
