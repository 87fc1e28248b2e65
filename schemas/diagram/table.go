package diagram

import "github.com/mailbench/mailbench/schemas"

// line is one line of a table's box.
type line struct {
	name, typ, part string
	rule            bool // a new section begins above it
	added           bool // an addition of mailbench
}

// lines returns the lines of a table: key, static and plain columns, and what
// indexes sort by if that is more than one column.
func lines(t *schemas.Table, k Kind) []line {
	var ls []line
	add := func(cs []*schemas.Column) {
		for i, c := range cs {
			ls = append(ls, line{
				name: columnName(c, k), typ: c.Type.String(), part: part(t, c),
				rule: i == 0 && len(ls) > 0, added: c.Addition != "",
			})
		}
	}
	add(t.Key())
	add(append(append([]*schemas.Column(nil), t.Static...), t.Columns...))
	for _, x := range t.Indexes {
		if len(x.Columns) < 2 {
			continue
		}
		ls = append(ls, line{name: x.Name, part: "IDX", rule: true, added: x.Addition != ""})
		for _, c := range x.Columns {
			ls = append(ls, line{name: "  " + c.Column.Name, part: arrow(c.Desc)})
		}
	}
	return ls
}

// columnName writes a collection as Chebotko does; a physical diagram has its type.
func columnName(c *schemas.Column, k Kind) string {
	if k == Physical {
		return c.Name
	}
	switch c.Type.Kind {
	case schemas.Set:
		return "{" + c.Name + "}"
	case schemas.List:
		return "[" + c.Name + "]"
	case schemas.Map:
		return "<" + c.Name + ">"
	}
	return c.Name
}

// part returns what a column is in its table, in Chebotko's notation.
func part(t *schemas.Table, c *schemas.Column) string {
	switch {
	case c.Role == schemas.Partition:
		return "K"
	case c.Role == schemas.Clustering:
		return "C" + arrow(c.Desc)
	case c.Role == schemas.Static:
		return "S"
	case c.Type.Kind == schemas.Counter:
		return "++"
	}
	for _, x := range t.Indexes {
		if len(x.Columns) == 1 && x.Columns[0].Column == c {
			return "IDX"
		}
	}
	return ""
}

func arrow(desc bool) string {
	if desc {
		return "↓"
	}
	return "↑"
}

// drawn returns the tables of a diagram: all but row headers, which have nothing to show.
// The tables nested in a header name it.
func drawn(s *schemas.Schema) []*schemas.Table {
	var ts []*schemas.Table
	for _, t := range s.Tables {
		if !t.Header() {
			ts = append(ts, t)
		}
	}
	return ts
}
