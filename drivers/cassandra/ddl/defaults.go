package ddl

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// comparison compares a keyspace with what a schema wants, and knows the statements that mend
// a difference.
type comparison struct {
	*Definition
	there    *LiveKeyspace
	exact    bool   // more replicas than wanted are a difference too
	strategy string // class of the nodes' own default compaction; "" if it is Cassandra's
}

// addDefaults adds to want, the settings that a table should have, Cassandra's defaults for
// those that only have, the existing table's, contains. So Compare also finds a changed
// setting that the schema does not set.
func (m *comparison) addDefaults(want, have map[string]string) {
	given := want["compaction.class"] != ""
	for _, name := range slices.Sorted(maps.Keys(have)) { // compaction.class comes before what depends on it
		if _, ok := want[name]; ok || want["compression.enabled"] == "false" && strings.HasPrefix(name, "compression.") {
			continue
		}
		value, known := m.defaultOf(name, want)
		// If a node has a default strategy of its own, the strategy may have parameters that
		// the node does not show.
		if !known && (name == indexesHint || !given && m.strategy != "" &&
			strings.HasPrefix(name, "compaction.")) {
			continue
		}
		want[name] = value
	}
}

// defaultOf returns the value that Cassandra 4.0 to 5.0 gives an option that a CREATE
// TABLE does not set (org.apache.cassandra.schema.TableParams, CompressionParams,
// AbstractCompactionStrategy). known is false if the option has no known default.
func (m *comparison) defaultOf(name string, others map[string]string) (value string, known bool) {
	switch name {
	case "bloom_filter_fp_chance":
		if others["compaction.class"] == "LeveledCompactionStrategy" {
			return "0.1", true
		}
		return "0.01", true
	case "caching.keys":
		return "ALL", true
	case "caching.rows_per_partition":
		return "NONE", true
	case "compaction.class":
		class := cmp.Or(m.strategy, "SizeTieredCompactionStrategy")
		return class[strings.LastIndexByte(class, '.')+1:], true
	case "compaction.min_threshold":
		return "4", true
	case "compaction.max_threshold":
		return "32", true
	case "compression.class":
		return "LZ4Compressor", true
	case "compression.chunk_length_in_kb":
		return "16", true
	case "gc_grace_seconds":
		return "864000", true
	}
	if o := carriedOf(name); o != nil {
		return o.usual, true
	}
	return "", false
}
