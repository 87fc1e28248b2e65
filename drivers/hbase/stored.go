package hbase

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// tablesKey is the line of a schema file that its tables follow.
const tablesKey = "\ntables:\n"

// tablesText writes a root table and the tables nested in it in the schema language, without
// indexes and the hints for other engines.
func (l *layout) tablesText(r *root) string {
	own := schemas.Canonical(l.schema)
	own.Tables = slices.DeleteFunc(own.Tables, func(t *schemas.Table) bool { return t.Root().Name != r.schema.Name })
	for _, t := range own.Tables {
		t.Indexes = nil
		maps.DeleteFunc(t.Hints, func(engine string, _ map[string]string) bool { return engine != engineName })
	}
	_, tables, _ := strings.Cut(string(schemas.Format(own)), tablesKey)
	return tables
}

// stored returns the layout's schema as it is after Apply.
func (l *layout) stored() *schemas.Schema {
	families := make(map[string]map[string]familySettings)
	for _, r := range l.roots {
		families[r.name] = r.families
	}
	return l.withFamilies(families)
}

// withFamilies returns, in canonical form, those tables of the layout's schema whose families
// exist (HBase table → family → settings). A family that the schema does not have becomes a
// table called "root:family", of which only the key is known.
func (l *layout) withFamilies(families map[string]map[string]familySettings) *schemas.Schema {
	own := schemas.Canonical(l.schema)
	there := &schemas.Schema{Name: own.Name, File: own.File}
	known := make(map[string]bool) // "HBase table:family"
	for _, t := range own.Tables {
		tb := l.tables[l.schema.Table(t.Name)]
		t.Hints, t.Indexes = nil, nil
		if tb == nil { // a row header stores nothing: it exists if a nested table does
			continue
		}
		live := families[string(tb.hbase)]
		known[string(tb.hbase)+":"+tb.family] = true
		if live[tb.family] == nil {
			t.Columns, t.Static = nil, nil
			continue
		}
		settings := l.settings(tb)
		if tb.host == nil { // the settings of a shared family belong to its host
			addSettings(settings, "", live[tb.family])
		}
		if len(t.Static) > 0 {
			known[string(tb.hbase)+":"+staticFamily] = true
			addSettings(settings, staticFamilyHint, live[staticFamily])
		}
		if live[staticFamily] == nil {
			t.Static = nil
		}
		t.Hints = map[string]map[string]string{engineName: settings}
		there.Tables = append(there.Tables, t)
	}
	for _, r := range l.roots {
		t := own.Table(r.schema.Name)
		for family := range families[r.name] {
			if !known[r.name+":"+family] {
				there.Tables = append(there.Tables, &schemas.Table{
					Name: t.Name + ":" + family, Parent: t, Partition: t.Partition, Clustering: t.Clustering,
				})
			}
		}
	}
	return schemas.Canonical(there)
}

// staticFamilyHint begins the settings of the family of static columns.
const staticFamilyHint = "static."

// layoutSettings are the settings that layout.settings returns: they decide under which keys
// rows are stored.
var layoutSettings = []string{"hbase.family", "hbase.order", "hbase.unsigned", "hbase.salt"}

// settings returns a table's layout settings: the values of its hints family, order and
// unsigned.
func (l *layout) settings(tb *table) map[string]string {
	var unsigned []string
	for _, c := range ownKey(tb.schema) {
		if l.unsigned[c] {
			unsigned = append(unsigned, c.Name)
		}
	}
	order := ""
	if tb.flipped {
		order = "reversed"
	}
	salt := ""
	if tb.schema.Parent == nil && tb.row[0].salt > 0 {
		salt = strconv.Itoa(tb.row[0].salt)
	}
	return map[string]string{"family": tb.family, "order": order, "unsigned": strings.Join(unsigned, " "), "salt": salt}
}

// addSettings adds the settings of a family under the names of their hints.
func addSettings(settings map[string]string, prefix string, family familySettings) {
	names := make(map[string]string)
	for hint, f := range familyHints {
		names[f.setting] = hint
	}
	if _, told := family["NEW_VERSION_BEHAVIOR"]; !told && family != nil {
		settings[prefix+names["NEW_VERSION_BEHAVIOR"]] = "false" // HBase's own default
	}
	for setting, value := range family {
		name := names[setting]
		if name == "" {
			name = strings.ToLower(setting)
		}
		if setting == "TTL" && value == defaults["TTL"] {
			value = "0"
		}
		settings[prefix+name] = strings.ToLower(value)
	}
}
