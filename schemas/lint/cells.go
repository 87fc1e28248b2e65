package lint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// boundRules are about what grows without end, in the store and in what is read.
var boundRules = finders{
	"unbounded-partition": ofTables(func(c *checker, t *schemas.Table) {
		if col := growing(t, 0); col != nil && !c.ends(t) {
			c.atTable(t, "partition (%s) grows without bound: each new %s adds rows", names(t.Partition), col.Name)
		}
	}),
	"unbounded-row": ofTables(func(c *checker, t *schemas.Table) {
		n := c.rowColumns(t)
		if col := growing(t, n-len(t.Partition)); col != nil && !c.ends(t) {
			c.atTable(t, "HBase row (%s) grows without bound: each new %s adds a cell",
				names(t.Key()[:n]), col.Name)
		}
	}),
	"growth-unknown": ofTables(func(c *checker, t *schemas.Table) {
		if len(t.Rows) > 0 || len(t.Clustering) == 0 || growing(t, 0) != nil || c.ends(t) {
			return
		}
		for _, p := range c.of(t, schemas.Slice) {
			if bindsPartition(p) && (p.LimitArg || p.Limit > 1) {
				c.atTable(t, "%s reads it in pages, and the number of rows of a partition (%s), one per (%s), is unknown",
					p.Name, names(t.Partition), names(t.Clustering))
				return
			}
		}
	}),
	"unbounded-read": ofPatterns(func(c *checker, p *schemas.Pattern) {
		ends := p.Index == nil && (c.ends(p.Table) || c.drained(p) != nil) // rule queue has the latter
		if col := leftToGrow(p); col != nil && !limited(p) && !ends && !c.onlyFallback(p) {
			f := c.atPattern(p, "reads rows of %s without a limit, and each new %s adds rows", p.Table.Name, col.Name)
			if bindsPartition(p) && len(accessOf(p).indexes) > 0 {
				f.Severity = Note // how many of them have the value of the index is not known
			}
		}
	}, schemas.Slice),
	"filter-reads-more": ofPatterns(func(c *checker, p *schemas.Pattern) {
		a := accessOf(p)
		if c.schema.Native == hbase && indexOf(p) != nil && !indexOf(p).OverKeys() { // HBase has no such index
			a.dropped = p.Filter
		}
		if len(a.dropped) > 0 && (p.Kind == schemas.Slice || len(a.indexes) > 0) && !c.onlyFallback(p) {
			c.atFilter(p, "scans rows of %s and filters them by %s", p.Table.Name, names(a.dropped))
		}
	}, schemas.Slice, schemas.Scan),
	"large-delete": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if p.Scope != schemas.ScopeRow && len(p.By) < c.rowColumns(p.Table) {
			c.atPattern(p, "reads and deletes all HBase rows of %s with the key prefix (%s)", p.Table.Name, names(p.By))
		}
	}, schemas.Delete),
}

// cellRules are about single values: how large they can be, and how they grow.
var cellRules = finders{
	"content-in-one-cell": ofTables(func(c *checker, t *schemas.Table) {
		var whole []*schemas.Column
		what := ""
		for _, col := range slices.Concat(t.Static, t.Columns) {
			if content := schemas.Content[holds(t, col)]; content != "" || unnumbered(t, col) {
				what = cmp.Or(what, content)
				whole = append(whole, col)
			}
		}
		switch {
		case what != "":
			c.atColumn(t, whole[0], "%s: %s in one cell of unbounded size", described(whole), what).Part = names(whole)
		case len(whole) > 0:
			f := c.atColumn(t, whole[0], "%s: one cell of unbounded size, and no column of the key (%s) numbers chunks",
				described(whole), names(t.Key()))
			f.Part = names(whole)
			if !slices.ContainsFunc(whole, func(col *schemas.Column) bool { return namesContent(t, col) }) {
				f.Severity = Note // nothing says that it is content
			}
		}
	}),
	"list-reads-content": func(c *checker) {
		said := make(map[*schemas.Table]int)
		for _, p := range c.of(nil, schemas.Slice) {
			if !listed(p) || c.onlyFallback(p) {
				continue
			}
			content := slices.DeleteFunc(slices.Clone(p.Columns), func(col *schemas.Column) bool {
				return holds(p.Table, col) == "" && !namesContent(p.Table, col)
			})
			if len(content) == 0 {
				continue
			}
			accepts := slices.ContainsFunc(p.Accept, func(a schemas.Acceptance) bool { return a.Rule == c.rule.ID })
			if i, found := said[p.Table]; found && !accepts {
				c.found[i].Message += ", and so does " + p.Name
				c.found[i].Statement += "; " + statement(p)
				continue
			}
			c.atPattern(p, "reads %s of every row that it lists", described(content))
			if !accepts {
				said[p.Table] = len(c.found) - 1
			}
		}
	},
	"collection-listed": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if !listed(p) || c.onlyFallback(p) {
			return
		}
		for _, col := range p.Columns {
			grows := col.Type.Kind == schemas.Map || c.appended(p.Table, col)
			if grows && len(p.Table.Rows) == 0 {
				c.atPattern(p, "reads all of %s %s of every row that it lists", col.Type, col.Name)
			}
		}
	}, schemas.Slice),
	"collection-grows": ofPatterns(func(c *checker, p *schemas.Pattern) {
		for _, col := range p.Columns {
			if col.Type.Kind == schemas.List && c.appended(p.Table, col) {
				c.atPattern(p, "adds to %s %s of %s with each request", col.Type, col.Name, p.Table.Name)
			}
		}
	}, schemas.Append),
	"collection-replaced": ofPatterns(func(c *checker, p *schemas.Pattern) {
		var replaced []*schemas.Column
		for _, col := range p.Columns {
			if col.Type.Collection() {
				replaced = append(replaced, col)
			}
		}
		if len(replaced) > 0 {
			c.atPattern(p, "replaces (%s): %s per row", names(replaced), words.Plural(len(replaced), "tombstone"))
		}
	}, schemas.Put, schemas.PutIf),
}

// unnumbered reports whether a column can hold content as far as is known: it is a blob that is not
// called something small, the table does not say what its columns hold, and its key numbers no parts.
func unnumbered(t *schemas.Table, c *schemas.Column) bool {
	blob := c.Type.Kind == schemas.Blob || c.Type.Collection() && c.Type.Elem.Kind == schemas.Blob
	return blob && c.Role != schemas.Partition && c.Role != schemas.Clustering && len(t.Rows) == 0 && !namesSmall(c) &&
		!slices.ContainsFunc(t.Key(), func(k *schemas.Column) bool { return Serves(t, k, schemas.Chunk) })
}

// namesSmall guesses by its name whether a blob is an identifier, a hash, a key or another short value.
func namesSmall(c *schemas.Column) bool {
	if named(c, guessed.Large) {
		return false
	}
	words := wordsOf(c.Name)
	last := strings.TrimRight(words[len(words)-1], "0123456789")
	return named(c, guessed.Small) || slices.ContainsFunc(guessed.Small, func(word string) bool { // such as passwordhash
		return strings.HasSuffix(last, word) && (len(word) > 2 || word == "id")
	})
}

// namesContent guesses whether a text or blob holds content: the table does not say what its
// columns hold, the key numbers no parts of it, and the name says it.
func namesContent(t *schemas.Table, c *schemas.Column) bool {
	text := named(c, guessed.Content)
	return c.Type.Kind == schemas.Text && c.Role == schemas.Plain && len(t.Rows) == 0 && text ||
		unnumbered(t, c) && (text || named(c, guessed.Media))
}

// listed reports whether a slice can return many rows.
func listed(p *schemas.Pattern) bool { return p.Limit != 1 && (leftToGrow(p) != nil || limited(p)) }

// described lists columns with their types.
func described(cs []*schemas.Column) string {
	all := make([]string, len(cs))
	for i, c := range cs {
		all[i] = c.Type.String() + " " + c.Name
	}
	return words.List(all)
}

// appended reports whether some pattern appends to a column.
func (c *checker) appended(t *schemas.Table, col *schemas.Column) bool {
	return slices.ContainsFunc(c.of(t, schemas.Append), func(p *schemas.Pattern) bool {
		return slices.Contains(p.Columns, col) && carried(p, "set") == "" // that sets one place of a list
	})
}

// columnRules are about tables and columns that nothing reads, or nothing writes.
var columnRules = finders{
	"table-unread": ofTables(func(c *checker, t *schemas.Table) {
		if u := c.uses(t); !u.reads && u.writes {
			c.atTable(t, "no pattern reads it")
		}
	}),
	"table-unwritten": ofTables(func(c *checker, t *schemas.Table) {
		switch u := c.uses(t); {
		case u.writes || len(c.schema.Patterns) == 0:
		case !u.reads && !u.deletes:
			c.atTable(t, "no pattern reads or writes it").Do = "Remove the table, or add the patterns that use it."
		default:
			c.atTable(t, "no pattern writes it")
		}
	}),
	"column-unread": ofTables(func(c *checker, t *schemas.Table) {
		u := c.uses(t)
		for _, col := range slices.Concat(t.Static, t.Columns) {
			if u.reads && u.written[col] && !u.read[col] {
				c.atColumn(t, col, "no pattern reads column %s", col.Name)
			}
		}
	}),
	"column-unwritten": ofTables(func(c *checker, t *schemas.Table) {
		u := c.uses(t)
		for _, col := range slices.Concat(t.Static, t.Columns) {
			indexed := slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool { return x.Has(col) })
			switch {
			case !u.writes || u.written[col] || t.View() != "":
			case !u.read[col] && !indexed:
				f := c.atColumn(t, col, "no pattern reads or writes column %s", col.Name)
				f.Do = "Remove the column, or name it in the patterns that need it."
			default:
				c.atColumn(t, col, "no pattern writes column %s", col.Name)
			}
		}
	}),
	"materialized-view": ofTables(func(c *checker, t *schemas.Table) {
		if base := t.View(); base != "" {
			c.atTable(t, "is a materialized view of %s and can differ from it", base)
		}
	}),
	"counter-with-plain": ofPatterns(func(c *checker, p *schemas.Pattern) {
		for _, col := range p.Columns {
			if col.Type.Kind != schemas.Counter && len(p.Table.Columns) > 1 {
				c.atPattern(p, "adds to %s %s, which %s stores next to %s",
					col.Type, col.Name, p.Table.Name, words.Plural(len(p.Table.Columns)-1, "other column"))
			}
		}
	}, schemas.Add),
}

// uses says what the patterns of a table do to it.
type uses struct {
	reads, writes, deletes bool // some pattern reads, writes or deletes rows or static columns
	read, written          map[*schemas.Column]bool
}

func (c *checker) uses(t *schemas.Table) uses {
	u := uses{read: make(map[*schemas.Column]bool), written: make(map[*schemas.Column]bool)}
	u.writes = t.View() != "" // with its base
	if c.unread[t.Name] {     // the columns of that statement are unknown
		u.reads, u.writes = true, true
		for _, col := range slices.Concat(t.Static, t.Columns) {
			u.read[col], u.written[col] = true, true
		}
	}
	for _, v := range c.schema.Tables {
		if v.View() == t.Name {
			u.reads = true
			for _, col := range slices.Concat(v.Key(), v.Columns) {
				u.read[t.Column(col.Name)] = true
			}
		}
	}
	for _, p := range c.on[t] {
		into := u.written
		switch p.Kind {
		case schemas.Get, schemas.Slice, schemas.Scan:
			u.reads, into = true, u.read
		case schemas.Put, schemas.PutIf, schemas.Add, schemas.Append:
			u.writes = true
		case schemas.Delete, schemas.Remove:
			u.deletes = true
		}
		u.reads = u.reads || p.Conditional() || carried(p, "if") != "" || p.ReturnsNew // a condition is a read
		for _, col := range p.Columns {
			into[col] = true
			u.read[col] = u.read[col] || p.ReturnsNew // the caller gets what it has added to
		}
		for _, col := range slices.Concat(p.By, p.Filter, p.If) {
			u.read[col] = true
		}
		said := strings.FieldsFunc(carried(p, "if")+" "+carried(p, "order by"),
			func(r rune) bool { return strings.ContainsRune(" ,()[]=<>!?", r) })
		for _, col := range slices.Concat(t.Static, t.Columns) {
			u.read[col] = u.read[col] || slices.Contains(said, col.Name)
		}
		u.read[p.Element] = true
	}
	return u
}

// tombstoneRules are about deleted rows among those that a pattern reads. Every engine
// here is a log-structured merge tree: a delete writes a marker, and reads step over
// the markers until a compaction drops them.
var tombstoneRules = finders{
	"queue": ofPatterns(func(c *checker, p *schemas.Pattern) {
		switch del := c.drained(p); {
		case del != nil && limited(p):
			c.atPattern(p, "reads the oldest rows of %s first, from which %s deletes", p.Table.Name, del.Name)
		case del != nil:
			c.atPattern(p, "reads all rows of a partition of %s, from which %s deletes one by one", p.Table.Name, del.Name)
		}
	}, schemas.Slice),
	"queue-expires": ofPatterns(func(c *checker, p *schemas.Pattern) {
		t, at := p.Table, boundKeys(p)
		if leftToGrow(p) == nil || p.Index != nil || !bindsPartition(p) {
			return
		}
		if size, _ := window(t); !c.expires(t) || c.drained(p) != nil || size > 0 {
			return
		}
		next := t.Key()[at]
		later := slices.IndexFunc(t.Key()[at+1:], timed)
		switch {
		case !timed(next) && later >= 0 && next.Type.Kind != schemas.UUID:
			c.atPattern(p, "reads rows of %s in the order of %s: expired rows are between live ones", t.Name, next.Name)
		case timed(next) && oldestFirst(p):
			f := c.atPattern(p, "reads the oldest rows of %s first, which expire first", t.Name)
			if !slices.ContainsFunc(wordsOf(t.Name), func(word string) bool {
				return slices.Contains(guessed.Queue, strings.TrimSuffix(word, "s"))
			}) {
				f.Severity = Note
			}
		}
	}, schemas.Slice),
	"tombstones-newest": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if del := c.deletedFrom(p); del != nil && newestFirst(p) {
			c.atPattern(p, "reads the newest rows of %s, from which %s deletes", p.Table.Name, del.Name)
		}
	}, schemas.Slice),
	"gc-grace-zero": ofTables(func(c *checker, t *schemas.Table) {
		c.grace(t, 0, 0, "gc_grace_seconds is %d, and %s deletes")
	}),
	"gc-grace-short": ofTables(func(c *checker, t *schemas.Table) {
		c.grace(t, 1, hintWindow-1, "gc_grace_seconds is %d, less than the hint window of 3 hours, and %s deletes")
	}),
	"window-count": ofTables(func(c *checker, t *schemas.Table) {
		if size, text := window(t); size > 0 && c.lives(t)/size > mostWindows {
			c.atTable(t, "rows live for %.0f windows of %s; 20 to 30 are recommended", c.lives(t)/size, text)
		}
	}),
	"window-changed": ofTables(func(c *checker, t *schemas.Table) {
		if size, _ := window(t); size > 0 && len(c.changes(t)) > 0 {
			c.atTable(t, "TimeWindowCompactionStrategy, but %s changes or deletes rows", names(c.changes(t)))
		}
	}),
	"tombstones-read": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if del := c.deletedFrom(p); del != nil && c.drained(p) == nil && !newestFirst(p) {
			c.atPattern(p, "reads rows of %s, from which %s deletes", p.Table.Name, del.Name)
		}
	}, schemas.Slice),
}

// deletedFrom returns a pattern that deletes less than a slice of a growing range of rows reads, or nil.
func (c *checker) deletedFrom(p *schemas.Pattern) *schemas.Pattern {
	if leftToGrow(p) == nil || p.Index != nil || !bindsPartition(p) || c.onlyFallback(p) {
		return nil
	}
	for _, del := range c.of(p.Table, schemas.Delete) {
		if len(del.By) > boundKeys(p) {
			return del
		}
	}
	return nil
}

// grace finds a gc_grace_seconds within bounds, of a table from which rows are deleted.
func (c *checker) grace(t *schemas.Table, low, high int, format string) {
	n, err := strconv.Atoi(t.Hints[cassandra]["gc_grace_seconds"])
	puts := slices.DeleteFunc(c.of(t, schemas.Put, schemas.PutIf), func(p *schemas.Pattern) bool {
		return carried(p, "delete") == ""
	})
	deletes := append(c.of(t, schemas.Delete, schemas.Remove), puts...) // rows, or values of their columns
	if err == nil && low <= n && n <= high && len(deletes) > 0 {
		c.atTable(t, format, n, names(deletes))
	}
}

// drained returns the pattern that deletes the rows which a slice reads first, or nil.
func (c *checker) drained(p *schemas.Pattern) *schemas.Pattern {
	del := c.deletedFrom(p)
	whole := len(c.of(p.Table, schemas.Get)) == 0 // rows of a queue are not read singly
	if del != nil && oldestFirst(p) && (limited(p) || whole) {
		return del
	}
	return nil
}

// oldestFirst reports whether a slice begins at the oldest of the rows that grow in
// number by time, or reads all. A lower bound lets it begin further on, and so does after.
func oldestFirst(p *schemas.Pattern) bool {
	col := leftToGrow(p)
	switch {
	case accessOf(p).low || len(p.After) > 0:
		return false
	case limited(p):
		return col.Type.Kind != schemas.UUID && col.Desc == p.Reverse
	}
	return col.Type.Kind == schemas.TimeUUID || col.Type.Kind == schemas.Timestamp
}

const (
	hintWindow  = 3 * 60 * 60 // seconds for which nodes keep hints by default
	mostWindows = 60          // twice what is recommended
)

// timed reports whether values of a key column follow the time at which their rows are made.
func timed(c *schemas.Column) bool {
	kind := c.Type.Kind
	return kind == schemas.TimeUUID || kind == schemas.Timestamp ||
		(kind == schemas.Bigint || kind == schemas.Int) && (namesTime(c) || named(c, guessed.Rising))
}

// window returns the time windows by which a table is compacted, in seconds, or 0, and in words.
func window(t *schemas.Table) (seconds float64, text string) {
	fields := strings.Fields(t.Hints[cassandra]["compaction"])
	if len(fields) == 0 || !strings.HasSuffix(fields[0], "TimeWindowCompactionStrategy") {
		return 0, ""
	}
	size, unit := 1, "DAYS" // Cassandra's defaults
	for _, word := range fields[1:] {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "compaction_window_unit":
			unit = value
		case "compaction_window_size":
			size, _ = strconv.Atoi(value)
		}
	}
	return float64(size) * map[string]float64{"MINUTES": 60, "HOURS": 3600, "DAYS": 86400}[unit],
		words.Plural(size, strings.ToLower(strings.TrimSuffix(unit, "S")))
}

// newestFirst reports whether a slice begins at the newest of the rows that grow in
// number by time, and ends at a limit.
func newestFirst(p *schemas.Pattern) bool {
	col := leftToGrow(p)
	return col.Type.Kind != schemas.UUID && col.Desc != p.Reverse && !accessOf(p).high && (p.Limit > 0 || p.LimitArg)
}

// changes returns the patterns that change or delete rows which are there: a put of some
// of the columns that another put writes changes a row, unless UPDATE is how all rows are made.
func (c *checker) changes(t *schemas.Table) []*schemas.Pattern {
	changes := c.of(t, schemas.Delete, schemas.Add, schemas.Append, schemas.Remove)
	puts := c.of(t, schemas.Put, schemas.PutIf)
	inserts := slices.ContainsFunc(puts, func(p *schemas.Pattern) bool { return carried(p, "update") == "" })
	for _, p := range puts {
		some := slices.ContainsFunc(puts, func(whole *schemas.Pattern) bool {
			return !whole.Static && len(whole.Columns) > len(p.Columns) &&
				!slices.ContainsFunc(p.Columns, func(col *schemas.Column) bool { return !slices.Contains(whole.Columns, col) })
		})
		if !p.Static && (some && inserts || len(p.If) > 0 || carried(p, "delete") != "") {
			changes = append(changes, p)
		}
	}
	return changes
}
