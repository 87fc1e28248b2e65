package cassandra

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// mender knows the statements that mend a difference.
type mender struct {
	*definition
	*Store
	there *liveKeyspace
}

func (d *definition) qualified(table string) string { return quote(d.keyspace) + "." + quote(table) }

// mend returns the statements that would mend a difference. A statement that would remove data
// is written as a comment.
func (m *mender) mend(f schemas.Difference) []string {
	td := m.definitionOf(f.Table)
	if td == nil { // the schema has no such table
		return []string{"-- removes its rows: DROP TABLE " + m.qualified(m.cqlNameOf(f.Table)) + ";"}
	}
	table := m.qualified(td.name)
	switch f.Kind {
	case schemas.MissingTable:
		return m.createMissing(*td)
	case schemas.MissingColumn:
		c := td.table.Column(f.Part)
		static := ""
		if c.Role == schemas.Static {
			static = " STATIC"
		}
		return []string{fmt.Sprintf("ALTER TABLE %s ADD %s %s%s;", table, quote(c.Name), cqlType(c.Type), static)}
	case schemas.DifferentKey, schemas.DifferentOrder:
		return m.recreate(*td, "the primary key of a table and its order cannot be changed")
	case schemas.DifferentType, schemas.DifferentRole:
		return m.recreate(*td, "the type of a column cannot be changed, nor whether it is static")
	case schemas.MissingIndex, schemas.DifferentIndex, schemas.ExtraIndex:
		return m.index(*td, f)
	case schemas.ExtraColumn:
		return []string{fmt.Sprintf("-- removes its values: ALTER TABLE %s DROP %s;", table, quote(f.Part))}
	case schemas.DifferentExpiry:
		return []string{
			fmt.Sprintf("ALTER TABLE %s WITH default_time_to_live = %s;", table, f.Want),
			"-- existing rows keep the time to live that they were written with",
		}
	}
	return m.setting(*td, strings.TrimPrefix(f.Part, engineName+"."), f)
}

// definitionOf returns the definition of a table, or nil.
func (m *mender) definitionOf(name string) *tableDefinition {
	for i := range m.definition.tables {
		if m.definition.tables[i].table.Name == name {
			return &m.definition.tables[i]
		}
	}
	return nil
}

// cqlNameOf returns the CQL name of a table that the schema does not have.
func (m *mender) cqlNameOf(name string) string {
	for cql, t := range m.there.tables {
		if t.mark.Table == name {
			return cql
		}
	}
	return name
}

// createMissing returns the statements that create a table, and the keyspace if there is none.
func (m *mender) createMissing(td tableDefinition) (stmts []string) {
	if m.there.replication == nil {
		stmts = append(stmts, m.createKeyspace()+";")
	}
	for _, stmt := range m.createAll(td) {
		stmts = append(stmts, stmt+";")
	}
	return stmts
}

// recreate returns, as comments, the steps that create a table recreate and keep its rows.
func (m *mender) recreate(td tableDefinition, why string) []string {
	table := m.qualified(td.name)
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
func (m *mender) index(td tableDefinition, f schemas.Difference) (stmts []string) {
	if f.Kind != schemas.MissingIndex {
		stmts = append(stmts, fmt.Sprintf("DROP INDEX IF EXISTS %s.%s;",
			quote(m.definition.keyspace), quote(cqlName(f.Part))))
	}
	if f.Kind == schemas.ExtraIndex {
		stmts[0] = fmt.Sprintf("DROP INDEX IF EXISTS %s.%s;", quote(m.definition.keyspace), quote(f.Part))
		return stmts
	}
	// Two indexes of a schema with the same last column are one in CQL.
	for _, x := range td.table.Indexes {
		if x.Name != f.Part {
			continue
		}
		for _, made := range td.indexes {
			if made.column == x.Columns[len(x.Columns)-1].Column {
				stmts = append(stmts, m.createIndex(td, made)+";")
			}
		}
	}
	return stmts
}

// setting returns the statements that set an option. If it is a map, they set all its fields.
func (m *mender) setting(td tableDefinition, name string, f schemas.Difference) []string {
	table := m.qualified(td.name)
	if name == indexesHint {
		var stmts []string
		for _, x := range td.indexes {
			stmts = append(stmts, fmt.Sprintf("DROP INDEX IF EXISTS %s.%s;", quote(m.definition.keyspace), quote(x.name)),
				m.createIndex(td, x)+";")
		}
		return stmts
	}
	option, _, isMap := strings.Cut(name, ".")
	if !isMap {
		return []string{fmt.Sprintf("ALTER TABLE %s WITH %s = %s;", table, name, f.Want)}
	}
	fields := make(map[string]string)
	for setting, value := range m.stored.Table(td.table.Name).Hints[engineName] {
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
	stmts := []string{fmt.Sprintf("ALTER TABLE %s WITH %s = %s;", table, option, cqlMap(fields))}
	if option == "compression" {
		stmts = append(stmts,
			fmt.Sprintf("-- existing files keep their compression until: nodetool upgradesstables -a %s %s",
				m.definition.keyspace, td.name))
	}
	return stmts
}
