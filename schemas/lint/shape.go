package lint

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// growing returns the first clustering column, from the given one on, that gets a
// new value for each message or event; nil if there is none. If the table declares its
// rows, they say whether there is one. Types say which: a timeuuid, timestamp, uuid or
// bigint, else the first column. A bigint below such a column numbers the pieces of one
// message.
func growing(t *schemas.Table, from int) *schemas.Column {
	if len(t.Rows) > 0 && !slices.ContainsFunc(t.Rows, gathers) {
		return nil
	}
	one := false // the clustering columns before c name one message
	for i, c := range t.Clustering {
		if serves(t, c, schemas.Chunk) {
			continue
		}
		switch c.Type.Kind {
		case schemas.TimeUUID, schemas.Timestamp, schemas.UUID:
		case schemas.Bigint:
			if one {
				continue
			}
		default:
			continue
		}
		if i >= from {
			return c
		}
		one = true
	}
	if !one && len(t.Rows) > 0 && from == 0 && len(t.Clustering) > 0 {
		return t.Clustering[0]
	}
	return nil
}

// gathers reports whether messages of a user or folder, or rows of all users, come
// together in one partition.
func gathers(r *schemas.Rows) bool {
	if g := r.Growth; g != nil {
		return !r.Static && g.Of > 0 && g.Every == "" && g.Per > 0
	}
	ofMany := r.Partition == "user" || r.Partition == "folder"
	return !r.Static && (r.Partition == "all" || ofMany && (r.Each == "message" || r.Each == "attachment"))
}

// holds returns what part of a message a column holds in one cell, of any size: a
// quantity of [schemas.Content], or "".
func holds(t *schemas.Table, c *schemas.Column) string {
	if quantity, inPieces := t.Holds(c); !inPieces {
		return quantity
	}
	return ""
}

// unique reports whether nearly each row has its own value of a column. The column's
// type says so, or the table's rows do: each user has a row with the user's address.
func unique(t *schemas.Table, c *schemas.Column) bool {
	switch c.Type.Kind {
	case schemas.UUID, schemas.TimeUUID, schemas.Timestamp, schemas.Blob:
		return true
	}
	return slices.ContainsFunc(t.Rows, func(r *schemas.Rows) bool {
		return r.Each == "user" && r.Partition == "user" && slices.ContainsFunc(r.Sizes, func(size schemas.ColumnSize) bool {
			return size.Column == c && slices.ContainsFunc(size.Bytes, func(t schemas.Term) bool {
				return t.Quantity == "address"
			})
		})
	})
}

// rowColumns returns how many columns of the primary key are in the HBase row key.
// The rest is the qualifier of a cell in that row.
func (c *checker) rowColumns(t *schemas.Table) int {
	if c.facts != nil {
		if n := c.facts.Unit(hbase, t); n > 0 {
			return n
		}
	}
	return len(t.Partition) + len(t.Clustering)
}

// onlyFallback reports whether the pattern runs in place of another one.
func (c *checker) onlyFallback(p *schemas.Pattern) bool {
	return slices.ContainsFunc(c.schema.Patterns, func(o *schemas.Pattern) bool { return o.Fallback == p })
}

// of returns the patterns on a table of the kinds given.
func (c *checker) of(t *schemas.Table, kinds ...schemas.PatternKind) []*schemas.Pattern {
	var ps []*schemas.Pattern
	c.patterns(func(p *schemas.Pattern) {
		if p.Table == t {
			ps = append(ps, p)
		}
	}, kinds...)
	return ps
}

// boundKeys returns how many columns of the primary key, or of the index, a read
// binds to values: by, and in.
func boundKeys(p *schemas.Pattern) int {
	n := len(p.By)
	if p.In != nil {
		n++
	}
	return n
}

// bindsPartition reports whether a read names the partition that answers it.
func bindsPartition(p *schemas.Pattern) bool {
	for _, c := range p.Table.Partition {
		if !slices.Contains(p.By, c) && p.In != c {
			return false
		}
	}
	return true
}

// indexOf returns the index that answers a filter: it begins with the filtered
// columns, after the partition key if it has that; nil if there is none.
func indexOf(p *schemas.Pattern) *schemas.Index {
	for _, x := range p.Table.Indexes {
		cs := x.Columns
		for len(cs) > 0 && cs[0].Column.Role == schemas.Partition {
			cs = cs[1:]
		}
		if len(cs) >= len(p.Filter) && !slices.ContainsFunc(cs[:len(p.Filter)], func(ic schemas.IndexColumn) bool {
			return !slices.Contains(p.Filter, ic.Column)
		}) {
			return x
		}
	}
	return nil
}

// limited reports whether the read returns a number of rows that is fixed or the
// caller's choice.
func limited(p *schemas.Pattern) bool {
	return p.Limit > 0 || p.LimitArg || p.From != nil && p.To != nil
}

// leftToGrow returns the clustering column whose new values add rows to what a slice
// reads, or nil.
func leftToGrow(p *schemas.Pattern) *schemas.Column {
	if p.Index != nil {
		return growing(p.Table, 0)
	}
	return growing(p.Table, boundKeys(p)-len(p.Table.Partition))
}
