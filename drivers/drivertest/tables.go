package drivertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// tables writes what of a schema is stored, in an order of its own: an engine
// does not keep the order of tables, plain columns and indexes.
func tables(s *schemas.Schema) string {
	var all []string
	for _, t := range s.Tables {
		if t.Header() {
			continue // nothing that an engine must keep
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s partition %s clustering %s", t.Name, columns(t.Partition), columns(t.Clustering))
		if t.Parent != nil && !t.Parent.Header() {
			fmt.Fprintf(&b, " in %s", t.Parent.Name)
		}
		fmt.Fprintf(&b, " static %s plain %s", sorted(columns(t.Static)), sorted(columns(t.Columns)))
		var indexes []string
		for _, x := range t.Indexes {
			var cols []string
			for _, c := range x.Columns {
				cols = append(cols, fmt.Sprint(c.Column.Name, " ", c.Desc))
			}
			indexes = append(indexes, fmt.Sprint(x.Name, cols))
		}
		fmt.Fprintf(&b, " indexes %s", sorted(indexes))
		all = append(all, b.String())
	}
	return strings.Join(sorted(all), "\n")
}

func columns(cs []*schemas.Column) []string {
	var words []string
	for _, c := range cs {
		word := c.Name + " " + c.Type.String()
		if c.Desc {
			word += " desc"
		}
		words = append(words, word)
	}
	return words
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
