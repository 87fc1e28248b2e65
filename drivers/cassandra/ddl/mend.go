package ddl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// statements returns the statements of a change, which Apply runs and schema diff prints. One that would remove
// data is a comment, and so is what no statement does.
func (m *comparison) statements(f schemas.Difference) []string {
	td := m.definitionOf(f.Table)
	if td == nil { // the schema has no such table
		return []string{"-- removes its rows: DROP TABLE " + m.Qualified(m.cqlNameOf(f.Table)) + ";"}
	}
	table := m.Qualified(td.Name)
	switch f.Kind {
	case schemas.MissingTable:
		if m.there.Replication == nil {
			return append([]string{m.createKeyspace()}, m.createAll(*td)...)
		}
		return m.createAll(*td)
	case schemas.MissingColumn:
		c := td.Table.Column(f.Part)
		static := ""
		if c.Role == schemas.Static {
			static = " STATIC"
		}
		return []string{fmt.Sprintf("ALTER TABLE %s ADD %s %s%s", table, Quote(c.Name), cqlType(c.Type), static)}
	case schemas.DifferentKey, schemas.DifferentOrder:
		return m.recreate(*td, "the primary key of a table and its order cannot be changed")
	case schemas.DifferentType, schemas.DifferentRole:
		return m.recreate(*td, "the type of a column cannot be changed, nor whether it is static")
	case schemas.MissingIndex, schemas.DifferentIndex, schemas.ExtraIndex:
		return m.index(*td, f)
	case schemas.ExtraColumn:
		return []string{fmt.Sprintf("-- removes its values: ALTER TABLE %s DROP %s;", table, Quote(f.Part))}
	case schemas.DifferentExpiry:
		alter := fmt.Sprintf("ALTER TABLE %s WITH default_time_to_live = %s", table, f.Want)
		want, _ := strconv.Atoi(f.Want)
		have, _ := strconv.Atoi(f.Have)
		return []string{
			m.unless(want > 0 && (have == 0 || want < have), "new rows are lost after "+f.Want+" seconds", alter),
			"-- existing rows keep the time to live that they were written with",
		}
	}
	return m.setting(*td, strings.TrimPrefix(f.Part, EngineName+"."), f)
}

// definitionOf returns the definition of a table, or nil.
func (m *comparison) definitionOf(name string) *TableDefinition {
	for i := range m.Tables {
		if m.Tables[i].Table.Name == name {
			return &m.Tables[i]
		}
	}
	return nil
}

// cqlNameOf returns the CQL name of a table that the schema does not have.
func (m *comparison) cqlNameOf(name string) string {
	for cql, t := range m.there.Tables {
		if t.Mark.Table == name {
			return cql
		}
	}
	return name
}

// recreate returns, as comments, the steps that create a table recreate and keep its rows.
func (m *comparison) recreate(td TableDefinition, why string) []string {
	table := m.Qualified(td.Name)
	stmts := []string{
		"-- " + why + ": create the table again, with its rows",
		fmt.Sprintf("-- 1. copy the rows: COPY %s TO 'rows.csv';", table),
		fmt.Sprintf("-- 2. removes them: DROP TABLE %s;", table),
	}
	for _, stmt := range m.createAll(td) {
		stmts = append(stmts, "-- 3. "+strings.ReplaceAll(stmt, "\n", "\n-- ")+";")
	}
	return append(stmts, fmt.Sprintf("-- 4. COPY %s FROM 'rows.csv';", table))
}

// index returns the statements that create an index, drop it, or both.
func (m *comparison) index(td TableDefinition, f schemas.Difference) (stmts []string) {
	if f.Kind != schemas.MissingIndex {
		stmts = append(stmts, "DROP INDEX IF EXISTS "+m.Qualified(Name(f.Part)))
	}
	if f.Kind == schemas.ExtraIndex {
		return []string{"DROP INDEX IF EXISTS " + m.Qualified(f.Part)}
	}
	// Two indexes of a schema with the same last column are one in CQL.
	for _, x := range td.Table.Indexes {
		if x.Name != f.Part {
			continue
		}
		for _, made := range td.Indexes {
			if made.Column == x.Columns[len(x.Columns)-1].Column {
				stmts = append(stmts, m.createIndex(td, made))
			}
		}
	}
	return stmts
}

// setting returns the statements that set an option. If it is a map, they set all its fields.
func (m *comparison) setting(td TableDefinition, name string, f schemas.Difference) []string {
	table := m.Qualified(td.Name)
	if name == indexesHint {
		if words := strings.Split(f.Want+", "+f.Have, ", "); slices.ContainsFunc(words, func(kind string) bool {
			return kind != legacyIndex && kind != sai
		}) || strings.Contains(f.Want+f.Have, ",") {
			return []string{"-- CREATE INDEX again, by hand: mailbench cannot match indexes and classes"}
		}
		var stmts []string
		for _, x := range td.Indexes {
			stmts = append(stmts, "DROP INDEX IF EXISTS "+m.Qualified(x.Name), m.createIndex(td, x))
		}
		return stmts
	}
	option, _, isMap := strings.Cut(name, ".")
	if c := carriedOf(name); c != nil {
		f.Want = c.cql(f.Want)
	}
	if !isMap {
		return []string{fmt.Sprintf("ALTER TABLE %s WITH %s = %s", table, name, f.Want)}
	}
	fields := make(map[string]string)
	for setting, value := range m.Stored.Table(td.Table.Name).Hints[EngineName] {
		if field, ok := strings.CutPrefix(setting, option+"."); ok && value != "" {
			fields[field] = value
		}
	}
	switch {
	case fields["enabled"] == "false": // CQL takes no other field beside it
		fields = map[string]string{"enabled": "false"}
	case fields["class"] == "" && option != "caching":
		fields["class"], _ = m.defaultOf(option+".class", nil)
	}
	stmts := []string{fmt.Sprintf("ALTER TABLE %s WITH %s = %s", table, option, cqlMap(fields))}
	if option == "compression" {
		stmts = append(stmts,
			fmt.Sprintf("-- existing files keep their compression until: nodetool upgradesstables -a %s %s",
				m.Keyspace, td.Name))
	}
	return stmts
}

// Missing returns the statements that create what the keyspace lacks. It returns
// an error if the keyspace differs in any other way.
func (d *Definition) Missing(there *LiveKeyspace) ([]string, error) {
	if there == nil {
		return d.Statements(), nil
	}
	if err := there.Owned(d.namespace, d.Stored.Name); err != nil {
		return nil, err
	}
	for dc, want := range d.Replication.All() {
		if there.factor(dc) != strconv.Itoa(want) {
			return nil, fmt.Errorf("keyspace %s has %s, but replication is to be %s: drop the keyspace, or change the setting",
				d.Keyspace, cqlMap(there.Replication), d.Replication)
		}
	}
	missing, err := drivers.Missing(d.Stored, there.Schema(d.Stored.Name))
	if err != nil {
		return nil, fmt.Errorf("keyspace %s: %w", d.Keyspace, err)
	}
	m := &comparison{Definition: d, there: there}
	var stmts []string
	for _, c := range missing {
		td := m.definitionOf(c.Table)
		if t := there.Tables[td.Name]; t != nil && t.Comment != td.Comment { // it was created without this index
			return nil, fmt.Errorf("keyspace %s: %w", d.Keyspace, drivers.Conflict([]schemas.Difference{c}))
		}
		for _, stmt := range m.statements(c) {
			if !slices.Contains(stmts, stmt) { // two indexes of a schema may be one in CQL
				stmts = append(stmts, stmt)
			}
		}
	}
	return stmts, nil
}
