package ddl

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// EngineName is the engine's name in the list of engines and in hints.
const EngineName = "cassandra"

// The hints of a table (hints: {cassandra: {NAME: VALUE}}) are options of the CQL table. A map is written as
// words: first the class, then key=value. Examples:
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
const (
	batchesHint, unlogged         = "batches", "unlogged"
	putsHint, newRows             = "puts", "new-rows"
	indexesHint                   = "indexes"
	legacyIndex, sai              = cql.LegacyIndex, cql.SAI
	bloomHint, graceHint          = "bloom_filter_fp_chance", "gc_grace_seconds"
	cachingHint                   = "caching"
	compactionHint                = "compaction"
	compressionHint, uncompressed = "compression", "compression.enabled"
)

// allowed are the values of the hints that are words.
var allowed = map[string][]string{batchesHint: {unlogged}, putsHint: {newRows}, indexesHint: {legacyIndex, sai}}

// classes are Cassandra's own compaction strategies and compressors. Another one is named with its package.
var classes = map[string][]string{
	compactionHint: {
		"SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "TimeWindowCompactionStrategy",
		"UnifiedCompactionStrategy", "DateTieredCompactionStrategy",
		"IncrementalCompactionStrategy", // ScyllaDB's
	},
	compressionHint: {"LZ4Compressor", "SnappyCompressor", "DeflateCompressor", "ZstdCompressor", "NoopCompressor"},
}

// carried are the options that are no hints, with what their values look like. A schema says them under "other".
var carried = map[string]*regexp.Regexp{
	"additional_write_policy":     regexp.MustCompile(`.`),
	"cdc":                         regexp.MustCompile(`^(true|false|\{.*\})$`), // ScyllaDB's is a map
	"memtable_flush_period_in_ms": regexp.MustCompile(`^[0-9]{1,9}$`),
	"read_repair":                 regexp.MustCompile(`^(BLOCKING|NONE)$`),
	"speculative_retry":           regexp.MustCompile(`.`),
}

// usual are the values that Cassandra 4.0 to 5.0 gives the settings of a table that a CREATE TABLE does not set
// (org.apache.cassandra.schema.TableParams, CompressionParams, AbstractCompactionStrategy).
var usual = map[string]string{
	schemas.ExpirySetting: "0", bloomHint: "0.01", graceHint: "864000",
	"caching.keys": "ALL", "caching.rows_per_partition": "NONE",
	"compaction.class": "SizeTieredCompactionStrategy", "compaction.min_threshold": "4", "compaction.max_threshold": "32",
	"compression.class": "LZ4Compressor", "compression.chunk_length_in_kb": "16",
	"additional_write_policy": "99p", "cdc": "false", "memtable_flush_period_in_ms": "0", "read_repair": "BLOCKING",
	"speculative_retry": "99p",
}

// CheckHints refuses hints of a table that Cassandra does not know (drivers.Engine).
func CheckHints(t *schemas.Table) error {
	_, err := settingsOf(t)
	return err
}

// UnloggedBatches reports whether a table has the hint batches, and NewRows whether it has the hint puts.
func UnloggedBatches(t *schemas.Table) bool { return t.Hints[EngineName][batchesHint] == unlogged }
func NewRows(t *schemas.Table) bool         { return t.Hints[EngineName][putsHint] == newRows }

// settingsOf returns the settings that a table's hints set and what it says under "other": an option, or, if the
// option is a map, each field by itself (compaction.class).
func settingsOf(t *schemas.Table) (map[string]string, error) {
	all, hints := make(map[string]string), t.Hints[EngineName]
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		if err := readHint(all, name, hints[name]); err != nil {
			return nil, fmt.Errorf("table %s: hint %s: %w", t.Name, name, err)
		}
	}
	for _, s := range t.Other {
		valid := carried[s.Name]
		if valid == nil {
			continue
		}
		if all[s.Name] = plain(s.Name, s.Text); !valid.MatchString(all[s.Name]) {
			return nil, fmt.Errorf("table %s: %s under other is %s, which Cassandra does not have; its default is %s",
				t.Name, s.Name, s.Text, usual[s.Name])
		}
	}
	return all, nil
}

// readHint adds the settings of a hint.
func readHint(all map[string]string, name, value string) error {
	words := strings.Fields(value)
	switch name {
	case batchesHint, putsHint, indexesHint:
		if !slices.Contains(allowed[name], value) {
			return fmt.Errorf("%q; expected %s", value, strings.Join(allowed[name], " or "))
		}
		return nil
	case graceHint, schemas.ExpirySetting:
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is not a whole number of seconds", value)
		}
		all[name] = strconv.FormatUint(n, 10)
		return nil
	case bloomHint:
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || p <= 0 || p > 1 {
			return fmt.Errorf("%q; expected a number above 0 and up to 1 (no filter)", value)
		}
		all[name] = strconv.FormatFloat(p, 'g', -1, 64)
		return nil
	case compactionHint, compressionHint:
		if name == compressionHint && value == "none" {
			all[uncompressed] = "false"
			return nil
		}
		if len(words) == 0 || strings.Contains(words[0], "=") {
			return fmt.Errorf("%q does not begin with a class such as LeveledCompactionStrategy or LZ4Compressor", value)
		}
		class := schemas.ClassOfCQL(words[0])
		if !strings.Contains(words[0], ".") && !slices.Contains(classes[name], class) {
			return fmt.Errorf("unknown class %q; expected one of %s, or a class with its package",
				words[0], strings.Join(classes[name], ", "))
		}
		all[name+".class"], words = class, words[1:]
	case cachingHint: // has no class
	default:
		return errors.New("unknown; expected one of batches, bloom_filter_fp_chance, caching, compaction, compression, " +
			"gc_grace_seconds, indexes, puts, ttl")
	}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok || k == "" || v == "" {
			return fmt.Errorf("%q is not of the form key=value", w)
		}
		if name == cachingHint {
			v = strings.ToUpper(v) // as Cassandra writes ALL and NONE
		}
		all[name+"."+k] = v
	}
	return nil
}

// fraction is that of a number: zeros, or any of milliseconds.
var fraction = regexp.MustCompile(`([0-9])\.(?:0+|[0-9]+(ms))([^0-9]|$)`)

// plain returns the value of a carried option in one form: Cassandra takes '99PERCENTILE', '99.0p' and '99p' for the
// same, '10.5ms' for 10ms, and 'NONE' for 'NEVER'.
func plain(name, value string) string {
	if value = cql.Unquote(strings.TrimSpace(value)); name == "read_repair" {
		return strings.ToUpper(value)
	}
	value = strings.ToLower(value)
	if name == "speculative_retry" || name == "additional_write_policy" {
		value = strings.ReplaceAll(strings.ReplaceAll(value, " ", ""), "percentile", "p")
		value = strings.ReplaceAll(fraction.ReplaceAllString(value, "$1$2$3"), "none", "never")
	}
	return value
}

// Options returns the options that hints can set, but for ttl, in the form of hints. Without a table
// there are none.
func (td *TableDefinition) Options() map[string]string {
	if td == nil { // of a materialized view
		return nil
	}
	hints := make(map[string]string)
	for setting, value := range td.settings {
		switch name, _, isMap := strings.Cut(setting, "."); {
		case carried[name] != nil || name == schemas.ExpirySetting:
		case isMap:
			hints[name] = cql.Words(fieldsOf(td.settings, name))
		default:
			hints[name] = value
		}
	}
	if td.settings[uncompressed] == "false" {
		hints[compressionHint] = "none"
	}
	return hints
}

// keyspace compares what belongs to the whole keyspace: durable_writes, and the replication with the one that the
// schema sets under "other", or else with the store's own. More replicas than its own are a difference only if Exact,
// and so is all replication if the schema is of CQL that has no CREATE KEYSPACE.
func (d *Definition) keyspace() (all []schemas.Difference, err error) {
	have := make(map[string]string)
	maps.Copy(have, d.existing)
	text := schemas.Carried(d.Schema.Other, "replication")
	want, ok := cql.Map(text)
	switch {
	case text == "":
		want["class"], d.replication = "NetworkTopologyStrategy", d.Replication.cql()
		for _, in := range d.Replication {
			want[in.Datacenter] = strconv.Itoa(in.Factor)
			have[in.Datacenter] = cmp.Or(d.existing[in.Datacenter], d.existing["replication_factor"])
		}
	case !ok || want["class"] == "":
		return nil, fmt.Errorf("replication under other is %s; expected the map of CREATE KEYSPACE, such as "+
			"{'class': 'NetworkTopologyStrategy', 'dc1': 3}", text)
	default:
		want["class"] = schemas.ClassOfCQL(want["class"])
		d.replication = cqlMap(want)
		for name := range have { // a datacenter that the schema does not name has no replicas
			want[name] += ""
		}
	}
	have["class"] = schemas.ClassOfCQL(have["class"])
	silent := slices.ContainsFunc(d.Schema.Tables, func(t *schemas.Table) bool { return t.Imported != nil })
	d.replicas = maps.Clone(want)
	maps.DeleteFunc(want, func(name, n string) bool {
		return text == "" && !d.Exact && (silent || number(have[name]) > number(n))
	})
	all = schemas.DiffSettings("", EngineName+".replication", want, have)
	on, invalid := strconv.ParseBool(schemas.Carried(d.Schema.Other, "durable_writes"))
	// Without durable writes acknowledged ones are lost with the process.
	durable := map[string]string{"durable_writes": strconv.FormatBool(on || invalid != nil)}
	return append(all, schemas.DiffSettings("", EngineName, durable,
		map[string]string{"durable_writes": strconv.FormatBool(d.durable)})...), nil
}

// alterKeyspace returns the statements of a change of the whole keyspace.
func (d *Definition) alterKeyspace(f schemas.Difference) []string {
	alter := "ALTER KEYSPACE " + cql.Quote(d.Keyspace) + " WITH "
	if f.Part == EngineName+".durable_writes" {
		if alter += "durable_writes = " + f.Want; f.Want == "false" {
			alter = cqlsh.Unsafe("acknowledged writes can be lost", alter)
		}
		return []string{alter}
	}
	alter += "replication = " + d.replication
	loses, more := false, 0 // more copies of a row than are wanted
	for name, n := range d.existing {
		loses = loses || number(n) > number(d.replicas[name]) && name != "replication_factor"
		more += number(n)
	}
	for _, n := range d.replicas {
		more -= number(n)
	}
	if loses || more > 0 {
		alter = cqlsh.Unsafe("removes copies of rows", alter)
	}
	return []string{alter, "-- then, on every node: nodetool repair --full " + d.Keyspace}
}

// IndexDefinition is an index that Cassandra keeps.
type IndexDefinition struct {
	Name    string
	Column  *schemas.Column
	Target  string // the column, or what of it is indexed: keys(tags)
	Kind    string // legacy, sai, or the class
	Options string // the clause of the options of the class, or ""
}

// String writes what is indexed, and with a kind other than legacy that too, as differences name it.
func (x *IndexDefinition) String() string {
	if x.Kind == legacyIndex {
		return x.Target
	}
	return x.Target + " USING " + x.Kind
}

// indexesOf returns the indexes to create for a table: those over one plain column. An index of an imported table can
// be over any column, and over parts of a collection: its values, unless it says otherwise. of has them by the names in
// the schema, of which those that find the same rows in the same way are one.
func indexesOf(t *schemas.Table) (all []*IndexDefinition, of map[string]*IndexDefinition) {
	of = make(map[string]*IndexDefinition)
	for _, x := range t.Indexes {
		if !t.OneColumn(x) && (t.Imported == nil || len(x.Columns) > 1) {
			continue
		}
		c := x.Columns[len(x.Columns)-1].Column
		part, class, options := t.IndexClauses(x)
		if c.Type.Collection() && c.Type.Foreign == "" {
			part = cmp.Or(part, "values")
		}
		kind := cmp.Or(t.Hints[EngineName][indexesHint], legacyIndex)
		made := &IndexDefinition{plan.Identifier(x.Name), c, c.Name, kind, options}
		if part != "" {
			made.Target = part + "(" + c.Name + ")"
		}
		if class != "" {
			made.Kind = cql.IndexKind(class)
		}
		same := func(o *IndexDefinition) bool { return made.Target == o.Target && made.Kind == o.Kind }
		if i := slices.IndexFunc(all, same); i >= 0 {
			of[x.Name] = all[i]
			continue
		}
		all, of[x.Name] = append(all, made), made
	}
	return all, of
}

// columnsOf returns the names of the columns of an index.
func columnsOf(x *schemas.Index) (names []string) {
	for _, c := range x.Columns {
		names = append(names, c.Column.Name)
	}
	return names
}
