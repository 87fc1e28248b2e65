package hbase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements plan.Place. Settings that the schema leaves out are compared with HBase's defaults.
func (p *place) Compare(context.Context) (*drivers.Comparison, error) {
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
		if d, ok := p.there[r.Name]; ok {
			found.Drifts = append(found.Drifts, p.descriptorDrifts(r, d)...)
		}
	}
	if len(p.unmarked) > 0 {
		found.Unseen = append(found.Unseen, fmt.Sprintf("Without mailbench's mark HBase does not report which columns and types %s "+
			"have, nor how their keys are made: only families are compared.", strings.Join(p.unmarked, ", ")))
	}
	return found, nil
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
	differs := func(name, want, have string, harm schemas.Harm, fix string) {
		if !strings.HasPrefix(name, engineName+".") {
			name = engineName + "." + name
		}
		of := schemas.Difference{Kind: schemas.DifferentSetting, Table: r.schema.Name, Part: name, Want: want, Have: have}
		all = append(all, drivers.Drift{Difference: of, Harm: harm, Fix: []string{"alter " + ruby(r.Name) + ", " + fix}})
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
		differs(strings.ToLower(name), want, have, harm, fmt.Sprintf("METHOD => %s, NAME => %s", ruby(method), ruby(name)))
	}
	for _, family := range slices.Sorted(maps.Keys(r.Families)) {
		for _, name := range slices.Sorted(maps.Keys(d.Families[family])) {
			have, want := d.Families[family][name], familyDefaults[name]
			if _, set := r.Families[family][name]; set || strings.EqualFold(have, want) {
				continue
			}
			word := name + " => " + ruby(want)
			if want == "" {
				word = fmt.Sprintf("CONFIGURATION => {%s => nil}", ruby(name))
			}
			differs(family+"."+strings.ToLower(name), want, have, schemas.CostsMore, fmt.Sprintf("{NAME => %s, %s}", ruby(family), word))
		}
	}
	return all
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
		if _, ok := p.there[r.Name]; !ok {
			return []string{p.create(r)}
		}
		return []string{alterFamily(r, tb.family)}
	case schemas.MissingColumn:
		if d := p.there[r.Name]; t.Column(f.Part).Role == schemas.Static && d.Families[staticFamily] == nil {
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
		commands := []string{fmt.Sprintf("alter %s, {NAME => %s, %s}", ruby(r.Name), ruby(family),
			familyWord(setting, tb.descriptor[setting]))}
		switch setting {
		case "COMPRESSION", "DATA_BLOCK_ENCODING", "BLOOMFILTER", "BLOCKSIZE":
			commands = append(commands, "# existing files keep the old setting until: major_compact "+ruby(r.Name))
		}
		return commands
	}
	return p.recreate(r, "rows are stored under other keys, or with other types")
}

func (l *layout) rootOf(t *schemas.Table) *root {
	return l.roots[slices.IndexFunc(l.roots, func(r *root) bool { return r.schema == t.Root() })]
}

// remove returns the commands that remove what HBase has and the schema does not: a table, or
// a family if the name is "table:family".
func (p *place) remove(name string) []string {
	table, family, isFamily := strings.Cut(name, ":")
	if t := p.schema.Table(table); isFamily && t != nil {
		return []string{fmt.Sprintf("# removes its cells: alter %s, {NAME => %s, METHOD => 'delete'}",
			ruby(p.rootOf(t).Name), ruby(family))}
	}
	name = ruby(p.prefix + name)
	return []string{"# removes its rows: disable " + name, "# removes its rows: drop " + name}
}

// alterFamily returns the command that adds a family.
func alterFamily(r *root, family string) string {
	return fmt.Sprintf("alter %s, %s", ruby(r.Name), familyHash(family, r.Families[family]))
}

// recreate returns, as comments, the commands that drop a table and create it again.
func (p *place) recreate(r *root, why string) []string {
	return []string{
		"# " + why + ": write the rows again into a new table",
		"# removes them: disable " + ruby(r.Name), "# removes them: drop " + ruby(r.Name),
		"# " + strings.ReplaceAll(p.create(r), "\n", "\n# "),
	}
}

// renderShell writes the commands of the HBase shell that Apply runs.
func renderShell(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := newSettings(o)
	if err != nil {
		return "", err
	}
	l, err := newLayout(prefixOf(o.Namespace, s.Name), s)
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", s.Name, err)
	}
	p := &place{layout: l, namespace: o.Namespace, regions: set.preSplit, users: o.Users}
	t := render.New("#")
	t.Head(s,
		fmt.Sprintf("The commands of the HBase shell that create the tables of the schema %s as mailbench does. A table's "+
			"METADATA are mailbench's mark, with the columns and types that HBase does not store.", s.Name))
	for _, r := range l.roots {
		for _, of := range l.schema.Tables {
			if of.Root() == r.schema {
				t.Table(of)
				l.comments(t, of)
			}
		}
		t.Statement(p.create(r))
	}
	return t.String(), nil
}

// comments writes where the rows of a table are stored, and which indexes HBase does not keep.
func (l *layout) comments(t *render.Text, of *schemas.Table) {
	tb := l.tables[of]
	if tb == nil {
		t.Comment("It stores nothing of its own. The tables nested in it are families of the HBase table.")
		return
	}
	where := fmt.Sprintf("Family %s: row key %s", tb.family, partNames(tb.row, tb.key))
	if tb.wide {
		where += ", a cell for each row, with the qualifier " + partNames(tb.rest, tb.key[len(tb.row):])
	}
	t.Comment(where + " →" + columnNames(tb) + ".")
	if tb.marked() {
		t.Comment("Extension, not in the source design: a cell of each row with the qualifier 00 and the value 01. " +
			"It makes the row exist, whatever its columns hold.")
	}
	if len(of.Static) > 0 {
		t.Comment(fmt.Sprintf("Family %s: row key %s → the static columns.", staticFamily, partNames(tb.statics.row, tb.key)))
	}
	for _, x := range of.Indexes {
		t.Comment(fmt.Sprintf("Index %s is left out: HBase has no indexes.", x.Name))
	}
}

// partNames writes the columns of a row key or qualifier. "raw" marks bytes without a
// terminator.
func partNames(ps keys.Columns, cs []*schemas.Column) string {
	var words []string
	if len(ps) > 0 && ps[0].Salt > 0 {
		words = append(words, fmt.Sprintf("bucket of %d", ps[0].Salt))
	}
	for i, p := range ps {
		word := cs[i].Name
		switch {
		case p.Raw:
			word += " raw"
		case p.Unsigned:
			word += " unsigned"
		}
		if p.Desc {
			word += " desc"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ‖ ")
}

func columnNames(t *table) (names string) {
	for at, c := range t.columns {
		names += " " + c.Name
		if slices.Contains(t.added, at) {
			names += " (counted up)"
		}
	}
	return cmp.Or(names, " nothing")
}

// create returns the command that creates a table. The shell takes every setting as text, as
// its own command describe writes them, and split keys as Bytes.toBytesBinary reads them.
func (p *place) create(r *root) string {
	d, splits := p.descriptor(r), p.splits(r)
	var b strings.Builder
	fmt.Fprintf(&b, "create %s", ruby(d.Name))
	for _, family := range slices.Sorted(maps.Keys(d.Families)) {
		fmt.Fprintf(&b, ",\n  %s", familyHash(family, d.Families[family]))
	}
	var attributes []string
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		attributes = append(attributes, fmt.Sprintf("\n    %s => %s", ruby(name), ruby(d.Attributes[name])))
	}
	fmt.Fprintf(&b, ",\n  {METADATA => {%s}}", strings.Join(attributes, ","))
	if len(splits) > 0 {
		var keys []string
		for _, k := range splits {
			text := ""
			for _, b := range k {
				text += fmt.Sprintf("\\x%02X", b)
			}
			keys = append(keys, ruby(text))
		}
		fmt.Fprintf(&b, ",\n  {SPLITS => [%s]}", strings.Join(keys, ", "))
	}
	return b.String()
}

// familyHash writes a family as the shell's create and alter take it.
func familyHash(name string, settings familySettings) string {
	words := []string{"NAME => " + ruby(name)}
	for _, s := range slices.Sorted(maps.Keys(settings)) {
		words = append(words, familyWord(s, settings[s]))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// familyWord writes a setting of a family.
func familyWord(setting, value string) string {
	if isConfiguration(setting) {
		return "CONFIGURATION => {" + ruby(setting) + " => " + ruby(value) + "}"
	}
	return setting + " => " + ruby(value)
}

// ruby writes a text as a Ruby string in single quotes: only quotes and backslashes are
// escaped, and line breaks stay.
func ruby(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
