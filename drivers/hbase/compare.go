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
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// compare compares the tables with a schema, and with HBase's defaults what the schema does not set.
func (a *admin) compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	prefix := a.prefix(sch.Name)
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	there, err := a.find(ctx, l)
	if err != nil {
		return nil, err
	}
	found := &drivers.Comparison{Where: "HBase tables " + prefix + "*"}
	differ := schemas.Diff(l.stored(), there.schema)
	found.Drifts = drivers.Drifts(slices.DeleteFunc(differ, func(d schemas.Difference) bool {
		// If the family of static columns is missing, its columns are reported already.
		return d.Have == "" && strings.HasPrefix(d.Part, engineName+"."+staticFamilyHint)
	}))
	p := a.planner(l, there)
	for i := range found.Drifts {
		d := &found.Drifts[i]
		if d.Kind == schemas.DifferentSetting && slices.Contains(layoutSettings, d.Part) {
			d.Harm = drivers.CallsFail // calls would look for rows under other keys
		}
		if strings.HasSuffix(d.Part, "."+schemas.ExpirySetting) {
			d.Harm = drivers.RowsWrong
		}
		for _, c := range p.commands(d.Difference) {
			d.Fix = append(d.Fix, c.text)
		}
	}
	for _, r := range l.roots {
		d, ok := there.tables[r.name]
		if !ok {
			continue
		}
		found.Drifts = append(found.Drifts, p.descriptorDrifts(r, d)...)
		state, err := a.stateOf(ctx, r.name)
		if err != nil {
			return nil, err
		}
		if state != "" {
			found.Drifts = append(found.Drifts, drivers.Drift{
				Difference: setting(r, "state", "enabled", state), Harm: drivers.CallsFail,
				Fix: []string{"enable " + ruby(r.name)},
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
func (a *admin) namespaceFor(schema string) string {
	if own, ok := strings.CutPrefix(a.keyspace, drivers.Prefix); ok { // mailbench_NAMESPACE_SCHEMA
		if before, ok := strings.CutSuffix(own, "_"+schema); ok {
			return before
		}
	}
	return a.namespace
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
func (p *planner) descriptorDrifts(r *root, d TableDescription) (all []drivers.Drift) {
	if strings.HasPrefix(r.name, drivers.Prefix) && slices.Contains(p.there.unmarked, r.name) {
		lost := setting(r, attrMark, markVersion, d.Attributes[attrMark])
		if lost.Have == markVersion {
			lost = setting(r, attrTables, "that of the schema", "damaged")
		}
		all = append(all, drivers.Drift{
			Difference: lost, Harm: drivers.CostsMore,
			Fix: []string{fmt.Sprintf("alter %s, {METADATA => %s}", ruby(r.name),
				metadata(p.descriptor(r, p.namespace)))},
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
			Fix: []string{fmt.Sprintf("alter %s, METHOD => %s, NAME => %s", ruby(r.name), ruby(method), ruby(name))},
		})
	}
	for _, family := range slices.Sorted(maps.Keys(r.families)) {
		for _, name := range slices.Sorted(maps.Keys(d.Families[family])) {
			have, want := d.Families[family][name], familyDefaults[name]
			if _, set := r.families[family][name]; set || strings.EqualFold(have, want) {
				continue
			}
			fix := fmt.Sprintf("alter %s, {NAME => %s, %s => %s}", ruby(r.name), ruby(family), name, ruby(want))
			if want == "" {
				fix = fmt.Sprintf("alter %s, {NAME => %s, CONFIGURATION => {%s => nil}}", ruby(r.name), ruby(family), ruby(name))
			}
			all = append(all, drivers.Drift{
				Difference: setting(r, family+"."+strings.ToLower(name), want, have), Harm: drivers.CostsMore, Fix: []string{fix},
			})
		}
	}
	return all
}

// stateOf returns the state of a table as hbase:meta has it, unless it is enabled. A
// TableState is one field, an enum: 0 enabled, 1 disabled, 2 disabling, 3 enabling.
func (a *admin) stateOf(ctx context.Context, table string) (string, error) {
	get, err := hrpc.NewGetStr(ctx, "hbase:meta", table, hrpc.Families(map[string][]string{"table": {"state"}}))
	if err != nil {
		return "", err
	}
	r, err := a.client.Get(get)
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

// planner knows the commands of the HBase shell that change the tables of a schema as a difference needs it: Apply runs
// those that create tables, schema diff prints them, and schema render prints those of a store without tables.
type planner struct {
	*layout
	there     *foundTables
	namespace string   // the namespace in marks
	regions   int      // that a new table begins with
	users     []string // a sample, which divides addresses among regions
}

func (a *admin) planner(l *layout, there *foundTables) *planner {
	return &planner{l, there, a.namespaceFor(l.schema.Name), a.preSplit, a.users}
}

// tableCommand is a command of the HBase shell. One that would remove data is a comment, and so is a change without a
// command.
type tableCommand struct {
	text   string
	table  string                 // the HBase table
	create *pb.CreateTableRequest // the same as a request, if it creates the table; else nil
}

// commands returns the commands of a change.
func (p *planner) commands(f schemas.Difference) []tableCommand {
	t := p.schema.Table(f.Table)
	if t == nil {
		return p.remove(f.Table)
	}
	tb, r := p.tables[t], p.rootOf(t)
	switch f.Kind {
	case schemas.MissingTable:
		if _, ok := p.there.tables[r.name]; !ok {
			return []tableCommand{p.create(r)}
		}
		return r.commands(alterFamily(r, tb.family))
	case schemas.MissingColumn:
		if d := p.there.tables[r.name]; t.Column(f.Part).Role == schemas.Static && d.Families[staticFamily] == nil {
			return r.commands(alterFamily(r, staticFamily))
		}
		return r.commands("# HBase has no columns to create: existing rows have no value in this one")
	case schemas.ExtraColumn:
		return r.commands("# HBase has no columns to remove: cells of this name are not read")
	case schemas.DifferentSetting, schemas.DifferentExpiry:
		name := strings.TrimPrefix(f.Part, engineName+".")
		if slices.Contains(layoutSettings, f.Part) {
			return p.recreate(r, "rows are stored with another "+name)
		}
		return r.commands(set(r, tb, name)...)
	}
	return p.recreate(r, "rows are stored under other keys, or with other types")
}

// commands returns commands that change the table.
func (r *root) commands(texts ...string) (all []tableCommand) {
	for _, text := range texts {
		all = append(all, tableCommand{text: text, table: r.name})
	}
	return all
}

// create returns the command that creates a table.
func (p *planner) create(r *root) tableCommand {
	d, splits := p.descriptor(r, p.namespace), r.splits(p.regions, p.users)
	return tableCommand{
		text: create(d, splits), table: r.name,
		create: &pb.CreateTableRequest{TableSchema: d.message(), SplitKeys: splits},
	}
}

func (l *layout) rootOf(t *schemas.Table) *root {
	return l.roots[slices.IndexFunc(l.roots, func(r *root) bool { return r.schema == t.Root() })]
}

// remove returns the commands that remove what HBase has and the schema does not: a table, or
// a family if the name is "table:family".
func (p *planner) remove(name string) []tableCommand {
	table, family, isFamily := strings.Cut(name, ":")
	for _, r := range p.roots {
		if isFamily && r.schema.Name == table {
			return r.commands(fmt.Sprintf("# removes its cells: alter %s, {NAME => %s, METHOD => 'delete'}",
				ruby(r.name), ruby(family)))
		}
	}
	for _, other := range p.there.others {
		if strings.HasSuffix(other, name) {
			name = other
		}
	}
	r := &root{name: name}
	return r.commands("# removes its rows: disable "+ruby(name), "# removes its rows: drop "+ruby(name))
}

// alterFamily returns the command that adds a family.
func alterFamily(r *root, family string) string {
	return fmt.Sprintf("alter %s, %s", ruby(r.name), familyHash(family, r.families[family]))
}

// set returns the commands that set a setting of a family.
func set(r *root, tb *table, name string) []string {
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
		commands = append(commands, "# existing files keep the old setting until: major_compact "+ruby(r.name))
	}
	return commands
}

// recreate returns, as comments, the commands that drop a table and create it again.
func (p *planner) recreate(r *root, why string) []tableCommand {
	return r.commands("# "+why+": write the rows again into a new table",
		"# removes them: disable "+ruby(r.name), "# removes them: drop "+ruby(r.name),
		"# "+strings.ReplaceAll(p.create(r).text, "\n", "\n# "))
}
