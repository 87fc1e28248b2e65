package hbase

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

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
