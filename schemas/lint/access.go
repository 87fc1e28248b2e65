package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// condition is a comparison of a read in addition to the key columns that it binds. Op is that of CQL, or "entry" for
// that of one element with =.
type condition struct {
	columns []*schemas.Column // several: of a tuple
	op      string
}

var relation = regexp.MustCompile(`^\(?([^()<>=!\[]+?)\)?(\[\?\])? (=|!=|<=?|>=?|contains key|contains|like|between|in|is not null)(?: \?)?$`)

// conditions returns the comparisons of a pattern. A statement of CQL has them as text.
func conditions(p *schemas.Pattern) (all []condition) {
	var said []*schemas.Column
	for text := range strings.SplitSeq(carried(p, "where"), " and ") {
		m := relation.FindStringSubmatch(text)
		if m == nil {
			continue // a token
		}
		var columns []*schemas.Column
		for name := range strings.SplitSeq(m[1], ", ") {
			if c := p.Table.Column(name); c != nil && !slices.Contains(p.By, c) {
				columns = append(columns, c)
			}
		}
		if m[2] != "" && m[3] == "=" {
			m[3] = "entry"
		}
		if len(columns) > 0 {
			all, said = append(all, condition{columns, m[3]}), append(said, columns...)
		}
	}
	for _, c := range p.Filter {
		if !slices.Contains(said, c) {
			all = append(all, condition{[]*schemas.Column{c}, "="})
		}
	}
	return all
}

// carried returns a clause of CQL that a pattern carries through, or "".
func carried(p *schemas.Pattern, clause string) string { return schemas.Carried(p.Other, clause) }

// access says how a read finds its rows.
type access struct {
	indexes   []*schemas.Index  // those that can find them
	dropped   []*schemas.Column // those that the engine compares after it has read a row
	low, high bool              // the rows have a lower, an upper bound in the key column after the bound ones
	limited   bool              // the number of rows is fixed or the caller's choice
	grows     *schemas.Column   // the clustering column whose new values add rows, or nil
}

func accessOf(p *schemas.Pattern) access {
	a := access{low: p.From != nil, high: p.To != nil, grows: growing(p.Table, boundKeys(p)-len(p.Table.Partition))}
	if p.Index != nil { // which can bind a clustering column
		a.grows = growing(p.Table, 0, p.By...)
	}
	left := conditions(p)
	if p.Index == nil && bindsPartition(p) {
		left = a.slice(p, left)
	}
	if p.Index != nil {
		a.indexes = append(a.indexes, p.Index)
	}
	if x := indexOf(p); x != nil && p.Imported == nil && p.Index == nil {
		a.indexes, left = append(a.indexes, x), nil
	}
	near, _, _ := strings.Cut(carried(p, "order by"), " ann of ")
	for _, x := range p.Table.Indexes {
		last := x.Columns[len(x.Columns)-1].Column
		found := func(c condition) bool { return c.columns[0] == last && finds(p.Table, x, c.op) }
		at := slices.IndexFunc(left, found)
		if at < 0 && (near != last.Name || carried(p, "order by") == near) || p.Imported == nil ||
			len(x.Columns) > 1 && !bindsPartition(p) { // such an index is within partitions
			continue
		}
		if at >= 0 && (finds(p.Table, x, ">") || len(a.indexes) == 0) { // of several plain indexes Cassandra reads one
			left = slices.DeleteFunc(left, found)
		}
		if !slices.Contains(a.indexes, x) {
			a.indexes = append(a.indexes, x)
		}
	}
	for _, c := range left {
		for _, col := range c.columns {
			if !slices.Contains(a.dropped, col) {
				a.dropped = append(a.dropped, col)
			}
		}
	}
	a.limited = p.Limit > 0 || p.LimitArg || a.low && a.high || carried(p, "per partition limit") != ""
	return a
}

// slice takes out the conditions that choose a range of the clustering order: equal values of the next
// key columns, and bounds of the one after them.
func (a *access) slice(p *schemas.Pattern, left []condition) []condition {
	for _, col := range p.Table.Key()[boundKeys(p):] {
		more := false
		left = slices.DeleteFunc(left, func(c condition) bool {
			if c.columns[0] != col {
				return false
			}
			low, high := strings.HasPrefix(c.op, ">") || c.op == "between", strings.HasPrefix(c.op, "<") || c.op == "between"
			a.low, a.high = a.low || low, a.high || high
			more = more || c.op == "=" || c.op == "in"
			return low || high || c.op == "=" || c.op == "in"
		})
		if !more {
			return left
		}
	}
	return left
}

// finds reports whether an imported index finds rows by a comparison of its column. Its class is that of CQL: "" is
// Cassandra's first one. Of a collection it has the values, unless it says keys, entries or full.
func finds(t *schemas.Table, x *schemas.Index, op string) bool {
	c := x.Columns[len(x.Columns)-1].Column
	part, class, _ := t.IndexClauses(x)
	class = cmp.Or(class, t.Hints[cassandra]["indexes"])
	plain := class == "" || class == "legacy" || class == "legacy_local_table"
	switch op {
	case "contains key":
		return part == "keys"
	case "entry":
		return part == "entries"
	case "contains":
		return c.Type.Collection() && part != "keys" && part != "entries" && part != "full"
	case "=":
		return !c.Type.Collection() || part == "full"
	case "<", "<=", ">", ">=", "between":
		return !plain
	case "like":
		return !plain && class != "sai"
	}
	return false
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
	free := func(c *schemas.Column) bool { return !slices.Contains(p.By, c) && p.In != c }
	return !slices.ContainsFunc(p.Table.Partition, free)
}

// indexOf returns the index that answers a filter: it begins with the filtered
// columns, after the partition key if it has that; nil if there is none.
func indexOf(p *schemas.Pattern) *schemas.Index {
	other := func(ic schemas.IndexColumn) bool { return !slices.Contains(p.Filter, ic.Column) }
	for _, x := range p.Table.Indexes {
		cs, n := x.Columns, len(p.Filter)
		for len(cs) > 0 && cs[0].Column.Role == schemas.Partition {
			cs = cs[1:]
		}
		if n > 0 && len(cs) >= n && !slices.ContainsFunc(cs[:n], other) {
			return x
		}
	}
	return nil
}

// Answer says how a table answers a pattern.
type Answer struct {
	Pattern    string `json:"pattern"`
	Kind       string `json:"kind"`
	Table      string `json:"table,omitempty"`
	Partitions string `json:"partitions"` // how many partitions are read or written
	Order      string `json:"order"`      // where the order of the rows comes from: the key, an index, or nothing
	Bound      string `json:"bound"`      // what bounds the number of rows
}

// answer says how a pattern is answered.
func answer(p *schemas.Pattern) Answer {
	return Answer{p.Name, p.Kind.String(), tableName(p), partitionsOf(p), orderOf(p), boundOf(p)}
}

func partitionsOf(p *schemas.Pattern) string {
	switch {
	case p.Kind == schemas.Batch && p.Atomic == schemas.AtomicShard:
		return "one shard"
	case (p.Atomic == schemas.AtomicNone || p.Atomic == schemas.AtomicAll) && spreads(p):
		return "several partitions"
	case p.Kind == schemas.Scan:
		return "all partitions"
	case p.In != nil && p.In.Role == schemas.Partition:
		return "one partition per " + p.In.Name
	case p.Kind.Reads() && !bindsPartition(p):
		return "all nodes"
	}
	return "one partition"
}

func orderOf(p *schemas.Pattern) string {
	switch {
	case !p.Kind.Reads():
		return "-"
	case p.Kind == schemas.Scan:
		return "none"
	case p.In != nil:
		return "list"
	case p.Kind == schemas.Get:
		return "-"
	case orderedBy(p) != nil:
		return "index " + p.Index.Name
	case p.Index != nil && !bindsPartition(p):
		return "none"
	case p.Reverse:
		return "key, reversed"
	}
	return "key"
}

func boundOf(p *schemas.Pattern) string {
	switch {
	case p.In != nil, slices.ContainsFunc(p.Parts, func(part schemas.Part) bool { return part.Each != "" }):
		return "list length"
	case p.Kind == schemas.Batch:
		return fmt.Sprintf("%d rows", len(p.Parts))
	case p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow:
		return "all rows of the " + p.Scope.String()
	case p.Kind == schemas.Get && p.Element != nil:
		return "one value"
	case p.Kind == schemas.Get, !p.Kind.Reads():
		return "one row"
	case p.Limit > 0:
		return fmt.Sprintf("limit %d", p.Limit)
	case p.LimitArg:
		return "limit argument"
	case p.Kind == schemas.Scan:
		return "none, all rows"
	}
	if col := accessOf(p).grows; col != nil {
		return "none, grows with " + col.Name
	}
	return "none, rows of the key prefix"
}
