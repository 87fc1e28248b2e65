package page

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// modelView shows the access patterns of a model's operations, and its schema.
type modelView struct {
	Name, Doc, ID string
	Problem       string // why the schema cannot be shown
	Behind        []behind
	Patterns      []patternView
	Diagram       template.HTML
}

// behind has the patterns that ran for an operation.
type behind struct{ Op, Patterns string }

// patternView describes a pattern that ran.
type patternView struct{ Name, What, Doc string }

// newModelViews shows each model whose schema the run has.
func newModelViews(r *results.Run) []modelView {
	var all []modelView
	for i := range r.Schemas {
		saved := &r.Schemas[i]
		v := modelView{Name: saved.Model, ID: anchor("schema", i)}
		var ran []string
		v.Behind, ran = behindOf(r, saved.Model)
		s, err := schemas.ParseStored(saved.Model+".yaml", []byte(saved.Text))
		if err != nil {
			v.Problem = err.Error()
			all = append(all, v)
			continue
		}
		v.Doc = s.Doc
		for _, p := range s.Patterns {
			if slices.Contains(ran, p.Name) {
				v.Patterns = append(v.Patterns, patternView{p.Name, diagram.Request(p), p.Doc})
			}
		}
		var svg bytes.Buffer
		if err := diagram.Inline(&svg, s, diagram.Logical, v.ID); err != nil {
			v.Problem = err.Error()
		} else {
			v.Diagram = template.HTML(svg.String()) // package diagram escapes all texts
		}
		all = append(all, v)
	}
	return all
}

// behindOf lists the patterns of each operation of a model, and all patterns that ran. If other
// patterns ran on an engine, such as fallbacks, they follow with the engine's name.
func behindOf(r *results.Run, model string) (bs []behind, ran []string) {
	type key struct{ op, patterns string }
	var order []string
	texts, seen := map[string][]string{}, map[key]bool{}
	for _, c := range r.Select(func(c *results.Cell) bool { return c.Model == model && c.Measured() }) {
		for op, o := range c.Ops {
			if len(o.Patterns) == 0 {
				continue
			}
			var names, words []string
			for _, p := range o.Patterns {
				names = append(names, p.Name)
				words = append(words, p.Name+" "+times(p.Calls))
				if !slices.Contains(ran, p.Name) {
					ran = append(ran, p.Name)
				}
			}
			slices.Sort(names)
			k := key{op, strings.Join(names, " ")}
			if seen[k] {
				continue
			}
			seen[k] = true
			text := strings.Join(words, ", ")
			if len(texts[op]) > 0 {
				text = c.Engine + ", " + c.Where() + ": " + text
			} else {
				order = append(order, op)
			}
			texts[op] = append(texts[op], text)
		}
	}
	slices.Sort(order)
	for _, op := range order {
		bs = append(bs, behind{op, strings.Join(texts[op], "; ")})
	}
	return bs, ran
}

// times writes how often a pattern ran in one operation, on average.
func times(calls float64) string {
	if calls > 0 && calls < 0.005 {
		return "× <0.01"
	}
	return "× " + words.Digits(calls)
}

// anchor names a place of the page.
func anchor(what string, n int) string { return fmt.Sprintf("%s%d", what, n) }
