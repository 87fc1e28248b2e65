package lint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// growth checks what grows without end in the store.
func (c *checker) growth(t *schemas.Table) {
	if c.ends(t) {
		return
	}
	n := c.rowColumns(t)
	if col := growing(t, n-len(t.Partition)); col != nil {
		c.atTable("unbounded-row", t, "HBase row (%s) grows without bound: each new %s adds a cell",
			names(t.Key()[:n]), col.Name)
	}
	paged := slices.DeleteFunc(c.of(t, schemas.Slice), func(p *schemas.Pattern) bool {
		return !bindsPartition(p) || !p.LimitArg && p.Limit <= 1
	})
	switch col := growing(t, 0); {
	case col != nil:
		c.atTable("unbounded-partition", t, "partition (%s) grows without bound: each new %s adds rows",
			names(t.Partition), col.Name)
	case len(t.Rows) == 0 && len(t.Clustering) > 0 && len(paged) > 0:
		c.atTable("growth-unknown", t,
			"%s reads it in pages, and the number of rows of a partition (%s), one per (%s), is unknown",
			paged[0].Name, names(t.Partition), names(t.Clustering))
	}
}

// listing checks how much a slice reads: rows without a limit, and of every row its content and collections.
func (c *checker) listing(p *schemas.Pattern) {
	t, a := p.Table, accessOf(p)
	ends := p.Index == nil && (c.ends(t) || c.drained(p, a) != nil) // rule queue has the latter
	if a.grows != nil && !a.limited && !ends {
		f := c.atPattern("unbounded-read", p, "reads rows of %s without a limit, and each new %s adds rows",
			t.Name, a.grows.Name)
		if bindsPartition(p) && len(a.indexes) > 0 {
			f.Severity = Note // how many of them have the value of the index is not known
		}
	}
	if p.Limit == 1 || a.grows == nil && !a.limited {
		return // it returns few rows
	}
	for _, col := range p.Columns {
		grows := col.Type.Kind == schemas.Map || c.appended(t, col)
		if grows && len(t.Rows) == 0 {
			c.atPattern("collection-listed", p, "reads all of %s %s of every row that it lists", col.Type, col.Name)
		}
	}
	content := slices.DeleteFunc(slices.Clone(p.Columns), func(col *schemas.Column) bool {
		return holds(t, col) == "" && !namesContent(t, col)
	})
	if len(content) == 0 {
		return
	}
	const rule = "list-reads-content" // one finding for all patterns of a table that do not accept it
	accepts := slices.ContainsFunc(p.Accept, func(a schemas.Acceptance) bool { return a.Rule == rule })
	if i, found := c.listed[t]; found && !accepts {
		c.found[i].Message += ", and so does " + p.Name
		c.found[i].Statement += "; " + statement(p)
		return
	}
	c.atPattern(rule, p, "reads %s of every row that it lists", described(content))
	if !accepts {
		c.listed[t] = len(c.found) - 1
	}
}

// cells checks how large single values can be.
func (c *checker) cells(t *schemas.Table) {
	var whole []*schemas.Column
	what := ""
	for _, col := range slices.Concat(t.Static, t.Columns) {
		if content := schemas.Content[holds(t, col)]; content != "" || unnumbered(t, col) {
			what = cmp.Or(what, content)
			whole = append(whole, col)
		}
	}
	if len(whole) == 0 {
		return
	}
	if what != "" {
		f := c.atColumn("content-in-one-cell", t, whole[0], "%s: %s in one cell of unbounded size", described(whole), what)
		f.Part = names(whole)
		return
	}
	f := c.atColumn("content-in-one-cell", t, whole[0],
		"%s: one cell of unbounded size, and no column of the key (%s) numbers chunks", described(whole), names(t.Key()))
	f.Part = names(whole)
	if !slices.ContainsFunc(whole, func(col *schemas.Column) bool { return namesContent(t, col) }) {
		f.Severity = Note // nothing says that it is content
	}
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
	if named(c.Name, guessed.Large) {
		return false
	}
	words := wordsOf(c.Name)
	last := strings.TrimRight(words[len(words)-1], "0123456789")
	return named(c.Name, guessed.Small) || slices.ContainsFunc(guessed.Small, func(word string) bool {
		// such as passwordhash
		return strings.HasSuffix(last, word) && (len(word) > 2 || word == "id")
	})
}

// namesContent guesses whether a text or blob holds content: the table does not say what its
// columns hold, the key numbers no parts of it, and the name says it.
func namesContent(t *schemas.Table, c *schemas.Column) bool {
	text := named(c.Name, guessed.Content)
	return c.Type.Kind == schemas.Text && c.Role == schemas.Plain && len(t.Rows) == 0 && text ||
		unnumbered(t, c) && (text || named(c.Name, guessed.Media))
}

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

// columns checks whether something reads and something writes a table and its columns.
func (c *checker) columns(t *schemas.Table) {
	base := t.View()
	if base != "" {
		c.atTable("materialized-view", t, "is a materialized view of %s and can differ from it", base)
	}
	if c.unread[t.Name] { // the columns of that statement are unknown
		return
	}
	u := c.uses(t)
	switch {
	case !u.reads && u.writes:
		c.atTable("table-unread", t, "no pattern reads it")
	case u.writes || len(c.schema.Patterns) == 0:
	case !u.reads && !u.deletes:
		f := c.atTable("table-unwritten", t, "no pattern reads or writes it")
		f.Do = "Remove the table, or add the patterns that use it."
	default:
		c.atTable("table-unwritten", t, "no pattern writes it")
	}
	for _, col := range slices.Concat(t.Static, t.Columns) {
		indexed := slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool { return x.Has(col) })
		switch {
		case u.written[col] && u.reads && !u.read[col]:
			c.atColumn("column-unread", t, col, "no pattern reads column %s", col.Name)
		case u.written[col], !u.writes, base != "":
		case !u.read[col] && !indexed:
			f := c.atColumn("column-unwritten", t, col, "no pattern reads or writes column %s", col.Name)
			f.Do = "Remove the column, or name it in the patterns that need it."
		default:
			c.atColumn("column-unwritten", t, col, "no pattern writes column %s", col.Name)
		}
	}
}

// uses says what the patterns of a table do to it.
type uses struct {
	reads, writes, deletes bool // some pattern reads, writes or deletes rows or static columns
	read, written          map[*schemas.Column]bool
}

func (c *checker) uses(t *schemas.Table) uses {
	u := uses{read: make(map[*schemas.Column]bool), written: make(map[*schemas.Column]bool)}
	u.writes = t.View() != "" // with its base
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

// tombstones checks for deleted rows among those that a slice reads. Every engine
// here is a log-structured merge tree: a delete writes a marker, and reads step over
// the markers until a compaction drops them.
func (c *checker) tombstones(p *schemas.Pattern) {
	t, a := p.Table, accessOf(p)
	del, drained := c.deletedFrom(p, a), c.drained(p, a)
	switch {
	case drained != nil && a.limited:
		c.atPattern("queue", p, "reads the oldest rows of %s first, from which %s deletes", t.Name, del.Name)
	case drained != nil:
		c.atPattern("queue", p, "reads all rows of a partition of %s, from which %s deletes one by one", t.Name, del.Name)
	case del != nil && newestFirst(p, a):
		c.atPattern("tombstones-newest", p, "reads the newest rows of %s, from which %s deletes", t.Name, del.Name)
	case del != nil:
		c.atPattern("tombstones-read", p, "reads rows of %s, from which %s deletes", t.Name, del.Name)
	}
	size, _ := window(t)
	if a.grows == nil || p.Index != nil || !bindsPartition(p) || !c.expires(t) || drained != nil || size > 0 {
		return
	}
	at := boundKeys(p)
	next, later := t.Key()[at], slices.IndexFunc(t.Key()[at+1:], timed)
	switch {
	case !timed(next) && later >= 0 && next.Type.Kind != schemas.UUID:
		c.atPattern("queue-expires", p, "reads rows of %s in the order of %s: expired rows are between live ones",
			t.Name, next.Name)
	case timed(next) && oldestFirst(p, a):
		f := c.atPattern("queue-expires", p, "reads the oldest rows of %s first, which expire first", t.Name)
		if !named(t.Name, guessed.Queue) {
			f.Severity = Note
		}
	}
}

// expiry checks the settings of a table about its deleted and expired rows.
func (c *checker) expiry(t *schemas.Table) {
	puts := slices.DeleteFunc(c.of(t, schemas.Put, schemas.PutIf), func(p *schemas.Pattern) bool {
		return carried(p, "delete") == ""
	})
	deletes := append(c.of(t, schemas.Delete, schemas.Remove), puts...) // rows, or values of their columns
	switch n, err := strconv.Atoi(t.Hints[cassandra]["gc_grace_seconds"]); {
	case err != nil || n < 0 || n >= hintWindow || len(deletes) == 0:
	case n == 0:
		c.atTable("gc-grace-zero", t, "gc_grace_seconds is 0, and %s deletes", names(deletes))
	default:
		c.atTable("gc-grace-short", t, "gc_grace_seconds is %d, less than the hint window of 3 hours, and %s deletes",
			n, names(deletes))
	}
	size, text := window(t)
	if size > 0 && c.lives(t)/size > mostWindows {
		c.atTable("window-count", t, "rows live for %.0f windows of %s; 20 to 30 are recommended", c.lives(t)/size, text)
	}
	if changes := c.changes(t); size > 0 && len(changes) > 0 {
		c.atTable("window-changed", t, "TimeWindowCompactionStrategy, but %s changes or deletes rows", names(changes))
	}
}

// deletedFrom returns a pattern that deletes less than a slice of a growing range of rows reads, or nil.
func (c *checker) deletedFrom(p *schemas.Pattern, a access) *schemas.Pattern {
	if a.grows == nil || p.Index != nil || !bindsPartition(p) || c.fallbacks[p] {
		return nil
	}
	for _, del := range c.of(p.Table, schemas.Delete) {
		if len(del.By) > boundKeys(p) {
			return del
		}
	}
	return nil
}

// drained returns the pattern that deletes the rows which a slice reads first, or nil.
func (c *checker) drained(p *schemas.Pattern, a access) *schemas.Pattern {
	whole := len(c.of(p.Table, schemas.Get)) == 0 // rows of a queue are not read singly
	if del := c.deletedFrom(p, a); del != nil && oldestFirst(p, a) && (a.limited || whole) {
		return del
	}
	return nil
}

// oldestFirst reports whether a slice begins at the oldest of the rows that grow in
// number by time, or reads all. A lower bound lets it begin further on, and so does after.
func oldestFirst(p *schemas.Pattern, a access) bool {
	kind := a.grows.Type.Kind
	switch {
	case a.low || len(p.After) > 0:
		return false
	case a.limited:
		return kind != schemas.UUID && a.grows.Desc == p.Reverse
	}
	return kind == schemas.TimeUUID || kind == schemas.Timestamp
}

const (
	hintWindow  = 3 * 60 * 60 // seconds for which nodes keep hints by default
	mostWindows = 60          // twice what is recommended
)

// timed reports whether values of a key column follow the time at which their rows are made.
func timed(c *schemas.Column) bool {
	kind := c.Type.Kind
	return kind == schemas.TimeUUID || kind == schemas.Timestamp ||
		(kind == schemas.Bigint || kind == schemas.Int) && (namesTime(c) || named(c.Name, guessed.Rising))
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
func newestFirst(p *schemas.Pattern, a access) bool {
	return a.grows.Type.Kind != schemas.UUID && a.grows.Desc != p.Reverse && !a.high && (p.Limit > 0 || p.LimitArg)
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
