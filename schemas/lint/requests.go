package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// partitionRules are about how many partitions answer a pattern.
var partitionRules = finders{
	"scan-all": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.dropped)+len(a.indexes) == 0 && !c.onlyFallback(p) && !counts(p) {
			c.atPattern(p, "scans all partitions of %s", p.Table.Name)
		}
	}, schemas.Scan),
	"count-all": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if counts(p) {
			c.atPattern(p, "counts the rows of all partitions of %s", p.Table.Name)
		}
	}, schemas.Scan),
	"scan-filter": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.dropped) > 0 && len(a.indexes) == 0 && !c.onlyFallback(p) {
			c.atFilter(p, "scans all partitions of %s and filters the rows by %s", p.Table.Name, names(a.dropped))
		}
	}, schemas.Scan),
	"index-all-nodes": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.indexes) > 0 && !bindsPartition(p) && !c.onlyFallback(p) {
			var through []string
			for _, x := range a.indexes {
				through = append(through, "index "+x.Name)
			}
			c.atPattern(p, "reads all nodes through %s: it does not bind the partition key (%s)",
				words.List(through), names(p.Table.Partition))
		}
	}, schemas.Slice, schemas.Scan),
	"many-partitions": ofPatterns(func(c *checker, p *schemas.Pattern) {
		var lists []*schemas.Column // of values of the partition key
		for _, col := range p.Table.Partition {
			if p.In == col || slices.Contains(strings.Split(carried(p, "where"), " and "), col.Name+" in ?") {
				lists = append(lists, col)
			}
		}
		how := "sequentially"
		if p.Imported != nil {
			how = "in one query, which one node coordinates"
		}
		if len(lists) > 0 && p.Parallel == 0 {
			c.atPattern(p, "reads one partition of %s per %s, %s", p.Table.Name, names(lists), how)
		}
	}, schemas.Get, schemas.Slice),
}

// counts reports whether a scan returns the number of all rows, and no group of them.
func counts(p *schemas.Pattern) bool {
	number := strings.Contains(strings.ToLower(carried(p, "select")), "count(")
	return number && carried(p, "group by") == "" && carried(p, "where") == "" && len(p.Filter) == 0
}

// orderRules are about where the order of a pattern's rows comes from.
var orderRules = finders{
	"order-by-index": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if ordered := orderedBy(p); ordered != nil && !c.onlyFallback(p) {
			c.atPattern(p, "sorts by (%s): index %s has that order, and the primary key of %s (%s) does not",
				names(ordered), p.Index.Name, p.Table.Name, names(p.Table.Key()))
		}
	}, schemas.Slice),
	"order-backwards": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if !p.Reverse || c.onlyFallback(p) {
			return
		}
		f := c.atPattern(p, "reads %s against its clustering order", p.Table.Name)
		for _, o := range c.of(p.Table, schemas.Slice) {
			if !o.Reverse && o.Index == nil && o.In == nil {
				f.Do = fmt.Sprintf("Write a second table in that order, or accept it: %s needs the order of this one.", o.Name)
				return
			}
		}
	}, schemas.Slice),
	"sorted-by-client": ofPatterns(func(c *checker, p *schemas.Pattern) {
		order, mixed := p.Order(), false
		var directed []string
		for _, ic := range order {
			word := ic.Column.Name
			if ic.Desc {
				word += " desc"
			}
			directed, mixed = append(directed, word), mixed || ic.Desc != order[0].Desc
		}
		if mixed && !c.onlyFallback(p) {
			c.atPattern(p, "sorts by (%s): the client reads and sorts all rows of %s that match",
				strings.Join(directed, ", "), p.Table.Name)
		}
	}, schemas.Slice),
}

// orderedBy returns the columns of an index that order the rows of a slice through
// it, or nil if the primary key orders them as well.
func orderedBy(p *schemas.Pattern) []*schemas.Column {
	if p.Index == nil {
		return nil
	}
	var by []*schemas.Column
	for _, ic := range p.Index.Columns[len(p.By):] {
		by = append(by, ic.Column)
	}
	key := p.Table.Key()
	if len(p.By) <= len(key) && slices.Equal(p.By, key[:len(p.By)]) && len(by) <= len(key)-len(p.By) &&
		slices.Equal(by, key[len(p.By):len(p.By)+len(by)]) {
		return nil
	}
	return by
}

// indexRules are about secondary indexes.
var indexRules = finders{
	"index-unused": ofIndexes(func(c *checker, t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
		if len(c.schema.Patterns) > 0 && len(c.through(t, x)) == 0 && !c.unread[t.Name] {
			c.atIndex(t, x, "no pattern reads through index %s", x.Name)
		}
	}),
	"index-is-key": ofIndexes(func(c *checker, t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
		key := t.Key()
		if len(x.Columns) < len(t.Partition) {
			return
		}
		for i, ic := range x.Columns {
			if i >= len(key) || ic.Column != key[i] || ic.Desc != key[i].Desc {
				return
			}
		}
		c.atIndex(t, x, "index %s is over the first columns of the primary key (%s)", x.Name, names(key))
	}),
	"index-few-values": ofIndexes(func(c *checker, t *schemas.Table, x *schemas.Index, first *schemas.Column) {
		if first != nil && first.Type.Kind == schemas.Boolean && c.everyNode(t, x) {
			c.atIndex(t, x, "index %s has two values of %s, and is read without the partition key (%s)",
				x.Name, first.Name, names(t.Partition))
		}
	}),
	"index-many-values": ofIndexes(func(c *checker, t *schemas.Table, x *schemas.Index, first *schemas.Column) {
		// Several rows can name one row of another table, whose partition key the column is.
		refers := func(other *schemas.Table) bool {
			key := other.Partition[0]
			return other != t && len(other.Partition) == 1 && key.Name == first.Name && key.Type.String() == first.Type.String()
		}
		if first != nil && unique(t, first) && !finds(t, x, ">") && c.everyNode(t, x) &&
			!slices.ContainsFunc(c.tables(), refers) {
			c.atIndex(t, x, "%s %s is nearly unique in %s, and index %s is read without the partition key (%s)",
				first.Type, first.Name, t.Name, x.Name, names(t.Partition))
		}
	}),
}

// everyNode reports whether some pattern reads through the index without the
// partition key.
func (c *checker) everyNode(t *schemas.Table, x *schemas.Index) bool {
	return slices.ContainsFunc(c.through(t, x), func(p *schemas.Pattern) bool { return !bindsPartition(p) })
}

// writeRules are about writes that read, writes that race, and writes together.
var writeRules = finders{
	"read-before-write": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if why := readsFirst(p); why != "" {
			c.atPattern(p, "%s", why)
		}
	}),
	"null-written": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if null := carried(p, "null"); null != "" {
			c.atPattern(p, "writes null, a tombstone, to (%s) of %s", null, p.Table.Name)
		}
	}, schemas.Put, schemas.PutIf),
	"condition-on-one-row": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if fixed := carried(p, "fixed"); fixed != "" && conditional(p) && !p.Absent {
			c.atPattern(p, "changes the same row of %s (%s) in all requests, under a condition", p.Table.Name, fixed)
		}
	}, schemas.Put, schemas.PutIf, schemas.Delete),
	"mixed-conditional": ofTables(func(c *checker, t *schemas.Table) {
		conditional := c.of(t, schemas.PutIf)
		plain := slices.DeleteFunc(c.of(t, schemas.Put, schemas.Append, schemas.Remove, schemas.Delete),
			func(p *schemas.Pattern) bool { return p.Static || c.guarded(p) })
		if len(conditional) > 0 && len(plain) > 0 {
			c.atTable(t, "conditional writes: %s; unconditional writes of the same table: %s", names(conditional),
				names(plain))
		}
	}),
	"time-as-key": ofTables(func(c *checker, t *schemas.Table) {
		own := t.Clustering[t.Inherited:]
		others := slices.ContainsFunc(own, func(col *schemas.Column) bool {
			return !slices.Contains([]schemas.Kind{schemas.Timestamp, schemas.Int, schemas.Boolean}, col.Type.Kind)
		})
		at := slices.IndexFunc(own, func(col *schemas.Column) bool {
			return col.Type.Kind == schemas.Timestamp && col.Type.Foreign != "date"
		})
		puts := slices.DeleteFunc(c.of(t, schemas.Put), func(p *schemas.Pattern) bool { return p.Static })
		if at >= 0 && !others && len(puts) > 0 {
			f := c.atColumn(t, own[at], "only timestamp %s distinguishes rows of (%s): %s overwrites a row of the same time",
				own[at].Name, names(t.Key()[:len(t.Key())-len(own)]), puts[0].Name)
			measured := slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool {
				return slices.Contains([]string{"float", "double", "decimal"}, c.Type.Foreign)
			})
			if measured || slices.ContainsFunc(t.Partition, func(c *schemas.Column) bool {
				return named(c, guessed.Series)
			}) {
				f.Severity = Note // the rows are measurements of one source, as far as is known
			}
		}
	}),
	"counter-deleted": ofPatterns(func(c *checker, p *schemas.Pattern) {
		counters := slices.DeleteFunc(c.of(p.Table, schemas.Add), func(add *schemas.Pattern) bool {
			return add.Columns[0].Type.Kind != schemas.Counter
		})
		if len(counters) > 0 {
			c.atPattern(p, "deletes counters of %s, to which %s adds", p.Table.Name, names(counters))
		}
	}, schemas.Delete),
	"copy-not-deleted": ofTables(func(c *checker, t *schemas.Table) {
		deletes := c.of(t, schemas.Delete)
		if len(deletes) == 0 {
			return
		}
		for _, copied := range c.tables() {
			if copied.Root() != t.Root() && len(c.of(copied, schemas.Delete)) == 0 &&
				len(c.of(copied, schemas.Put, schemas.PutIf)) > 0 && !c.expires(copied) &&
				(c.putTogether(t, copied) || repeats(t, copied)) {
				c.atTable(copied, "has copies of rows of %s: %s deletes there, and no pattern deletes here",
					t.Name, names(deletes))
			}
		}
	}),
	"batch-unbounded": ofPatterns(func(c *checker, p *schemas.Pattern) {
		each := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return part.Each != "" })
		together := p.Atomic == schemas.AtomicAll ||
			p.Atomic == schemas.AtomicNone && p.Parts[0].Pattern.Table.Hints[cassandra]["batches"] == "unlogged"
		if each >= 0 && carried(p, "rows") == "" && together && spreads(p) && !c.onlyFallback(p) {
			c.atPattern(p, "one batch writes a row of %s per %s, in several partitions",
				p.Parts[each].Pattern.Table.Name, p.Parts[each].Each)
		}
	}, schemas.Batch),
	"batch-spreads": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if !c.onlyFallback(p) && spreads(p) && !(p.Imported != nil && conditional(p)) { // that has one partition
			c.atPattern(p, "%s", c.guarantee(p))
		}
	}, schemas.Batch),
}

// conditional reports whether a write, or a batch, has a condition. Some are of CQL only.
func conditional(p *schemas.Pattern) bool { return p.Conditional() || carried(p, "if") != "" }

// guarded reports whether a write has a condition of its own, or that of a batch.
func (c *checker) guarded(p *schemas.Pattern) bool {
	return carried(p, "if") != "" || slices.ContainsFunc(c.schema.Patterns, func(batch *schemas.Pattern) bool {
		return carried(batch, "if") != "" &&
			slices.ContainsFunc(batch.Parts, func(part schemas.Part) bool { return part.Pattern == p })
	})
}

// readsFirst says what a write reads, or "".
func readsFirst(p *schemas.Pattern) string {
	noList := func(c *schemas.Column) bool { return c.Type.Kind != schemas.List }
	lists := slices.DeleteFunc(slices.Clone(p.Columns), noList)
	switch p.Kind {
	case schemas.PutIf:
		if p.Absent || p.Present {
			return fmt.Sprintf("checks whether the row of %s exists", p.Table.Name)
		}
		return fmt.Sprintf("compares (%s) of %s before it writes", names(p.If), p.Table.Name)
	case schemas.Remove:
		if len(lists) > 0 {
			return fmt.Sprintf("reads the list (%s) of %s to find the element", names(lists), p.Table.Name)
		}
	case schemas.Append:
		if carried(p, "set") != "" && len(lists) > 0 {
			return fmt.Sprintf("reads the list (%s) of %s to set one element", names(lists), p.Table.Name)
		}
	case schemas.Add:
		if p.ReturnsNew {
			return fmt.Sprintf("returns (%s) of %s after adding to it", names(p.Columns), p.Table.Name)
		}
		if p.Columns[0].Type.Kind == schemas.Counter {
			return fmt.Sprintf("adds to counters (%s) of %s, which Cassandra reads first", names(p.Columns), p.Table.Name)
		}
	}
	return ""
}

// spreads reports whether a batch changes several partitions. One of these is enough:
//   - atomic: all
//   - tables under several root tables
//   - atomic: none, and a part that is repeated
func spreads(p *schemas.Pattern) bool {
	repeated := false
	for _, part := range p.Parts {
		if part.Pattern.Table.Root() != p.Parts[0].Pattern.Table.Root() {
			return true
		}
		repeated = repeated || part.Each != ""
	}
	return p.Atomic == schemas.AtomicAll || p.Atomic == schemas.AtomicNone && repeated
}

// guarantee says what a batch writes and what an interruption leaves.
func (c *checker) guarantee(p *schemas.Pattern) string {
	var tables []string
	for _, part := range p.Parts {
		if name := part.Pattern.Table.Name; !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	what := fmt.Sprintf("writes %s in several partitions", strings.Join(tables, ", "))
	if p.Atomic == schemas.AtomicNone {
		return what + ", and is not atomic on any engine (atomic: none)"
	}
	able := slices.DeleteFunc(EngineNames(), func(engine string) bool { return c.unable(engine, p) != "" })
	if len(able) == 0 {
		return what + ", which no engine does atomically"
	}
	return fmt.Sprintf("%s (atomic: %s), which is atomic on %s only", what, p.Atomic, strings.Join(able, " and "))
}

// putTogether reports whether a batch puts rows into both tables.
func (c *checker) putTogether(a, b *schemas.Table) bool {
	return slices.ContainsFunc(c.of(nil, schemas.Batch), func(p *schemas.Pattern) bool {
		into := func(t *schemas.Table) bool {
			return slices.ContainsFunc(p.Parts, func(part schemas.Part) bool {
				return part.Pattern.Table == t && (part.Pattern.Kind == schemas.Put || part.Pattern.Kind == schemas.PutIf)
			})
		}
		return into(a) && into(b)
	})
}

// repeats reports whether rows of a table are copies of those of another one: it has the
// key of the other and a column more, and the other has all of its columns.
func repeats(of, t *schemas.Table) bool {
	if len(t.Static)+len(t.Columns) == 0 {
		return false // keys alone relate two things, in both directions
	}
	lacks := func(t *schemas.Table) func(*schemas.Column) bool {
		return func(c *schemas.Column) bool {
			found := t.Column(c.Name)
			return found == nil || found.Type.String() != c.Type.String()
		}
	}
	return !slices.ContainsFunc(of.Key(), lacks(t)) &&
		!slices.ContainsFunc(t.All(), lacks(of))
}
