package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Order finds calls of a batch whose order counts. It keeps its memory from call to call.
type Order struct{ sorted []int }

// Counts returns an error that names two calls of a batch whose order counts, or nil if there are
// none. The order of two counts if both write a column of one row, or if one deletes the row that the
// other writes. tables says which tables to look at. The calls have the right number of arguments,
// and no key is null.
func (o *Order) Counts(batch *schemas.Pattern, calls []drivers.Call, tables func(*schemas.Table) bool) error {
	o.sorted = o.sorted[:0]
	for i := range calls {
		if tables(batch.Parts[calls[i].Part].Pattern.Table) {
			o.sorted = append(o.sorted, i)
		}
	}
	part := func(i int) *schemas.Pattern { return batch.Parts[calls[i].Part].Pattern }
	slices.SortFunc(o.sorted, func(i, j int) int {
		return cmp.Or(tableAt(batch, calls[i].Part)-tableAt(batch, calls[j].Part),
			compareKeys(part(i), part(j), calls[i].Args, calls[j].Args), i-j)
	})
	// A row comes after the keys that its own begins with.
	for at, i := range o.sorted {
		p := part(i)
		for _, j := range o.sorted[at+1:] {
			q := part(j)
			n := len(p.By)
			if q.Table != p.Table || len(q.By) < n ||
				slices.CompareFunc(calls[i].Args[:n], calls[j].Args[:n], drivers.Value.Compare) != 0 {
				break
			}
			if overlap(p, q) {
				return fmt.Errorf("parts %d (%s) and %d (%s) write the same row", min(i, j)+1, part(min(i, j)).Name,
					max(i, j)+1, part(max(i, j)).Name)
			}
		}
	}
	return nil
}

// tableAt returns the number of the first part that has the table of a part.
func tableAt(batch *schemas.Pattern, part int) int {
	table := batch.Parts[part].Pattern.Table
	return slices.IndexFunc(batch.Parts, func(p schemas.Part) bool { return p.Pattern.Table == table })
}

// overlap reports whether the order of two writes counts, of which the first has a key with which
// that of the second begins.
func overlap(p, q *schemas.Pattern) bool {
	switch first, second := p.Kind == schemas.Delete, q.Kind == schemas.Delete; {
	case first != second:
		return first || len(p.By) == len(q.By) // a delete of a row spares static columns
	case first:
		return false
	}
	return slices.ContainsFunc(p.Columns, func(c *schemas.Column) bool { return slices.Contains(q.Columns, c) })
}

// compareKeys orders the keys of two writes to a table. A key comes after one that it begins with.
func compareKeys(p, q *schemas.Pattern, a, b []drivers.Value) int {
	n := min(len(p.By), len(q.By))
	return cmp.Or(slices.CompareFunc(a[:n], b[:n], drivers.Value.Compare), len(p.By)-len(q.By))
}
