// Package diagram draws a schema as a design document shows it: as SVG for a
// page, or as Mermaid text for a wiki.
//
// [Logical] and [Physical] are Chebotko diagrams (Chebotko, Kashlev, Lu: "A Big
// Data Modeling Methodology for Apache Cassandra", IEEE BigData 2015). Each
// table is a box, and each column has its part at the right: K partition key,
// C↑ and C↓ clustering column with its order, S static, IDX secondary index, ++
// counter. A set is written {name}, a list [name], a map <name>. The physical
// diagram has the types. Arrows with the labels Q1, Q2 … show which read leads
// to which table.
//
// [Workflow] has the reads themselves, from those that a client begins with to
// those that need what others yield.
//
// The labels are those of [Queries]. The same schema is always drawn the same.
package diagram

import (
	"errors"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/schemas"
)

// Kind says what a diagram shows.
type Kind string

// The kinds of diagram.
const (
	Logical  Kind = "logical"
	Physical Kind = "physical"
	Workflow Kind = "workflow"
)

// Kinds are all kinds of diagram.
var Kinds = []Kind{Logical, Physical, Workflow}

// ErrNoWorkflow is the error for a workflow diagram of a schema that declares none.
var ErrNoWorkflow = errors.New("the schema declares no workflow; add one after its patterns, such as workflow: " +
	"{folders: page, page: message}")

// SVG writes the diagram as an SVG document with colors for light and dark pages.
func SVG(w io.Writer, s *schemas.Schema, k Kind) error {
	sc, err := draw(s, k)
	if err != nil {
		return err
	}
	if err := sc.write(w); err != nil {
		return fmt.Errorf("write diagram: %w", err)
	}
	return nil
}

// Style is the style sheet of the diagrams, for a page that has some of them.
func Style() string { return style }

// Inline writes the diagram as an SVG element of a page, without a style sheet. Each
// diagram of the page needs an id of its own, which is a word.
func Inline(w io.Writer, s *schemas.Schema, k Kind, id string) error {
	sc, err := draw(s, k)
	if err != nil {
		return err
	}
	sc.inline = id
	if err := sc.write(w); err != nil {
		return fmt.Errorf("write diagram: %w", err)
	}
	return nil
}

func draw(s *schemas.Schema, k Kind) (*scene, error) {
	if k != Workflow {
		return chebotko(s, k), nil
	}
	if len(s.Workflow) == 0 {
		return nil, ErrNoWorkflow
	}
	return workflow(s), nil
}
