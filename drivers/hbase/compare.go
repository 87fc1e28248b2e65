package hbase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// compare compares the tables with a schema, and with HBase's defaults what the schema does not set.
func (c *catalog) compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	prefix := c.prefix(sch.Name)
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	there, err := c.find(ctx, l)
	if err != nil {
		return nil, err
	}
	found := &drivers.Comparison{Where: "HBase tables " + prefix + "*"}
	differ := schemas.Diff(l.stored(), there.schema)
	found.Drifts = drivers.Drifts(slices.DeleteFunc(differ, func(d schemas.Difference) bool {
		// If the family of static columns is missing, its columns are reported already.
		return d.Have == "" && strings.HasPrefix(d.Part, engineName+"."+staticFamilyHint)
	}))
	m := &mender{layout: l, foundTables: there, namespace: c.namespaceFor(sch.Name)}
	for i := range found.Drifts {
		d := &found.Drifts[i]
		if d.Kind == schemas.DifferentSetting && slices.Contains(layoutSettings, d.Part) {
			d.Harm = drivers.CallsFail // calls would look for rows under other keys
		}
		if strings.HasSuffix(d.Part, "."+schemas.ExpirySetting) {
			d.Harm = drivers.RowsWrong
		}
		d.Mend = m.mend(d.Difference)
	}
	for _, r := range l.roots {
		d, ok := there.tables[r.name]
		if !ok {
			continue
		}
		found.Drifts = append(found.Drifts, m.descriptorDrifts(r, d)...)
		state, err := c.stateOf(ctx, r.name)
		if err != nil {
			return nil, err
		}
		if state != "" {
			found.Drifts = append(found.Drifts, drivers.Drift{
				Difference: setting(r, "state", "enabled", state), Harm: drivers.CallsFail,
				Mend: []string{"enable " + ruby(r.name)},
			})
		}
	}
	if len(there.unmarked) > 0 {
		found.Unseen = append(found.Unseen, fmt.Sprintf("Without mailbench's mark HBase does not report which columns and types %s "+
			"have, nor how "+
			"their keys are made: only families are compared.", strings.Join(there.unmarked, ", ")))
	}
	return found, nil
}

// namespaceFor returns the namespace that the marks of the schema's tables name: that of the
// keyspace, if the user named one of mailbench's, else the store's.
func (c *catalog) namespaceFor(schema string) string {
	if own, ok := strings.CutPrefix(c.keyspace, drivers.Prefix); ok { // mailbench_NAMESPACE_SCHEMA
		if before, ok := strings.CutSuffix(own, "_"+schema); ok {
			return before
		}
	}
	return c.namespace
}

func setting(r *root, name, want, have string) schemas.Difference {
	if !strings.HasPrefix(name, engineName+".") {
		name = engineName + "." + name
	}
	return schemas.Difference{Kind: schemas.DifferentSetting, Table: r.schema.Name, Part: name, Want: want, Have: have}
}

// ownAttributes are the table attributes that HBase itself sets.
var ownAttributes = []string{"IS_META", "hbase.store.file-tracker.impl"}

// attributeHarms are the table attributes whose harm is worse than CostsMore.
var attributeHarms = map[string]drivers.Harm{"READONLY": drivers.CallsFail, "DURABILITY": drivers.RowsWrong}

// attributeDefaults and familyDefaults are HBase's defaults of what mailbench does not
// set, as the shell writes them into a descriptor that it alters
// (TableDescriptorBuilder, ColumnFamilyDescriptorBuilder of HBase 2.6).
var (
	attributeDefaults = map[string]string{
		"DURABILITY": "USE_DEFAULT", "READONLY": "false", "COMPACTION_ENABLED": "true", "SPLIT_ENABLED": "true",
		"MERGE_ENABLED": "true", "REGION_REPLICATION": "1", "MAX_FILESIZE": "-1", "MEMSTORE_FLUSHSIZE": "-1", "PRIORITY": "0",
	}
	familyDefaults = map[string]string{
		"INDEX_BLOCK_ENCODING": "NONE", "CACHE_DATA_ON_WRITE": "false", "CACHE_INDEX_ON_WRITE": "false",
		"CACHE_BLOOMS_ON_WRITE": "false",
		"EVICT_BLOCKS_ON_CLOSE": "false", "PREFETCH_BLOCKS_ON_OPEN": "false", "COMPRESS_TAGS": "true", "IS_MOB": "false",
		"MOB_THRESHOLD": "102400", "DFS_REPLICATION": "0", "IN_MEMORY_COMPACTION": "NONE", "STORAGE_POLICY": "",
	}
)

// descriptorDrifts compares those parts of a descriptor that the schema does not set: the
// attributes of the table and further settings of its families.
func (m *mender) descriptorDrifts(r *root, d TableDescription) (all []drivers.Drift) {
	if strings.HasPrefix(r.name, drivers.Prefix) && slices.Contains(m.unmarked, r.name) {
		lost := setting(r, attrMark, markVersion, d.Attributes[attrMark])
		if lost.Have == markVersion {
			lost = setting(r, attrTables, "that of the schema", "damaged")
		}
		all = append(all, drivers.Drift{
			Difference: lost, Harm: drivers.CostsMore,
			Mend: []string{fmt.Sprintf("alter %s, {METADATA => %s}", ruby(r.name),
				metadata(m.layout.descriptor(r, m.namespace)))},
		})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		have, want := d.Attributes[name], attributeDefaults[name]
		if slices.Contains(ownAttributes, name) || strings.HasPrefix(name, attrMark) || strings.EqualFold(have, want) {
			continue
		}
		harm, ok := attributeHarms[name]
		if !ok {
			harm = drivers.CostsMore
		}
		method := "table_att_unset"
		if strings.ToUpper(name) != name { // a configuration, such as hbase.hregion.memstore.block.multiplier
			method = "table_conf_unset"
		}
		all = append(all, drivers.Drift{
			Difference: setting(r, strings.ToLower(name), want, have), Harm: harm,
			Mend: []string{fmt.Sprintf("alter %s, METHOD => %s, NAME => %s", ruby(r.name), ruby(method), ruby(name))},
		})
	}
	for _, family := range slices.Sorted(maps.Keys(r.families)) {
		for _, name := range slices.Sorted(maps.Keys(d.Families[family])) {
			have, want := d.Families[family][name], familyDefaults[name]
			if _, set := r.families[family][name]; set || strings.EqualFold(have, want) {
				continue
			}
			mend := fmt.Sprintf("alter %s, {NAME => %s, %s => %s}", ruby(r.name), ruby(family), name, ruby(want))
			if want == "" {
				mend = fmt.Sprintf("alter %s, {NAME => %s, CONFIGURATION => {%s => nil}}", ruby(r.name), ruby(family), ruby(name))
			}
			all = append(all, drivers.Drift{
				Difference: setting(r, family+"."+strings.ToLower(name), want, have), Harm: drivers.CostsMore, Mend: []string{mend},
			})
		}
	}
	return all
}

// stateOf returns the state of a table as hbase:meta has it, unless it is enabled. A
// TableState is one field, an enum: 0 enabled, 1 disabled, 2 disabling, 3 enabling.
func (c *catalog) stateOf(ctx context.Context, table string) (string, error) {
	get, err := hrpc.NewGetStr(ctx, "hbase:meta", table, hrpc.Families(map[string][]string{"table": {"state"}}))
	if err != nil {
		return "", err
	}
	r, err := c.client.Get(get)
	if errors.Is(err, gohbase.TableNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the state of table %s: %w", table, err)
	}
	if len(r.Cells) == 0 || len(r.Cells[0].Value) < 2 {
		return "", nil
	}
	states := []string{"", "disabled", "disabling", "enabling"}
	return states[min(int(r.Cells[0].Value[1]), len(states)-1)], nil
}

// mender knows the commands of the HBase shell that mend a difference.
type mender struct {
	*layout
	*foundTables
	namespace string // the namespace in marks
}

// mend returns the commands that would mend a difference. A command that would remove data is
// written as a comment.
func (m *mender) mend(f schemas.Difference) []string {
	t := m.layout.schema.Table(f.Table)
	if t == nil {
		return m.remove(f.Table)
	}
	tb, r := m.layout.tables[t], m.rootOf(t)
	switch f.Kind {
	case schemas.MissingTable:
		if _, ok := m.foundTables.tables[r.name]; !ok {
			return []string{create(m.descriptor(r, m.namespace), nil)}
		}
		return []string{fmt.Sprintf("alter %s, %s", ruby(r.name), familyHash(tb.family, r.families[tb.family]))}
	case schemas.MissingColumn:
		if d := m.foundTables.tables[r.name]; t.Column(f.Part).Role == schemas.Static && d.Families[staticFamily] == nil {
			return []string{fmt.Sprintf("alter %s, %s", ruby(r.name), familyHash(staticFamily, r.families[staticFamily]))}
		}
		return []string{"# HBase has no columns to create: existing rows have no value in this one"}
	case schemas.ExtraColumn:
		return []string{"# HBase has no columns to remove: cells of this name are not read"}
	case schemas.DifferentSetting, schemas.DifferentExpiry:
		name := strings.TrimPrefix(f.Part, engineName+".")
		for _, of := range layoutSettings {
			if of == f.Part {
				return m.recreate(r, "rows are stored with another "+name)
			}
		}
		return m.set(r, tb, name)
	}
	return m.recreate(r, "rows are stored under other keys, or with other types")
}

func (l *layout) rootOf(t *schemas.Table) *root {
	for _, r := range l.roots {
		if r.schema == t.Root() {
			return r
		}
	}
	return nil
}

// remove returns the commands that remove what HBase has and the schema does not: a table, or
// a family if the name is "table:family".
func (m *mender) remove(name string) []string {
	table, family, isFamily := strings.Cut(name, ":")
	for _, r := range m.roots {
		if isFamily && r.schema.Name == table {
			return []string{fmt.Sprintf("# removes its cells: alter %s, {NAME => %s, METHOD => 'delete'}",
				ruby(r.name), ruby(family))}
		}
	}
	for _, other := range m.others {
		if strings.HasSuffix(other, name) {
			name = other
		}
	}
	return []string{
		fmt.Sprintf("# removes its rows: disable %s", ruby(name)),
		fmt.Sprintf("# removes its rows: drop %s", ruby(name)),
	}
}

// set sets a setting of a family.
func (m *mender) set(r *root, tb *table, name string) []string {
	family := tb.family
	if own, ok := strings.CutPrefix(name, staticFamilyHint); ok {
		family, name = staticFamily, own
	}
	setting := strings.ToUpper(name)
	if hint, ok := familyHints[name]; ok {
		setting = hint.setting
	}
	commands := []string{fmt.Sprintf("alter %s, {NAME => %s, %s}", ruby(r.name), ruby(family),
		familyWord(setting, tb.descriptor[setting]))}
	switch setting {
	case "COMPRESSION", "DATA_BLOCK_ENCODING", "BLOOMFILTER", "BLOCKSIZE":
		commands = append(commands, fmt.Sprintf("# existing files keep the old setting until: major_compact %s",
			ruby(r.name)))
	}
	return commands
}

// recreate returns, as comments, the commands that drop a table and create it recreate.
func (m *mender) recreate(r *root, why string) []string {
	return []string{
		"# " + why + ": write the rows again into a new table",
		fmt.Sprintf("# removes them: disable %s", ruby(r.name)),
		fmt.Sprintf("# removes them: drop %s", ruby(r.name)),
		"# " + strings.ReplaceAll(create(m.descriptor(r, m.namespace), nil), "\n", "\n# "),
	}
}
