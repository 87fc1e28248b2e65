package hbase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements plan.Place. Settings that the schema leaves out are compared with HBase's defaults.
func (p *place) Compare(ctx context.Context) (*drivers.Comparison, error) {
	found := &drivers.Comparison{Where: p.Name}
	differ := slices.DeleteFunc(schemas.Diff(p.Want, p.Have), func(d schemas.Difference) bool {
		// If the family of static columns is missing, its columns are reported already.
		return d.Have == "" && strings.HasPrefix(d.Part, engineName+"."+staticFamilyHint)
	})
	found.Drifts = drivers.Shell{Comment: "#"}.Drifts(p.schema, differ, p.statements)
	for i := range found.Drifts {
		d := &found.Drifts[i]
		if d.Kind == schemas.DifferentSetting && slices.Contains(layoutSettings, d.Part) {
			d.Harm = schemas.CallsFail // calls would look for rows under other keys
		}
		if strings.HasSuffix(d.Part, "."+schemas.ExpirySetting) {
			d.Harm = schemas.RowsWrong
		}
	}
	for _, r := range p.roots {
		d, ok := p.there[r.name]
		if !ok {
			continue
		}
		found.Drifts = append(found.Drifts, p.descriptorDrifts(r, d)...)
		state, err := p.store.stateOf(ctx, r.name)
		if err != nil {
			return nil, err
		}
		if state != "" {
			found.Drifts = append(found.Drifts, drivers.Drift{
				Difference: setting(r, "state", "enabled", state), Harm: schemas.CallsFail,
				Fix: []string{"enable " + ruby(r.name)},
			})
		}
	}
	if len(p.unmarked) > 0 {
		found.Unseen = append(found.Unseen, fmt.Sprintf("Without mailbench's mark HBase does not report which columns and types %s "+
			"have, nor how "+
			"their keys are made: only families are compared.", strings.Join(p.unmarked, ", ")))
	}
	return found, nil
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
var attributeHarms = map[string]schemas.Harm{"READONLY": schemas.CallsFail, "DURABILITY": schemas.RowsWrong}

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
func (p *place) descriptorDrifts(r *root, d TableDescription) (all []drivers.Drift) {
	differs := func(of schemas.Difference, harm schemas.Harm, fix string, parts ...any) {
		all = append(all, drivers.Drift{Difference: of, Harm: harm, Fix: []string{fmt.Sprintf(fix, parts...)}})
	}
	if strings.HasPrefix(r.name, drivers.Prefix) && slices.Contains(p.unmarked, r.name) {
		lost := setting(r, attrMark, markVersion, d.Attributes[attrMark])
		if lost.Have == markVersion {
			lost = setting(r, attrTables, "that of the schema", "damaged")
		}
		differs(lost, schemas.CostsMore, "alter %s, {METADATA => %s}", ruby(r.name), metadata(p.descriptor(r)))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		have, want := d.Attributes[name], attributeDefaults[name]
		if slices.Contains(ownAttributes, name) || strings.HasPrefix(name, attrMark) || strings.EqualFold(have, want) {
			continue
		}
		harm, ok := attributeHarms[name]
		if !ok {
			harm = schemas.CostsMore
		}
		method := "table_att_unset"
		if strings.ToUpper(name) != name { // a configuration, such as hbase.hregion.memstore.block.multiplier
			method = "table_conf_unset"
		}
		differs(setting(r, strings.ToLower(name), want, have), harm, "alter %s, METHOD => %s, NAME => %s", ruby(r.name),
			ruby(method), ruby(name))
	}
	for _, family := range slices.Sorted(maps.Keys(r.families)) {
		for _, name := range slices.Sorted(maps.Keys(d.Families[family])) {
			have, want := d.Families[family][name], familyDefaults[name]
			if _, set := r.families[family][name]; set || strings.EqualFold(have, want) {
				continue
			}
			word := name + " => " + ruby(want)
			if want == "" {
				word = fmt.Sprintf("CONFIGURATION => {%s => nil}", ruby(name))
			}
			differs(setting(r, family+"."+strings.ToLower(name), want, have), schemas.CostsMore, "alter %s, {NAME => %s, %s}",
				ruby(r.name), ruby(family), word)
		}
	}
	return all
}

// stateOf returns the state of a table as hbase:meta has it, unless it is enabled. A
// TableState is one field, an enum: 0 enabled, 1 disabled, 2 disabling, 3 enabling.
func (s *Store) stateOf(ctx context.Context, table string) (string, error) {
	state := columnsOf("table", []byte("state"))
	cells, err := s.newSender(nil).Get(ctx, []byte("hbase:meta"), []byte(table), state, nil, 0)
	if err != nil {
		return "", fmt.Errorf("read the state of table %s: %w", table, err)
	}
	if len(cells) == 0 || len(cells[0].Value) < 2 {
		return "", nil
	}
	states := []string{"", "disabled", "disabling", "enabling"}
	return states[min(int(cells[0].Value[1]), len(states)-1)], nil
}

// statements returns the commands of a change. One that would remove data is a comment, and so is a change without a
// command.
func (p *place) statements(f schemas.Difference) []string {
	t := p.schema.Table(f.Table)
	if t == nil {
		return p.remove(f.Table)
	}
	tb, r := p.tables[t], p.rootOf(t)
	switch f.Kind {
	case schemas.MissingTable:
		if _, ok := p.there[r.name]; !ok {
			return []string{p.create(r)}
		}
		return []string{alterFamily(r, tb.family)}
	case schemas.MissingColumn:
		if d := p.there[r.name]; t.Column(f.Part).Role == schemas.Static && d.Families[staticFamily] == nil {
			return []string{alterFamily(r, staticFamily)}
		}
		return []string{"# HBase has no columns to create: existing rows have no value in this one"}
	case schemas.ExtraColumn:
		return []string{"# HBase has no columns to remove: cells of this name are not read"}
	case schemas.DifferentSetting, schemas.DifferentExpiry:
		name := strings.TrimPrefix(f.Part, engineName+".")
		if slices.Contains(layoutSettings, f.Part) {
			return p.recreate(r, "rows are stored with another "+name)
		}
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
	return p.recreate(r, "rows are stored under other keys, or with other types")
}

// request returns create's command as a request.
func (p *place) request(r *root) *pb.CreateTableRequest {
	return &pb.CreateTableRequest{TableSchema: p.descriptor(r).message(), SplitKeys: p.splits(r)}
}

func (l *layout) rootOf(t *schemas.Table) *root {
	return l.roots[slices.IndexFunc(l.roots, func(r *root) bool { return r.schema == t.Root() })]
}

// remove returns the commands that remove what HBase has and the schema does not: a table, or
// a family if the name is "table:family".
func (p *place) remove(name string) []string {
	table, family, isFamily := strings.Cut(name, ":")
	for _, r := range p.roots {
		if isFamily && r.schema.Name == table {
			return []string{fmt.Sprintf("# removes its cells: alter %s, {NAME => %s, METHOD => 'delete'}",
				ruby(r.name), ruby(family))}
		}
	}
	for _, other := range p.others {
		if strings.HasSuffix(other, name) {
			name = other
		}
	}
	return []string{"# removes its rows: disable " + ruby(name), "# removes its rows: drop " + ruby(name)}
}

// alterFamily returns the command that adds a family.
func alterFamily(r *root, family string) string {
	return fmt.Sprintf("alter %s, %s", ruby(r.name), familyHash(family, r.families[family]))
}

// recreate returns, as comments, the commands that drop a table and create it again.
func (p *place) recreate(r *root, why string) []string {
	return []string{
		"# " + why + ": write the rows again into a new table",
		"# removes them: disable " + ruby(r.name), "# removes them: drop " + ruby(r.name),
		"# " + strings.ReplaceAll(p.create(r), "\n", "\n# "),
	}
}
