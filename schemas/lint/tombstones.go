package lint

import "github.com/mailbench/mailbench/schemas"

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
		ID: "tombstones-read", Severity: Note,
		Doc: `A pattern reads a range of rows, and single rows of that range are deleted. Each read steps over their
			tombstones. With a limit, what it costs depends on how much was deleted in front of what it returns.`,
		Source: sources,
		Do:     "Delete whole partitions or ranges where that is possible. Measure it with the workload churn.",
		check: func(c *checker) {
			c.afterDeletes(func(p, del *schemas.Pattern) {
				if !oldestFirst(p) {
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
// number by time. A lower bound lets it begin further on.
func oldestFirst(p *schemas.Pattern) bool {
	col := leftToGrow(p)
	lower := p.From
	if col.Type.Kind == schemas.UUID {
		return false // UUIDs are in no order of time
	}
	return col.Desc == p.Reverse && lower == nil && limited(p)
}
