// Package strict reads YAML for languages that forgive nothing: it finds every
// fault of a file, each with its place, what was expected and the nearest known
// word.
package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file; lines and columns count from 1.
type Pos struct{ Line, Column int }

// Error is one fault of a file, at its place.
type Error struct {
	File string
	Pos  Pos
	Msg  string // what was found and what was expected
	Near string // the known word that was probably meant, or ""
}

// Error returns one line: file:line:column, the message and the nearest word.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Column, e.Msg)
	if e.Near != "" {
		s += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return s
}

// Errors are all faults of a file, in the order of their places.
type Errors []*Error

// Error returns one line a fault.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
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
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return es
}
