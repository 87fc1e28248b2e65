package hbase

import (
	"cmp"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compilerOf compiles the patterns of a schema for an HBase that has its tables.
func compilerOf(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	if _, err := newSettings(o); err != nil {
		return nil, err
	}
	l, err := newLayout(prefixOf(o.Namespace, s.Name), s)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	st := new(Store)
	st.tables.Add(s, l.tables)
	return plan.Compiler(st.compile), nil
}

// Explain implements drivers.Explainer: the requests and the keys that example
// arguments lead to.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic change of a row:", p, st.parts)
	}
	args := drivers.Example(p)
	fixed := append([]drivers.Value(nil), args[:len(p.By)]...)
	if st.Layout.In >= 0 {
		fixed = append(fixed, args[st.Layout.In].Elems()[0])
	}
	keys, err := st.explainKeys(fixed, args)
	if err != nil {
		return nil, st.Named(err)
	}
	verb := cmp.Or(st.request, verbs[p.Kind], "Put")
	if st.searches() {
		verb = "Scan, then Delete"
	}
	line := fmt.Sprintf("%s of %s, family %s: %s", verb, st.table.hbase, st.family, keys)
	if st.backward {
		line += ", from the last"
	}
	if st.Layout.In >= 0 {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	for _, c := range p.Filter {
		lines = append(lines, fmt.Sprintf("  the region server leaves out rows in which %s differs", c.Name))
	}
	return lines, nil
}

// explainKeys writes the row key or the range of row keys, and for a wide row also the
// qualifiers.
func (st *statement) explainKeys(fixed, args []drivers.Value) (string, error) {
	n := min(len(fixed), len(st.rows))
	var b plan.Range
	if err := b.Set(&st.Plan, st.rows, fixed[:n], args, st.backward); err != nil {
		return "", err
	}
	if n < len(st.rows) {
		return "rows " + span(&b), nil
	}
	keys := fmt.Sprintf("row %x", b.Lower)
	if !st.cells {
		return keys, nil
	}
	err := b.Set(&st.Plan, st.table.rest, fixed[n:], args, st.backward)
	return keys + ", cells " + span(&b), err
}

// span writes a range of keys. An empty end means no bound.
func span(b *plan.Range) string {
	switch {
	case len(b.Lower)+len(b.Upper) == 0:
		return "all"
	case len(b.Upper) == 0:
		return fmt.Sprintf("from %x", b.Lower)
	}
	return fmt.Sprintf("from %x to before %x", b.Lower, b.Upper)
}

// verbs are the requests of writes that are not a Put.
var verbs = map[schemas.PatternKind]string{
	schemas.PutIf: "CheckAndMutate", schemas.Add: "Increment", schemas.Delete: "Delete",
}
