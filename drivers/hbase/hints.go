package hbase

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// engineName is the engine's name in the list of engines and in hints.
const engineName = "hbase"

// familySettings are a family's settings as HBase's table descriptors hold them.
type familySettings = map[string]string

// defaults are the settings of every new family; hints override them. They are HBase's own
// except NEW_VERSION_BEHAVIOR. Without that setting a delete also hides what is written after
// it in the same millisecond (docs/internals/decisions/0005-hbase-timestamps.md).
var defaults = familySettings{
	"NEW_VERSION_BEHAVIOR": "true",
	"VERSIONS":             "1",
	"MIN_VERSIONS":         "0",
	"TTL":                  "2147483647",
	"KEEP_DELETED_CELLS":   "FALSE",
	"COMPRESSION":          "NONE",
	"BLOOMFILTER":          "ROW",
	"BLOCKSIZE":            "65536",
	"DATA_BLOCK_ENCODING":  "NONE",
	"IN_MEMORY":            "false",
	"BLOCKCACHE":           "true",
	"REPLICATION_SCOPE":    "0",
}

// familyHints are the hints that set a setting of a family, with the words that they take. A
// hint without words takes a number of at least 1.
var familyHints = map[string]struct {
	setting string
	words   []string
}{
	"versions":   {"VERSIONS", nil},
	"block_size": {"BLOCKSIZE", nil},
	"compression": {"COMPRESSION", []string{
		"none", "gz", "snappy", "lz4", "lzo", "zstd", "bzip2",
		"brotli", "lzma",
	}},
	"bloom":               {"BLOOMFILTER", []string{"none", "row", "rowcol", "rowprefix_fixed_length"}},
	"bloom_prefix":        {bloomPrefix, nil},
	"mob":                 {"IS_MOB", []string{"true", "false"}},
	"mob_threshold":       {"MOB_THRESHOLD", nil},
	"data_block_encoding": {"DATA_BLOCK_ENCODING", []string{"none", "prefix", "diff", "fast_diff", "row_index_v1"}},
	"in_memory":           {"IN_MEMORY", []string{"true", "false"}},
	"block_cache":         {"BLOCKCACHE", []string{"true", "false"}},
	schemas.ExpirySetting: {"TTL", nil},
	// Only for tables of another program: mailbench's own need it (docs/internals/decisions/0005-hbase-timestamps.md).
	"new_version_behavior": {"NEW_VERSION_BEHAVIOR", []string{"true", "false"}},
}

// maxSalt bounds the hint salt: a bucket's number is one byte.
const maxSalt = 256

// bloomPrefix is how many bytes of a row key the Bloom filter rowprefix_fixed_length takes
// (BloomFilterUtil.PREFIX_LENGTH_KEY).
const bloomPrefix = "RowPrefixBloomFilter.prefix_length"

// hints are the hints of one table.
type hints struct {
	name     string            // hint family: the name of the table's family
	family   familySettings    // the settings of that family
	unsigned []*schemas.Column // hint unsigned: the table's own key columns that are never negative
	reversed bool              // hint order: reversed
	salt     int               // hint salt: buckets that row keys are spread over; 0: none
	noMarker bool              // hint marker: none
}

// parseHints reads the hints of a table for this engine. An unknown hint is an error, or a
// misspelt one would silently do nothing.
func parseHints(t *schemas.Table) (hints, error) {
	h := hints{family: maps.Clone(defaults)}
	for name, value := range t.Hints[engineName] {
		switch name {
		case "family":
			if value == "" || strings.ContainsAny(value, ":/.") {
				return h, fmt.Errorf("hint family: %q cannot name a family", value)
			}
			h.name = value
		case "unsigned":
			for _, word := range strings.Fields(value) {
				c := t.Column(word)
				if c == nil || !slices.Contains(ownKey(t), c) || c.Type.Kind != schemas.Bigint {
					return h, fmt.Errorf("hint unsigned: %s is no bigint key column of this table's own", word)
				}
				h.unsigned = append(h.unsigned, c)
			}
		case "marker":
			if value != "none" {
				return h, fmt.Errorf("hint marker: %q; expected none", value)
			}
			h.noMarker = true
		case "order":
			if value != "reversed" {
				return h, fmt.Errorf("hint order: %q; expected reversed", value)
			}
			h.reversed = true
		case "salt":
			n, err := strconv.Atoi(value)
			if err != nil || n < 2 || n > maxSalt {
				return h, fmt.Errorf("hint salt: %q; expected a number from 2 to %d", value, maxSalt)
			}
			if t.Parent != nil {
				return h, errors.New("hint salt: this table is nested: its root table has the hint for all")
			}
			h.salt = n
		default:
			f, ok := familyHints[name]
			if !ok {
				return h, fmt.Errorf("unknown hint %q; known are family, unsigned, order, marker, salt, %s", name,
					strings.Join(slices.Sorted(maps.Keys(familyHints)), ", "))
			}
			value, err := familyHint(value, f.words)
			if err != nil {
				return h, fmt.Errorf("hint %s: %w", name, err)
			}
			h.family[f.setting] = value
		}
	}
	return h, nil
}

// familyHint returns a hint's value as HBase writes it.
func familyHint(value string, words []string) (string, error) {
	if words == nil {
		var n int
		if _, err := fmt.Sscan(value, &n); err != nil || n < 1 {
			return "", fmt.Errorf("%q; expected a number of at least 1", value)
		}
		return fmt.Sprint(n), nil
	}
	if !slices.Contains(words, strings.ToLower(value)) {
		return "", fmt.Errorf("%q; expected one of %s", value, strings.Join(words, ", "))
	}
	if value == "true" || value == "false" {
		return value, nil
	}
	return strings.ToUpper(value), nil
}

// ownKey returns the key columns that a table does not inherit.
func ownKey(t *schemas.Table) []*schemas.Column {
	if t.Parent == nil {
		return t.Key()
	}
	return t.Clustering[t.Inherited:]
}
