package ddl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// Rows are the rows of a keyspace in the tables of system_schema.
type Rows map[string][]map[string]any

// Sources are the tables of system_schema that Read needs.
var Sources = []string{"keyspaces", "tables", "columns", "indexes", "types", "views"}

// field returns a column of a row, or the zero value: which columns there are depends on the version.
func field[T any](row map[string]any, name string) T {
	v, _ := row[name].(T)
	return v
}

// Read reads the keyspace of the definition, with its tables in canonical form. A table without a mark gets the one
// that Apply would have written for the definition of that name; without such a definition, a mark that has only the
// table's name in CQL.
func (d *Definition) Read(rows Rows) {
	d.Name = "keyspace " + d.Keyspace
	for _, row := range rows["keyspaces"] {
		d.Absent, d.durable = false, field[bool](row, "durable_writes")
		d.existing = field[map[string]string](row, "replication")
	}
	slices.SortStableFunc(rows["columns"], func(a, b map[string]any) int {
		return cmp.Compare(field[int](a, "position"), field[int](b, "position"))
	})
	tables, outer := make(map[string]*schemas.Table), make(map[*schemas.Table][]ancestor)
	for _, row := range rows["tables"] {
		name, comment := field[string](row, "table_name"), field[string](row, "comment")
		own, marked := ReadMark(name, comment)
		td, original := d.named[name], d.Of[d.Schema.Table(own.Table)]
		marked = marked && (original == nil || original == td) // else somebody has copied it
		switch {
		case marked:
		case td != nil:
			own, _ = ReadMark(name, td.Comment)
		case d.Of[d.Schema.Table(name)] != nil: // which has another name in CQL
			own = mark{Mark: plan.Mark{Table: cql.Quote(name)}}
		default:
			own = mark{Mark: plan.Mark{Table: name}}
		}
		d.Own(name, own.Mark, marked, d.namespace, d.Schema.Name)
		d.drops[own.Table] = cqlsh.Unsafe("removes its rows", "DROP TABLE "+d.Qualified(name))
		live := rows.table(row, own)
		live.Marked = marked
		tables[own.Table], outer[live.Table] = live.Table, own.In
		if td != nil {
			td.Live = live
		}
	}
	nest(tables, outer)
	d.Have = schemas.Canonical(&schemas.Schema{
		Name: d.Schema.Name, File: d.Name, Tables: slices.Collect(maps.Values(tables)),
	})
	for _, row := range rows["types"] {
		u, types := &schemas.UserType{Name: field[string](row, "type_name")}, field[[]string](row, "field_types")
		for i, name := range field[[]string](row, "field_names") {
			u.Fields = append(u.Fields, &schemas.Column{Name: name, Type: schemas.TypeOfCQL(types[i])})
		}
		d.Have.Types = append(d.Have.Types, u)
	}
	for _, row := range rows["views"] { // which cost every write of their table
		name, base := field[string](row, "view_name"), field[string](row, "base_table_name")
		drop := "DROP MATERIALIZED VIEW " + d.Qualified(name)
		d.drops[fmt.Sprintf(viewForm, name, base)] = cqlsh.Unsafe("removes its rows", drop)
	}
}

// viewForm is how differences name a view of a table.
const viewForm = "%s (materialized view of %s)"

// table returns a table by its name in the schema, not yet nested in others. The rows of columns are sorted by their
// position.
func (r Rows) table(row map[string]any, own mark) *TableDefinition {
	name, settings := field[string](row, "table_name"), readSettings(row)
	t := &schemas.Table{Name: own.Table, Hints: map[string]map[string]string{EngineName: settings}}
	live := &TableDefinition{
		Table: t, Name: name, Comment: field[string](row, "comment"), settings: settings, ID: fmt.Sprint(row["id"]),
	}
	roles := map[string]struct {
		role schemas.Role
		all  *[]*schemas.Column
	}{
		"partition_key": {schemas.Partition, &t.Partition}, "clustering": {schemas.Clustering, &t.Clustering},
		"static": {schemas.Static, &t.Static}, "regular": {schemas.Plain, &t.Columns},
	}
	for _, row := range r["columns"] {
		if in := roles[field[string](row, "kind")]; in.all != nil && row["table_name"] == name {
			column := field[string](row, "column_name")
			typ := own.typeOf(column, field[string](row, "type"))
			desc := row["clustering_order"] == "desc"
			*in.all = append(*in.all, &schemas.Column{Name: column, Type: typ, Role: in.role, Desc: desc})
		}
	}
	columns := make(map[string][]string) // of indexes by their names
	for _, row := range r["indexes"] {
		if row["table_name"] == name {
			x, options := &IndexDefinition{Name: field[string](row, "index_name")}, field[map[string]string](row, "options")
			x.Target = strings.ReplaceAll(options["target"], `"`, "") // of names that are keywords or have capitals
			x.Kind = cql.IndexKind(options["class_name"])
			live.Indexes, columns[x.Name] = append(live.Indexes, x), []string{x.String()}
		}
	}
	for name, cs := range own.Indexes {
		last := len(cs) - 1
		of := func(x *IndexDefinition) bool { return x.Target == cs[last] }
		if i := slices.IndexFunc(live.Indexes, of); i >= 0 {
			delete(columns, plan.Identifier(name))
			columns[name] = append(cs[:last:last], live.Indexes[i].String())
		}
	}
	for name, cs := range columns {
		x := &schemas.Index{Name: name}
		for _, c := range cs { // of an index that Apply does not create there is no column, such as keys(files)
			x.Columns = append(x.Columns, schemas.IndexColumn{Column: cmp.Or(t.Column(c), &schemas.Column{Name: c})})
		}
		t.Indexes = append(t.Indexes, x)
	}
	return live
}

// readSettings returns the settings of a table, from its row of system_schema.tables.
func readSettings(row map[string]any) map[string]string {
	all := make(map[string]string)
	for setting := range usual {
		name, _, _ := strings.Cut(setting, ".")
		switch value := row[cmp.Or(optionNames[name], name)].(type) {
		case nil: // which options there are depends on the version
		case map[string]string:
			for field, v := range value {
				if field == "class" {
					v = schemas.ClassOfCQL(v)
				}
				all[name+"."+field] = strings.ReplaceAll(v, " ", "") // as a word of a hint
			}
		case float64:
			all[name] = strconv.FormatFloat(value, 'g', -1, 64)
		case string:
			all[name] = plain(name, value)
		default:
			all[name] = fmt.Sprint(value)
		}
	}
	return all
}

// nest nests tables in those that their marks name, the innermost first. A row header has no table in CQL: its key
// begins the nested table's.
func nest(tables map[string]*schemas.Table, outer map[*schemas.Table][]ancestor) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		inner := tables[name]
		for _, in := range outer[inner] {
			above := tables[in.Table]
			if above == nil {
				key := max(0, in.Key-len(inner.Partition))
				clustering := inner.Clustering[:min(key, len(inner.Clustering))]
				above = &schemas.Table{Name: in.Table, Partition: inner.Partition, Clustering: clustering}
				tables[in.Table] = above
			}
			at := above
			for at != nil && at != inner {
				at = at.Parent
			}
			if at != nil { // two comments contradict each other
				break
			}
			inner.Parent, inner = above, above
		}
	}
}

// cqlsh is the shell that takes the statements.
var cqlsh = drivers.Shell{Comment: "--", End: ";"}

// Compare implements plan.Place. It adds views to both schemas, and to the wanted settings Cassandra's
// defaults of those that the schema leaves out.
func (d *Definition) Compare(context.Context) (*drivers.Comparison, error) {
	c, want, have := &drivers.Comparison{Where: "keyspace " + d.Keyspace}, d.Want, d.Have
	var differences []schemas.Difference
	var err error
	if d.Absent {
		c.Unseen = append(c.Unseen, fmt.Sprintf("Keyspace %s does not exist.", d.Keyspace))
		want.Types = nil
	} else if differences, err = d.keyspace(); err != nil {
		return nil, err
	}
	var foreign []string // tables without mailbench's mark
	for _, td := range d.Tables {
		w, h, live := want.Table(td.Table.Name), have.Table(td.Table.Name), td.Live
		if base := td.Table.View(); base != "" {
			want.Tables = append(want.Tables, &schemas.Table{Name: fmt.Sprintf(viewForm, td.Name, base)})
		}
		if live != nil && !live.Marked {
			foreign = append(foreign, td.Name)
			if strings.HasPrefix(d.Keyspace, drivers.Prefix) { // the table has lost its mark, and no run uses it
				differences = append(differences, schemas.DiffSettings(td.Table.Name, EngineName,
					map[string]string{"comment": td.Comment}, map[string]string{"comment": live.Comment})...)
			}
		}
		if w != nil && h != nil {
			for _, name := range complete(w.Hints[EngineName], h.Hints[EngineName], d.Strategy) {
				c.Unseen = append(c.Unseen,
					fmt.Sprintf("This Cassandra does not report %s of table %s: it is not compared.", name, w.Name))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.drops)) {
		if have.Table(name) == nil { // a view
			have.Tables = append(have.Tables, &schemas.Table{Name: name})
		}
	}
	differences = append(differences, schemas.Diff(want, have)...)
	c.Drifts = cqlsh.Drifts(d.Schema, differences, d.statements)
	slices.Sort(foreign)
	if len(foreign) > 0 {
		c.Unseen = append(c.Unseen, fmt.Sprintf("Without mailbench's mark Cassandra does not report how %s are nested, "+
			"which bigint counts microseconds, and which key columns an index begins with: that is taken to be as in the schema.",
			strings.Join(foreign, ", ")))
	}
	return c, nil
}

// complete adds to want, the settings that a table should have, Cassandra's defaults for those that only have, the
// existing table's, contains. So Compare also finds a changed setting that the schema does not set. The parameters of
// another class than the wanted one go with it. strategy is the class of the nodes' default compaction, "" if it is
// Cassandra's. It removes from want, and returns, the options that the cluster does not report: a node without CDC
// does not report cdc.
func complete(want, have map[string]string, strategy string) (unreported []string) {
	for _, name := range slices.Sorted(maps.Keys(carried)) {
		if _, ok := have[name]; !ok && want[name] != "" {
			delete(want, name)
			unreported = append(unreported, name)
		}
	}
	given := want["compaction.class"] != ""
	for _, name := range slices.Sorted(maps.Keys(have)) { // compaction.class comes before what depends on it
		if _, ok := want[name]; ok || want[uncompressed] == "false" && strings.HasPrefix(name, "compression.") {
			continue
		}
		value, known := usual[name]
		option, field, isMap := strings.Cut(name, ".")
		class := option + ".class"
		switch {
		case isMap && field != "class" && want[class] != "" && want[class] != have[class]:
			continue
		case name == "compaction.class" && strategy != "":
			value = schemas.ClassOfCQL(strategy)
		case name == "caching.keys" && want["caching.rows_per_partition"] != "": // as of a map without keys
			value = "NONE"
		case name == bloomHint && want["compaction.class"] == "LeveledCompactionStrategy":
			value = "0.1"
		// If a node has a default strategy of its own, the strategy may have parameters that the node does not show.
		case !known && !given && strategy != "" && strings.HasPrefix(name, "compaction."):
			continue
		}
		want[name] = value
	}
	return unreported
}

// number returns a number of replicas; 0 if it is none.
func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// statements returns the statements of a change, which Apply runs and schema diff prints. One that would remove
// data is a comment, and so is what no statement does.
func (d *Definition) statements(f schemas.Difference) []string {
	switch {
	case f.Table == "" && f.Kind == schemas.DifferentSetting:
		return d.alterKeyspace(f)
	case f.Table == "":
		return d.typeStatements(f)
	}
	td := d.Of[d.Schema.Table(f.Table)]
	switch {
	case td == nil && f.Kind == schemas.MissingTable:
		return []string{"-- create it by the statement that was imported"}
	case td == nil: // the schema has no such table
		return []string{d.drops[f.Table]}
	}
	table := td.Qualified()
	switch f.Kind {
	case schemas.MissingTable:
		return d.inKeyspace(td.create()...)
	case schemas.MissingColumn:
		return []string{fmt.Sprintf("ALTER TABLE %s ADD %s", table, typed(td.Table.Column(f.Part)))}
	case schemas.ExtraColumn:
		return []string{cqlsh.Unsafe("removes its values", fmt.Sprintf("ALTER TABLE %s DROP %s", table, cql.Quote(f.Part)))}
	case schemas.DifferentKey, schemas.DifferentOrder:
		return td.recreate("the primary key of a table and its order cannot be changed")
	case schemas.DifferentType, schemas.DifferentRole:
		return td.recreate("the type of a column cannot be changed, nor whether it is static")
	case schemas.ExtraIndex:
		return []string{"DROP INDEX IF EXISTS " + d.Qualified(f.Part)}
	case schemas.MissingIndex:
		return []string{td.createIndex(td.indexes[f.Part])}
	case schemas.DifferentIndex:
		if _, class, _ := strings.Cut(f.Have, " USING "); class != "" && class != sai {
			return []string{"-- drop index " + f.Part + " and create it again, by hand: mailbench does not know its class"}
		}
		return []string{"DROP INDEX IF EXISTS " + d.Qualified(plan.Identifier(f.Part)), td.createIndex(td.indexes[f.Part])}
	}
	return d.alterTable(td, f)
}

// alterTable returns the statements of a change of a setting of a table.
func (d *Definition) alterTable(td *TableDefinition, f schemas.Difference) []string {
	setting := strings.TrimPrefix(f.Part, EngineName+".")
	option, _, isMap := strings.Cut(setting, ".")
	settings := maps.Clone(d.Want.Table(td.Table.Name).Hints[EngineName])
	settings[setting] = f.Want
	if class := option + ".class"; isMap && settings[class] == "" {
		settings[class] = usual[class]
	}
	alter := "ALTER TABLE " + td.Qualified() + " WITH " + optionOf(settings, setting)
	switch want, have := number(f.Want), number(f.Have); {
	case option == compressionHint:
		return []string{
			alter, fmt.Sprintf("-- existing files keep their compression until: nodetool upgradesstables -a %s %s", d.Keyspace, td.Name),
		}
	case f.Kind != schemas.DifferentExpiry:
		return []string{alter}
	case want > 0 && (have == 0 || want < have):
		alter = cqlsh.Unsafe("new rows are lost after "+f.Want+" seconds", alter)
	}
	return []string{alter, "-- existing rows keep the time to live that they were written with"}
}

// optionOf writes the option that a setting belongs to, with its name and its value in CQL.
func optionOf(settings map[string]string, setting string) string {
	name, _, isMap := strings.Cut(setting, ".")
	if !isMap {
		value := settings[name]
		bare := value == "true" || value == "false" || strings.HasPrefix(value, "{")
		if _, err := strconv.ParseFloat(value, 64); err != nil && !bare {
			value = cql.Literal(value)
		}
		return cmp.Or(optionNames[name], name) + " = " + value
	}
	fields := fieldsOf(settings, name)
	if name == compressionHint && fields["enabled"] == "false" { // CQL accepts no other field with it
		fields = map[string]string{"enabled": "false"}
	}
	return name + " = " + cqlMap(fields)
}

// fieldsOf returns the fields of an option that is a map.
func fieldsOf(settings map[string]string, option string) map[string]string {
	fields := make(map[string]string)
	for setting, value := range settings {
		if name, ok := strings.CutPrefix(setting, option+"."); ok && value != "" {
			fields[name] = value
		}
	}
	return fields
}

// optionNames are the options of CQL whose settings have another name.
var optionNames = map[string]string{schemas.ExpirySetting: "default_time_to_live"}

// cqlMap writes a map of strings in CQL, with "class" first.
func cqlMap(fields map[string]string) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, cql.Literal(k)+": "+cql.Literal(fields[k]))
		if k == "class" {
			words = slices.Insert(words[:len(words)-1], 0, words[len(words)-1])
		}
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// typeStatements returns the statements of a change of a type. A field can be added at its end. Nothing drops a field
// or changes its type.
func (d *Definition) typeStatements(f schemas.Difference) []string {
	name := d.Qualified(f.Part)
	at := slices.IndexFunc(d.Schema.Types, func(u *schemas.UserType) bool { return u.Name == f.Part })
	switch {
	case f.Kind == schemas.ExtraType:
		return []string{"-- if nothing else needs it: DROP TYPE " + name + cqlsh.End}
	case f.Kind == schemas.MissingType:
		return d.inKeyspace(d.createType(d.Schema.Types[at]))
	case strings.HasPrefix(f.Have, f.Want+", "):
		return []string{"-- a field cannot be dropped from a type; it may stay"}
	case !strings.HasPrefix(f.Want, f.Have+", "):
		return []string{
			"-- the fields of a type cannot be dropped, moved or given another type: make a new type, and copy the columns that have it",
		}
	}
	var stmts []string
	for _, c := range d.Schema.Types[at].Fields[strings.Count(f.Have, ", ")+1:] {
		stmts = append(stmts, fmt.Sprintf("ALTER TYPE %s ADD %s", name, typed(c)))
	}
	return stmts
}

// recreate returns, as comments, the steps that create a table again and keep its rows.
func (td *TableDefinition) recreate(why string) []string {
	table := td.Qualified()
	stmts := []string{
		"-- " + why + ": create the table again, with its rows",
		fmt.Sprintf("-- 1. copy the rows: COPY %s TO 'rows.csv';", table),
		fmt.Sprintf("-- 2. removes them: DROP TABLE %s;", table),
	}
	for _, stmt := range td.create() {
		stmts = append(stmts, "-- 3. "+strings.ReplaceAll(stmt, "\n", "\n-- ")+";")
	}
	return append(stmts, fmt.Sprintf("-- 4. COPY %s FROM 'rows.csv';", table))
}

// Missing returns the statements that create what the keyspace lacks, and the keyspace itself if there is none. It
// returns an error if that is not all that differs.
func (d *Definition) Missing(changes []schemas.Difference) ([]string, error) {
	for _, in := range d.Replication {
		have := number(cmp.Or(d.existing[in.Datacenter], d.existing["replication_factor"]))
		if !d.Absent && have != in.Factor {
			return nil, fmt.Errorf("it has %s, but replication is to be %s: drop the keyspace, or change the setting",
				cqlMap(d.existing), d.Replication)
		}
	}
	for _, c := range changes {
		td := d.Of[d.Schema.Table(c.Table)]
		if td != nil && td.Live != nil && td.Live.Comment != td.Comment { // it was created without this index
			return nil, drivers.Conflict([]schemas.Difference{c})
		}
	}
	return drivers.Statements(changes, d.statements), nil
}
