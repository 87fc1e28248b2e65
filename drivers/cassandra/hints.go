package cassandra

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// engineName is the engine's name in the list of engines and in hints.
const engineName = "cassandra"

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
//
// Two hints are no options. The hint indexes is the kind of the table's indexes: legacy or sai
// (storage-attached indexes, Cassandra 5). The hint batches, if unlogged, makes a batch with
// atomic none whose first part writes to the table one request, without a batch log.
//
//	indexes: sai
//	batches: unlogged
var hintNames = []string{
	"batches", "bloom_filter_fp_chance", "caching", "compaction", "compression",
	"gc_grace_seconds", indexesHint,
}

const indexesHint = "indexes"

// unloggedBatches reports whether a table has the hint batches.
func unloggedBatches(t *schemas.Table) (bool, error) {
	switch value := t.Hints[engineName]["batches"]; value {
	case "":
		return false, nil
	case "unlogged":
		return true, nil
	default:
		return false, fmt.Errorf("table %s: hint batches: %q; expected unlogged", t.Name, value)
	}
}

const (
	legacyIndex = "legacy"
	sai         = "sai"
)

func indexKind(t *schemas.Table) (string, error) {
	switch kind := t.Hints[engineName][indexesHint]; kind {
	case "":
		return legacyIndex, nil
	case legacyIndex, sai:
		return kind, nil
	default:
		return "", fmt.Errorf("table %s: hint %s: %q; expected legacy or sai", t.Name, indexesHint, kind)
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
	hints := t.Hints[engineName]
	var all []option
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		if name == indexesHint {
			continue
		}
		if name == "batches" {
			if _, err := unloggedBatches(t); err != nil {
				return nil, err
			}
			continue
		}
		o, err := readHint(name, hints[name])
		if err != nil {
			return nil, fmt.Errorf("table %s: hint %s: %w", t.Name, name, err)
		}
		all = append(all, o)
	}
	return all, nil
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
		}
		return o, o.pairs(words[1:])
	case "caching":
		o.fields = make(map[string]string)
		err := o.pairs(words)
		for k, v := range o.fields {
			o.fields[k] = strings.ToUpper(v) // as Cassandra writes ALL and NONE
		}
		return o, err
	case "gc_grace_seconds":
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
		words = append(words, literal(k)+": "+literal(fields[k]))
	}
	return "{" + strings.Join(words, ", ") + "}"
}
