package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// tombstoneRules are about deleted rows among those that a pattern reads. Every engine
// here is a log-structured merge tree: a delete writes a marker, and reads step over
// the markers until a compaction drops them.
func tombstoneRules() []*Rule {
	const sources = `cassandra.yaml, tombstone_warn_threshold 1,000, tombstone_failure_threshold 100,000, kept for
		gc_grace_seconds of 10 days
		(https://cassandra.apache.org/doc/latest/cassandra/managing/configuration/cass_yaml_file.html);
		DataStax, Cassandra anti-patterns: queues and queue-like datasets
		(https://www.datastax.com/blog/cassandra-anti-patterns-queues-and-queue-datasets);
		measured on Pebble: with the newest 50,000 keys deleted, the newest page went from 6.3 µs to 8.2 ms`
	return []*Rule{{
		ID: "queue", Severity: Warning,
		Doc: `A pattern reads the oldest rows of a partition first, and rows are deleted from it. That is a queue: the
			deleted rows lie in front of those that are left, each read steps over all of their tombstones, and
			Cassandra refuses a read over more than 100,000.`,
		Source: sources,
		Do: `Read from where the last read ended (from, or after with a stored position), or begin a new partition for
			each day and delete whole partitions.`,
		check: func(c *checker) {
			c.afterDeletes(func(p, del *schemas.Pattern) {
				if oldestFirst(p) {
					c.atPattern(p, "reads the oldest rows of %s first, from which %s deletes", p.Table.Name, del.Name)
				}
			})
		},
	}, {
		ID: "tombstones-newest", Severity: Warning,
		Doc: `A pattern reads the newest rows of a partition, up to a limit, and single rows are deleted from it. Where
			the newest are deleted first, as from an inbox or a list of notices, each read steps over all of their
			tombstones before it finds its rows, and Cassandra refuses a read over more than 100,000.`,
		Source: sources,
		Do: `Mark rows as done and leave them out in the client, let them expire together (ttl), or delete whole
			partitions. Accept it if few of the newest are deleted; the workload churn measures it.`,
		check: func(c *checker) {
			c.afterDeletes(func(p, del *schemas.Pattern) {
				if newestFirst(p) {
					c.atPattern(p, "reads the newest rows of %s, from which %s deletes", p.Table.Name, del.Name)
				}
			})
		},
	}, {
		ID: "gc-grace-zero", Severity: Warning, Engines: []string{cassandra},
		Doc: `gc_grace_seconds is 0, and rows are deleted. A compaction may drop a tombstone before each replica has it,
			and the deleted rows come back from a replica that was down. Nodes also keep no hints for such a table.`,
		Source: `Cassandra documentation, Tombstones and gc_grace_seconds
			(https://cassandra.apache.org/doc/latest/cassandra/managing/operating/compaction/tombstones.html); The Last
			Pickle, Hinted handoff and GC grace demystified
			(https://thelastpickle.com/blog/2018/03/21/hinted-handoff-gc-grace-demystified.html)`,
		Do: `Leave the default of 10 days, and repair more often than that. 0 is right only where rows are never
			deleted or changed and all expire.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				n, err := strconv.Atoi(t.Hints[cassandra]["gc_grace_seconds"])
				if deletes := c.of(t, schemas.Delete, schemas.Remove); err == nil && n == 0 && len(deletes) > 0 {
					c.atTable(t, "gc_grace_seconds is 0, and %s deletes", patternNames(deletes))
				}
			})
		},
	}, {
		ID: "window-changed", Severity: Warning, Engines: []string{cassandra},
		Doc: `A table has time-window compaction, and its rows are changed or deleted. What is written later is in the
			files of a later window, which are never compacted with those of the first: reads look into both, and an
			old file cannot be dropped whole while a newer one holds tombstones or values of its rows.`,
		Source: `Cassandra documentation, Time Window Compaction Strategy
			(https://cassandra.apache.org/doc/latest/cassandra/managing/operating/compaction/twcs.html); The Last
			Pickle, TWCS part 1: no deletes, no updates (https://thelastpickle.com/blog/2016/12/08/TWCS-part1.html)`,
		Do: "Write each row once and let it expire (ttl), or choose another compaction strategy.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				class, _, _ := strings.Cut(t.Hints[cassandra]["compaction"], " ")
				if !strings.HasSuffix(class, "TimeWindowCompactionStrategy") {
					return
				}
				if changes := c.changes(t); len(changes) > 0 {
					c.atTable(t, "its compaction is by time windows, and %s changes or deletes rows", patternNames(changes))
				}
			})
		},
	}, {
		ID: "tombstones-read", Severity: Note,
		Doc: `A pattern reads a range of rows, and single rows of that range are deleted. Each read steps over their
			tombstones. With a limit, what it costs depends on how much was deleted in front of what it returns.`,
		Source: sources,
		Do:     "Delete whole partitions or ranges where that is possible. Measure it with the workload churn.",
		check: func(c *checker) {
			c.afterDeletes(func(p, del *schemas.Pattern) {
				if !oldestFirst(p) && !newestFirst(p) {
					c.atPattern(p, "reads rows of %s, from which %s deletes", p.Table.Name, del.Name)
				}
			})
		},
	}}
}

// afterDeletes calls yield for every slice of a growing range of rows in which some
// pattern deletes less than the slice reads, with that pattern.
func (c *checker) afterDeletes(yield func(p, del *schemas.Pattern)) {
	c.patterns(func(p *schemas.Pattern) {
		if leftToGrow(p) == nil || p.Index != nil || c.onlyFallback(p) {
			return
		}
		for _, del := range c.of(p.Table, schemas.Delete) {
			if len(del.By) > boundKeys(p) {
				yield(p, del)
				return
			}
		}
	}, schemas.Slice)
}

// oldestFirst reports whether a slice begins at the oldest of the rows that grow in
// number by time. A lower bound lets it begin further on, and so does after.
func oldestFirst(p *schemas.Pattern) bool {
	col := leftToGrow(p)
	return col.Type.Kind != schemas.UUID && col.Desc == p.Reverse && p.From == nil && len(p.After) == 0 && limited(p)
}

// newestFirst reports whether a slice begins at the newest of the rows that grow in
// number by time, and ends at a limit.
func newestFirst(p *schemas.Pattern) bool {
	col := leftToGrow(p)
	return col.Type.Kind != schemas.UUID && col.Desc != p.Reverse && p.To == nil && (p.Limit > 0 || p.LimitArg)
}

// changes returns the patterns that change or delete rows which are there: a put of some
// of the columns that another put writes changes a row.
func (c *checker) changes(t *schemas.Table) []*schemas.Pattern {
	changes := c.of(t, schemas.Delete, schemas.Add, schemas.Append, schemas.Remove)
	puts := c.of(t, schemas.Put, schemas.PutIf)
	for _, p := range puts {
		some := slices.ContainsFunc(puts, func(whole *schemas.Pattern) bool {
			return !whole.Static && len(whole.Columns) > len(p.Columns) &&
				!slices.ContainsFunc(p.Columns, func(col *schemas.Column) bool { return !slices.Contains(whole.Columns, col) })
		})
		if !p.Static && (some || len(p.If) > 0) {
			changes = append(changes, p)
		}
	}
	return changes
}
