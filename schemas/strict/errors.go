// Package strict reads YAML and accepts nothing unknown. It finds every fault of a
// file, each with its place, what was expected and the nearest known word.
package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file; lines and columns count from 1. File is "" for the file
// that was read, else the file that this one is based on.
type Pos struct {
	Line, Column int
	File         string
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
	if e.Near == "" {
		return e.Msg
	}
	return e.Msg + fmt.Sprintf("; did you mean %q?", e.Near)
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
