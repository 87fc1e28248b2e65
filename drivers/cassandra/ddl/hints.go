package ddl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// EngineName is the engine's name in the list of engines and in hints.
const EngineName = "cassandra"

// hintNames are the hints of a table (hints: {cassandra: {NAME: VALUE}}). Each is
// an option of the CQL table. A map is written as words: first the class, then
// key=value. Examples:
//
//	compaction: LeveledCompactionStrategy sstable_size_in_mb=160
//	compression: ZstdCompressor chunk_length_in_kb=16
//	compression: none
//	caching: keys=ALL rows_per_partition=NONE
//	gc_grace_seconds: 3600
//	bloom_filter_fp_chance: 0.01
//	ttl: 2592000 (seconds; the option default_time_to_live)
//
// Three hints are no options. The hint indexes is the kind of the table's indexes: legacy or sai
// (storage-attached indexes, Cassandra 5). The hint batches, if unlogged, makes a batch with
// atomic none whose first part writes to the table one request, without a batch log. It is
// several if the cluster takes no batch of that size, and deletes of other partitions come after
// puts, in a request of their own.
//
// The hint puts, if new-rows, says that puts write rows that are not there yet, or the same row
// again. Such a put deletes nothing: it leaves out what is null or empty, and adds the elements
// of sets and maps. Otherwise Cassandra writes a tombstone for each null, and one for each
// collection to delete its elements.
//
//	indexes: sai
//	batches: unlogged
//	puts: new-rows
var hintNames = []string{
	batchesHint, "bloom_filter_fp_chance", "caching", "compaction", "compression",
	"gc_grace_seconds", indexesHint, putsHint, schemas.ExpirySetting,
}

// strategies are Cassandra's own compaction strategies. Another one is named with its package.
var strategies = []string{
	"SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "TimeWindowCompactionStrategy",
	"UnifiedCompactionStrategy", "DateTieredCompactionStrategy", "IncrementalCompactionStrategy", // the last is ScyllaDB's
}

// compressors are Cassandra's own compressors.
var compressors = []string{
	"LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor", "NoopCompressor",
}

// CheckHints refuses hints of a table that Cassandra does not know (drivers.Engine).
func CheckHints(t *schemas.Table) error {
	if _, err := options(t); err != nil {
		return err
	}
	if _, err := indexKind(t); err != nil {
		return err
	}
	_, err := NewRows(t)
	return err
}

// checkClass says whether a class is one of Cassandra's own, or named with its package.
func checkClass(class string, own []string) error {
	if name := strings.TrimPrefix(class, "org.apache.cassandra.db.compaction."); !strings.Contains(name, ".") &&
		!slices.Contains(own, name) {
		return fmt.Errorf("unknown class %q; expected one of %s, or a class with its package",
			class, strings.Join(own, ", "))
	}
	return nil
}

// expiryOption is the option of the hint ttl.
const expiryOption = "default_time_to_live"

const batchesHint, putsHint = "batches", "puts"

const indexesHint = "indexes"

// UnloggedBatches reports whether a table has the hint batches.
func UnloggedBatches(t *schemas.Table) (bool, error) {
	return hasHint(t, batchesHint, "unlogged")
}

// NewRows reports whether puts to a table write rows that are not there yet: the hint puts.
func NewRows(t *schemas.Table) (bool, error) { return hasHint(t, putsHint, "new-rows") }

// hasHint reports whether a table has a hint, which can have one value only.
func hasHint(t *schemas.Table, name, only string) (bool, error) {
	switch value := t.Hints[EngineName][name]; value {
	case "":
		return false, nil
	case only:
		return true, nil
	default:
		return false, fmt.Errorf("table %s: hint %s: %q; expected %s", t.Name, name, value, only)
	}
}

// option is one table option: a number, or a map.
type option struct {
	name   string
	number string
	fields map[string]string
}

// options returns the hints of a table as options, sorted by name.
func options(t *schemas.Table) ([]option, error) {
	hints := t.Hints[EngineName]
	var all []option
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		var err error
		switch name {
		case indexesHint:
			continue
		case batchesHint:
			_, err = UnloggedBatches(t)
		case putsHint:
			_, err = NewRows(t)
		}
		if err != nil {
			return nil, err
		}
		if name == batchesHint || name == putsHint {
			continue
		}
		o, err := readHint(name, hints[name])
		if err != nil {
			return nil, fmt.Errorf("table %s: hint %s: %w", t.Name, name, err)
		}
		all = append(all, o)
	}
	more, err := carried(t)
	return append(all, more...), err
}

func readHint(name, value string) (option, error) {
	o := option{name: name}
	words := strings.Fields(value)
	switch name {
	case "compaction", "compression":
		if len(words) == 0 || strings.Contains(words[0], "=") {
			return o, fmt.Errorf("%q does not begin with a class such as LeveledCompactionStrategy or LZ4Compressor", value)
		}
		o.fields = map[string]string{"class": words[0]}
		if name == "compression" && value == "none" {
			o.fields = map[string]string{"enabled": "false"}
			return o, nil
		}
		own := strategies
		if name == "compression" {
			own = compressors
		}
		if err := checkClass(words[0], own); err != nil {
			return o, err
		}
		return o, o.pairs(words[1:])
	case "caching":
		o.fields = make(map[string]string)
		err := o.pairs(words)
		for k, v := range o.fields {
			o.fields[k] = strings.ToUpper(v) // as Cassandra writes ALL and NONE
		}
		return o, err
	case "gc_grace_seconds", schemas.ExpirySetting:
		if name == schemas.ExpirySetting {
			o.name = expiryOption
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return o, fmt.Errorf("%q is not a whole number of seconds", value)
		}
		o.number = strconv.FormatUint(n, 10)
		return o, nil
	case "bloom_filter_fp_chance":
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || p <= 0 || p > 1 {
			return o, fmt.Errorf("%q; expected a number above 0 and up to 1 (no filter)", value)
		}
		o.number = strconv.FormatFloat(p, 'g', -1, 64)
		return o, nil
	}
	return o, fmt.Errorf("unknown; expected one of %s", strings.Join(hintNames, ", "))
}

func (o option) pairs(words []string) error {
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" || v == "" {
			return fmt.Errorf("%q is not of the form key=value", w)
		}
		o.fields[k] = v
	}
	return nil
}

// String returns the option as CQL writes it.
func (o option) String() string {
	if c := carriedOf(o.name); c != nil {
		return o.name + " = " + c.cql(o.number)
	}
	if o.fields == nil {
		return o.name + " = " + o.number
	}
	return o.name + " = " + cqlMap(o.fields)
}

// cqlMap writes a map of strings in CQL, with "class" first.
func cqlMap(fields map[string]string) string {
	keys := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "class":
			return -1
		case b == "class":
			return 1
		}
		return strings.Compare(a, b)
	})
	var words []string
	for _, k := range keys {
		words = append(words, Literal(k)+": "+Literal(fields[k]))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

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
