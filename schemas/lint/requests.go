package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// partitions checks how many partitions answer a read, and what it filters.
func (c *checker) partitions(p *schemas.Pattern) {
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
	if p.Kind != schemas.Scan && len(lists) > 0 && p.Parallel == 0 {
		c.atPattern("many-partitions", p, "reads one partition of %s per %s, %s", p.Table.Name, names(lists), how)
	}
	if p.Kind == schemas.Scan && counts(p) {
		c.atPattern("count-all", p, "counts the rows of all partitions of %s", p.Table.Name)
	}
	if p.Kind == schemas.Get || c.fallbacks[p] {
		return
	}
	a := accessOf(p)
	scan := p.Kind == schemas.Scan && len(a.indexes) == 0
	switch {
	case scan && len(a.dropped) > 0:
		c.atFilter("scan-filter", p, "scans all partitions of %s and filters the rows by %s", p.Table.Name, names(a.dropped))
	case scan && !counts(p):
		c.atPattern("scan-all", p, "scans all partitions of %s", p.Table.Name)
	}
	if len(a.indexes) > 0 && !bindsPartition(p) {
		var through []string
		for _, x := range a.indexes {
			through = append(through, "index "+x.Name)
		}
		c.atPattern("index-all-nodes", p, "reads all nodes through %s: it does not bind the partition key (%s)",
			words.List(through), names(p.Table.Partition))
	}
	if c.schema.Native == hbase && indexOf(p) != nil && !indexOf(p).OverKeys() { // HBase has no such index
		a.dropped = p.Filter
	}
	if !scan && len(a.dropped) > 0 {
		c.atFilter("filter-reads-more", p, "scans rows of %s and filters them by %s", p.Table.Name, names(a.dropped))
	}
}

// counts reports whether a scan returns the number of all rows, and no group of them.
func counts(p *schemas.Pattern) bool {
	number := strings.Contains(strings.ToLower(carried(p, "select")), "count(")
	return number && carried(p, "group by") == "" && carried(p, "where") == "" && len(p.Filter) == 0
}

// order checks where the order of a slice's rows comes from.
func (c *checker) order(p *schemas.Pattern) {
	if ordered := orderedBy(p); ordered != nil {
		c.atPattern("order-by-index", p, "sorts by (%s): index %s has that order, and the primary key of %s (%s) does not",
			names(ordered), p.Index.Name, p.Table.Name, names(p.Table.Key()))
	}
	if p.Reverse {
		f := c.atPattern("order-backwards", p, "reads %s against its clustering order", p.Table.Name)
		forward := slices.DeleteFunc(c.of(p.Table, schemas.Slice), func(o *schemas.Pattern) bool {
			return o.Reverse || o.Index != nil || o.In != nil
		})
		if len(forward) > 0 {
			f.Do = fmt.Sprintf("Write a second table in that order, or accept it: %s needs the order of this one.",
				forward[0].Name)
		}
	}
	order, mixed := p.Order(), false
	var directed []string
	for _, ic := range order {
		word := ic.Column.Name
		if ic.Desc {
			word += " desc"
		}
		directed, mixed = append(directed, word), mixed || ic.Desc != order[0].Desc
	}
	if mixed {
		c.atPattern("sorted-by-client", p, "sorts by (%s): the client reads and sorts all rows of %s that match",
			strings.Join(directed, ", "), p.Table.Name)
	}
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
	key, order := p.Table.Key(), slices.Concat(p.By, by)
	if len(order) <= len(key) && slices.Equal(order, key[:len(order)]) {
		return nil
	}
	return by
}

// indexes checks the secondary indexes of a table.
func (c *checker) indexes(t *schemas.Table) {
	key := t.Key()
	for _, x := range t.Indexes {
		through := slices.DeleteFunc(c.of(t, schemas.Slice, schemas.Scan), func(p *schemas.Pattern) bool {
			return !slices.Contains(accessOf(p).indexes, x)
		})
		if len(c.schema.Patterns) > 0 && len(through) == 0 && !c.unread[t.Name] {
			c.atIndex("index-unused", t, x, "no pattern reads through index %s", x.Name)
		}
		var first *schemas.Column // that is not in the partition key
		begins := len(x.Columns) >= len(t.Partition)
		for i, ic := range x.Columns {
			begins = begins && i < len(key) && ic.Column == key[i] && ic.Desc == key[i].Desc
			if first == nil && ic.Column.Role != schemas.Partition {
				first = ic.Column
			}
		}
		if begins {
			c.atIndex("index-is-key", t, x, "index %s is over the first columns of the primary key (%s)", x.Name, names(key))
		}
		if first == nil || !slices.ContainsFunc(through, func(p *schemas.Pattern) bool { return !bindsPartition(p) }) {
			continue
		}
		if first.Type.Kind == schemas.Boolean {
			c.atIndex("index-few-values", t, x, "index %s has two values of %s, and is read without the partition key (%s)",
				x.Name, first.Name, names(t.Partition))
		}
		// Several rows can name one row of another table, whose partition key the column is.
		refers := func(other *schemas.Table) bool {
			key := other.Partition[0]
			return other != t && len(other.Partition) == 1 && key.Name == first.Name && key.Type.String() == first.Type.String()
		}
		if unique(t, first) && !finds(t, x, ">") && !slices.ContainsFunc(c.tables, refers) {
			c.atIndex("index-many-values", t, x,
				"%s %s is nearly unique in %s, and index %s is read without the partition key (%s)",
				first.Type, first.Name, t.Name, x.Name, names(t.Partition))
		}
	}
}

// write checks a write by itself: what it reads, replaces, adds to and deletes.
func (c *checker) write(p *schemas.Pattern) {
	t := p.Table
	if why := readsFirst(p); why != "" {
		c.atPattern("read-before-write", p, "%s", why)
	}
	switch p.Kind {
	case schemas.Put, schemas.PutIf:
		if null := carried(p, "null"); null != "" {
			c.atPattern("null-written", p, "writes null, a tombstone, to (%s) of %s", null, t.Name)
		}
		plain := func(col *schemas.Column) bool { return !col.Type.Collection() }
		if replaced := slices.DeleteFunc(slices.Clone(p.Columns), plain); len(replaced) > 0 {
			c.atPattern("collection-replaced", p, "replaces (%s): %s per row", names(replaced),
				words.Plural(len(replaced), "tombstone"))
		}
	case schemas.Append:
		for _, col := range p.Columns {
			if col.Type.Kind == schemas.List && c.appended(t, col) {
				c.atPattern("collection-grows", p, "adds to %s %s of %s with each request", col.Type, col.Name, t.Name)
			}
		}
	case schemas.Add:
		for _, col := range p.Columns {
			if col.Type.Kind != schemas.Counter && len(t.Columns) > 1 {
				c.atPattern("counter-with-plain", p, "adds to %s %s, which %s stores next to %s",
					col.Type, col.Name, t.Name, words.Plural(len(t.Columns)-1, "other column"))
			}
		}
	case schemas.Delete:
		counters := slices.DeleteFunc(c.of(t, schemas.Add), func(add *schemas.Pattern) bool {
			return add.Columns[0].Type.Kind != schemas.Counter
		})
		if len(counters) > 0 {
			c.atPattern("counter-deleted", p, "deletes counters of %s, to which %s adds", t.Name, names(counters))
		}
		if p.Scope != schemas.ScopeRow && len(p.By) < c.rowColumns(t) {
			c.atPattern("large-delete", p, "reads and deletes all HBase rows of %s with the key prefix (%s)",
				t.Name, names(p.By))
		}
	}
	replaces := slices.Contains([]schemas.PatternKind{schemas.Put, schemas.PutIf, schemas.Delete}, p.Kind)
	if fixed := carried(p, "fixed"); replaces && fixed != "" && conditional(p) && !p.Absent {
		c.atPattern("condition-on-one-row", p, "changes the same row of %s (%s) in all requests, under a condition",
			t.Name, fixed)
	}
}

// batch checks what is written together.
func (c *checker) batch(p *schemas.Pattern) {
	if c.fallbacks[p] || !spreads(p) {
		return
	}
	each := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return part.Each != "" })
	together := p.Atomic == schemas.AtomicAll ||
		p.Atomic == schemas.AtomicNone && p.Parts[0].Pattern.Table.Hints[cassandra]["batches"] == "unlogged"
	if each >= 0 && carried(p, "rows") == "" && together {
		c.atPattern("batch-unbounded", p, "one batch writes a row of %s per %s, in several partitions",
			p.Parts[each].Pattern.Table.Name, p.Parts[each].Each)
	}
	if p.Imported == nil || !conditional(p) { // an imported one with a condition has one partition
		c.atPattern("batch-spreads", p, "%s", c.guarantee(p))
	}
}

// writes checks the writes of a table together: those that race, that overwrite, and that leave copies.
func (c *checker) writes(t *schemas.Table) {
	conditional := c.of(t, schemas.PutIf)
	plain := slices.DeleteFunc(c.of(t, schemas.Put, schemas.Append, schemas.Remove, schemas.Delete),
		func(p *schemas.Pattern) bool { return p.Static || c.guarded(p) })
	if len(conditional) > 0 && len(plain) > 0 {
		c.atTable("mixed-conditional", t, "conditional writes: %s; unconditional writes of the same table: %s",
			names(conditional), names(plain))
	}
	own := t.Clustering[t.Inherited:]
	others := slices.ContainsFunc(own, func(col *schemas.Column) bool {
		return !slices.Contains([]schemas.Kind{schemas.Timestamp, schemas.Int, schemas.Boolean}, col.Type.Kind)
	})
	at := slices.IndexFunc(own, func(col *schemas.Column) bool {
		return col.Type.Kind == schemas.Timestamp && col.Type.Foreign != "date"
	})
	puts := slices.DeleteFunc(c.of(t, schemas.Put), func(p *schemas.Pattern) bool { return p.Static })
	if at >= 0 && !others && len(puts) > 0 {
		f := c.atColumn("time-as-key", t, own[at],
			"only timestamp %s distinguishes rows of (%s): %s overwrites a row of the same time",
			own[at].Name, names(t.Key()[:len(t.Key())-len(own)]), puts[0].Name)
		measured := slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool {
			return slices.Contains([]string{"float", "double", "decimal"}, c.Type.Foreign)
		})
		if measured || slices.ContainsFunc(t.Partition, func(c *schemas.Column) bool {
			return named(c.Name, guessed.Series)
		}) {
			f.Severity = Note // the rows are measurements of one source, as far as is known
		}
	}
	deletes := c.of(t, schemas.Delete)
	for _, copied := range c.tables {
		if len(deletes) > 0 && copied.Root() != t.Root() && len(c.of(copied, schemas.Delete)) == 0 &&
			len(c.of(copied, schemas.Put, schemas.PutIf)) > 0 && !c.expires(copied) &&
			(c.putTogether(t, copied) || repeats(t, copied)) {
			c.atTable("copy-not-deleted", copied, "has copies of rows of %s: %s deletes there, and no pattern deletes here",
				t.Name, names(deletes))
		}
	}
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
