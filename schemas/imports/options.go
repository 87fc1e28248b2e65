package imports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// options divides the settings of a table into those that a schema file has as hints,
// and others. It returns the mark that mailbench leaves in the comment of its own tables.
func options(t *schemas.Table, all []cql.Option) (marked mark) {
	for _, o := range all {
		value := cql.Unquote(o.Value)
		ok := true
		form, name := numeric[o.Name], o.Name
		if name == "default_time_to_live" {
			name = schemas.ExpirySetting
		}
		switch {
		case name == "comment":
			if m, ok := readMark(value); ok {
				marked = m
			} else {
				t.Doc = strings.TrimSpace(value)
			}
		case form != nil:
			if ok = form.MatchString(value); ok && !(name == schemas.ExpirySetting && value == "0") {
				hint(t, name, value)
			}
		case name == "compaction", name == "compression", name == "caching":
			var words string
			if words, ok = mapWords(o.Name, o.Value); ok {
				hint(t, o.Name, words)
			}
		default:
			ok = o.Name == "id" || slices.Contains(strings.Fields(defaults[o.Name]), strings.Join(strings.Fields(value), ""))
		}
		if !ok {
			t.Other = append(t.Other, schemas.Setting{Name: o.Name, Text: o.Value})
		}
	}
	return marked
}

// defaults are what DESCRIBE prints of a table with default settings: of Cassandra 3.11 to 5.0, and of
// ScyllaDB 5 and 6. They say nothing of a design.
var defaults = map[string]string{
	"additional_write_policy":     "99p 99PERCENTILE",
	"allow_auto_snapshot":         "true",
	"cdc":                         "false {}",
	"crc_check_chance":            "1 1.0",
	"dclocal_read_repair_chance":  "0 0.0 0.1",
	"extensions":                  "{}",
	"incremental_backups":         "true",
	"max_index_interval":          "2048",
	"memtable":                    "default {}",
	"memtable_flush_period_in_ms": "0",
	"min_index_interval":          "128",
	"paxos_grace_seconds":         "864000",
	"read_repair":                 "BLOCKING",
	"read_repair_chance":          "0 0.0",
	"speculative_retry":           "99p 99PERCENTILE 99.0PERCENTILE",
	"tombstone_gc": "{'mode':'timeout','propagation_delay_in_seconds':'3600'} {'mode':'timeout'} " +
		"{'mode':'repair','propagation_delay_in_seconds':'3600'}",
}

// numeric are the settings that are numbers in a schema file, with the form of these.
var numeric = map[string]*regexp.Regexp{
	"default_time_to_live": whole, "gc_grace_seconds": whole,
	"bloom_filter_fp_chance": regexp.MustCompile(`^(0\.[0-9]*[1-9]|1(\.0)?)$`),
}

var (
	whole = regexp.MustCompile(`^[0-9]{1,9}$`)
	pair  = regexp.MustCompile(`^\s*'([^'\s=]+)'\s*:\s*'?([^'\s=]+)'?\s*$`)
)

// mapWords writes {'class': 'A', 'b': 'c'} as A b=c, the form of hints. ok is false if a value
// cannot be a word.
func mapWords(name, text string) (words string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	var class string
	var rest []string
	if inner := strings.TrimSpace(text[1 : len(text)-1]); inner != "" {
		for part := range strings.SplitSeq(inner, ",") {
			m := pair.FindStringSubmatch(part)
			switch {
			case m == nil:
				return "", false
			case m[1] == "enabled" && m[2] == "false" && name == "compression":
				return "none", true
			case m[1] == "class", m[1] == "sstable_compression":
				class = m[2][strings.LastIndexByte(m[2], '.')+1:]
			default:
				rest = append(rest, m[1]+"="+m[2])
			}
		}
	}
	slices.Sort(rest)
	switch {
	case name == "caching" && class == "" && len(rest) > 0:
		return strings.Join(rest, " "), true
	case name == "caching" || class == "":
		return "", false
	}
	return strings.Join(append([]string{class}, rest...), " "), true
}
