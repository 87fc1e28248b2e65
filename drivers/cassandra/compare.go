package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements drivers.Comparer.
func (s *Store) Compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	defer s.leave()
	c, err := s.compare(ctx, sch)
	if err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	return c, nil
}

func (s *Store) compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	d, there, err := s.find(ctx, sch)
	if err != nil {
		return nil, err
	}
	c := &drivers.Comparison{Where: "keyspace " + d.keyspace}
	if there == nil {
		c.Unseen = append(c.Unseen, fmt.Sprintf("There is no keyspace %s.", d.keyspace))
		there = &liveKeyspace{name: d.keyspace}
	} else {
		c.Drifts = append(s.keyspaceDrifts(d, there), markDrifts(d, there)...)
	}
	have := there.schema(sch.Name)
	want := d.stored // addDefaults may change it: define made it for this call
	for _, t := range want.Tables {
		if h := have.Table(t.Name); h != nil && !t.Header() {
			s.addDefaults(t.Hints[engineName], h.Hints[engineName])
		}
	}
	c.Drifts = append(c.Drifts, drivers.Drifts(schemas.Diff(want, have))...)
	extra, err := s.extras(ctx, d.keyspace)
	if err != nil {
		return nil, err
	}
	c.Drifts = append(c.Drifts, extra...)
	m := &mender{definition: d, Store: s, there: there}
	for i := range c.Drifts {
		if c.Drifts[i].Mend == nil {
			c.Drifts[i].Mend = m.mend(c.Drifts[i].Difference)
		}
	}
	if foreign := there.unmarked(d.tables); len(foreign) > 0 {
		c.Unseen = append(c.Unseen,
			fmt.Sprintf("Without mailbench's mark Cassandra cannot say how %s are nested, which bigint "+
				"counts microseconds, and which key columns an index begins with: that is taken to be as in the schema.",
				strings.Join(foreign, ", ")))
	}
	return c, nil
}

// unmarked returns the tables of a schema that lack mailbench's mark.
func (k *liveKeyspace) unmarked(definitions []tableDefinition) (names []string) {
	for _, td := range definitions {
		if t := k.tables[td.name]; t != nil && !t.marked {
			names = append(names, td.name)
		}
	}
	slices.Sort(names)
	return names
}

// keyspaceDrifts compares what belongs to the whole keyspace. More replicas than
// wanted matter only where the setting names their number.
func (s *Store) keyspaceDrifts(d *definition, there *liveKeyspace) (all []drivers.Drift) {
	dc, want := d.replication.Datacenter, d.replication.Factor
	is := there.factor(dc)
	if n, err := strconv.Atoi(is); err != nil || n < want || n > want && s.settings.replication != 0 {
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Part: engineName + ".replication." + dc, Want: strconv.Itoa(want), Have: is,
			},
			Harm: drivers.RowsWrong,
			Mend: []string{
				fmt.Sprintf("ALTER KEYSPACE %s WITH replication = {'class': 'NetworkTopologyStrategy', %s: %d};",
					quote(d.keyspace), literal(dc), want),
				"-- then, on every node: nodetool repair --full " + d.keyspace,
			},
		})
	}
	if !there.durable {
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Part: engineName + ".durable_writes", Want: "true", Have: "false",
			},
			Harm: drivers.RowsWrong, // acknowledged writes are lost with the process
			Mend: []string{fmt.Sprintf("ALTER KEYSPACE %s WITH durable_writes = true;", quote(d.keyspace))},
		})
	}
	return all
}

// markDrifts finds the tables of mailbench that lost their mark. No run uses them.
func markDrifts(d *definition, there *liveKeyspace) (all []drivers.Drift) {
	if !strings.HasPrefix(d.keyspace, drivers.Prefix) {
		return nil
	}
	for _, td := range d.tables {
		t := there.tables[td.name]
		if t == nil || t.marked {
			continue
		}
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Table: td.table.Name,
				Part: engineName + ".comment", Want: td.comment, Have: t.comment,
			},
			Harm: drivers.CostsMore,
			Mend: []string{fmt.Sprintf("ALTER TABLE %s WITH comment = %s;", d.qualified(td.name), literal(td.comment))},
		})
	}
	return all
}

// addDefaults adds to want, the settings that a table should have, Cassandra's defaults for
// those that only have, the existing table's, contains. So Compare also finds a changed
// setting that the schema does not set.
func (s *Store) addDefaults(want, have map[string]string) {
	given := want["compaction.class"] != ""
	for _, name := range slices.Sorted(maps.Keys(have)) { // compaction.class comes before what depends on it
		if _, ok := want[name]; ok || want["compression.enabled"] == "false" && strings.HasPrefix(name, "compression.") {
			continue
		}
		value, known := s.defaultOf(name, want)
		// If a node has a default strategy of its own, the strategy may have parameters that
		// the node does not show.
		if !known && (name == indexesHint || !given && s.server[defaultCompaction] != "" &&
			strings.HasPrefix(name, "compaction.")) {
			continue
		}
		want[name] = value
	}
}

const defaultCompaction = "default_compaction.class_name"

// defaultOf returns the value that Cassandra 4.0 to 5.0 gives an option that a CREATE
// TABLE does not set (org.apache.cassandra.schema.TableParams, CompressionParams,
// AbstractCompactionStrategy). known is false if the option has no known default.
func (s *Store) defaultOf(name string, others map[string]string) (value string, known bool) {
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
		class := cmp.Or(s.server[defaultCompaction], "SizeTieredCompactionStrategy")
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
	return "", false
}

// extras finds what a schema never has: views, which cost every write of their table,
// and triggers.
func (s *Store) extras(ctx context.Context, keyspace string) (all []drivers.Drift, err error) {
	for what, query := range map[string]string{
		"MATERIALIZED VIEW": "SELECT view_name, base_table_name FROM system_schema.views WHERE keyspace_name = ?",
		"TRIGGER":           "SELECT trigger_name, table_name FROM system_schema.triggers WHERE keyspace_name = ?",
	} {
		it := s.session.Query(query, keyspace).WithContext(ctx).Iter()
		var name, table string
		for it.Scan(&name, &table) {
			drop := fmt.Sprintf("DROP MATERIALIZED VIEW %s.%s;", quote(keyspace), quote(name))
			if what == "TRIGGER" {
				drop = fmt.Sprintf("DROP TRIGGER %s ON %s.%s;", quote(name), quote(keyspace), quote(table))
			}
			all = append(all, drivers.Drift{
				Difference: schemas.Difference{
					Kind: schemas.ExtraTable, Table: fmt.Sprintf("%s (%s of %s)", name, strings.ToLower(what), table),
				},
				Harm: drivers.OnlyThere,
				Mend: []string{drop},
			})
		}
		if err := it.Close(); err != nil {
			return nil, fmt.Errorf("list views and triggers: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b drivers.Drift) int { return strings.Compare(a.Table, b.Table) })
	return all, nil
}
