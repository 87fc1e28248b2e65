package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

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
				return slices.Contains(queueWords, strings.TrimSuffix(word, "s"))
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

var queueWords = []string{"queue", "job", "task", "pending", "todo", "outbox", "work", "backlog", "request", "schedule"}

// timed reports whether values of a key column follow the time at which their rows are made.
func timed(c *schemas.Column) bool {
	kind := c.Type.Kind
	numbers := []string{"ts", "time", "timestamp", "at", "created", "seq", "sequence", "id", "nr", "offset", "pos"}
	return kind == schemas.TimeUUID || kind == schemas.Timestamp ||
		(kind == schemas.Bigint || kind == schemas.Int) && (namesTime(c) || named(c, numbers))
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
