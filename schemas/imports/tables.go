package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// maxName is how many characters a name of the language has at most.
const maxName = 48

// create adds the types, tables and indexes of the keyspace. The error is one of rows in a comment.
func (im *importer) create(c *cql.Catalog) error {
	for _, k := range c.Keyspaces {
		if k.Name.Name == im.keyspace || im.keyspace == "" {
			for _, o := range k.Options {
				im.schema.Other = append(im.schema.Other, schemas.Setting{Name: o.Name, Text: o.Value})
			}
		}
	}
	for _, u := range c.Types {
		if !im.own(u.Name) {
			continue
		}
		own := &schemas.UserType{Name: u.Name.Name}
		for _, f := range u.Columns {
			own.Fields = append(own.Fields, &schemas.Column{Name: f.Name, Type: schemas.TypeOfCQL(f.Type.String())})
		}
		im.schema.Types = append(im.schema.Types, own)
		column := &schemas.Column{Name: "a", Type: schemas.Type{Kind: schemas.Int}, Role: schemas.Partition}
		if err := im.refused([]*schemas.Table{{Name: "a", Partition: []*schemas.Column{column}}}); err != nil {
			im.schema.Types = im.schema.Types[:len(im.schema.Types)-1]
			im.unread(u.Pos, "CREATE TYPE "+u.Name.Name, err.Error())
		}
	}
	for _, t := range c.Tables {
		if im.own(t.Name) {
			if err := im.table(t); err != nil {
				return err
			}
		}
	}
	for _, x := range c.Indexes {
		if im.own(x.Table) {
			if err := im.index(x); err != nil {
				im.unread(x.Pos, "CREATE INDEX "+x.Name.Name+" ON "+x.Table.Name+" ("+x.Target+")", err.Error())
			}
		}
	}
	return nil
}

func (im *importer) table(ct *cql.Table) error {
	t := &schemas.Table{Imported: at(ct.Pos)}
	m := options(t, ct.Options)
	if !im.unmarked && m.Table != "" {
		im.marks[t] = m
	} else {
		m = mark{}
	}
	t.Name = cmp.Or(m.Table, ct.Name.Name)
	column := func(name string, role schemas.Role, desc bool) *schemas.Column {
		c := ct.Column(name)
		col := &schemas.Column{Name: name, Type: schemas.TypeOfCQL(c.Type.String()), Role: role, Desc: desc, Pos: *at(c.Pos)}
		if text, ok := m.Types[name]; ok {
			col.Type = schemas.TypeOf(text)
		}
		return col
	}
	for _, c := range ct.Columns {
		switch {
		case c.Static:
			t.Static = append(t.Static, column(c.Name, schemas.Static, false))
		case !slices.Contains(ct.Key(), c.Name):
			t.Columns = append(t.Columns, column(c.Name, schemas.Plain, false))
		}
	}
	for _, name := range ct.Partition {
		t.Partition = append(t.Partition, column(name, schemas.Partition, false))
	}
	for _, o := range ct.Cluster {
		t.Clustering = append(t.Clustering, column(o.Column, schemas.Clustering, o.Descending))
	}
	if ct.View != nil {
		t.Other = append(t.Other, schemas.Setting{Name: schemas.ViewOf, Text: ct.View.Base.Name})
	}
	n := im.readNotes(ct.Pos, ct.Comments, true)
	if n.name != "" && n.name != t.Name {
		n.doc = n.name + ": " + n.doc
	}
	t.Doc, t.Accept = cmp.Or(t.Doc, n.doc), n.accept
	t.Purposes = make(map[schemas.Purpose][]*schemas.Column)
	for _, purpose := range schemas.Purposes {
		if names, says := n.purposes[purpose]; says && len(names) == 0 {
			t.Purposes[purpose] = []*schemas.Column{}
		}
		for _, name := range n.purposes[purpose] {
			if c := t.Column(name); c != nil {
				t.Purposes[purpose] = append(t.Purposes[purpose], c)
			} else {
				im.unread(ct.Pos, "-- "+string(purpose)+": "+name,
					fmt.Sprintf("the comment above it has %s: %s, and table %s has no such column", purpose, name, t.Name))
			}
		}
	}
	if err := im.refused([]*schemas.Table{t}); err != nil {
		im.unread(ct.Pos, "CREATE TABLE "+t.Name, err.Error())
		return nil
	}
	for _, text := range n.rows {
		if err := t.AddRows(text); err != nil {
			return fmt.Errorf("%s:%d: rows in the comment of table %s: %w", t.Imported.File, t.Imported.Line, t.Name, err)
		}
	}
	im.tables[ct.Name.Name] = t
	im.schema.Tables = append(im.schema.Tables, t)
	return nil
}

// index adds an index to its table.
func (im *importer) index(x *cql.Index) error {
	t := im.tables[x.Table.Name]
	if t == nil {
		return fmt.Errorf("there is no table %s", x.Table.Name)
	}
	c := t.Column(x.Target)
	if c == nil {
		return fmt.Errorf("table %s has no column %s", t.Name, x.Target)
	}
	own := &schemas.Index{
		Name:    cmp.Or(x.Name.Name, strings.Join([]string{t.Name, x.Target, "idx"}, "_")), // as Cassandra does
		Columns: []schemas.IndexColumn{{Column: c}}, Pos: *at(x.Pos),
	}
	if len(x.Local) > 0 { // of ScyllaDB: it finds rows within a partition only
		own.Columns = nil
		for _, key := range append(slices.Clone(t.Partition), c) {
			own.Columns = append(own.Columns, schemas.IndexColumn{Column: key})
		}
	}
	for n := 1; x.Name.Name == "" && t.Index(own.Name) != nil; n++ {
		own.Name = fmt.Sprintf("%s_%s_idx_%d", t.Name, x.Target, n)
	}
	before := t.Indexes
	if t.Indexes = append(before, im.marks[t].indexes(t, own)...); len(t.Indexes) == len(before) {
		t.Indexes = append(before, own)
	}
	if err := im.refused([]*schemas.Table{t}); err != nil {
		t.Indexes = before
		return err
	}
	var more []string
	if x.Part != "" && x.Part != "values" {
		more = append(more, x.Part+"("+x.Target+")")
	}
	switch kind := cql.IndexKind(x.Using); {
	case kind == cql.SAI:
		if len(t.Indexes) == 1 {
			hint(t, "indexes", kind) // of the table, so of its other indexes that say nothing else
		} else if t.Hints["cassandra"]["indexes"] != "sai" {
			more = append(more, "USING 'sai'")
		}
	case kind != cql.LegacyIndex:
		more = append(more, "USING '"+x.Using+"'")
	case t.Hints["cassandra"]["indexes"] == "sai":
		more = append(more, "USING 'legacy_local_table'")
	}
	if x.Options != "" {
		more = append(more, "WITH OPTIONS = "+x.Options)
	}
	if len(more) > 0 {
		t.Other = append(t.Other, schemas.Setting{Name: "index " + own.Name, Text: strings.Join(more, " ")})
	}
	return nil
}

func hint(t *schemas.Table, name, value string) {
	if t.Hints == nil {
		t.Hints = map[string]map[string]string{"cassandra": {}}
	}
	t.Hints["cassandra"][name] = value
}

// options divides the settings of a table into those that a schema file has as hints,
// and others. It returns the mark that mailbench leaves in the comment of its own tables.
func options(t *schemas.Table, all []cql.Option) (marked mark) {
	for _, o := range all {
		value := cql.Unquote(o.Value)
		ok := true
		form, name := numeric[o.Name], o.Name
		if name == "default_time_to_live" {
			name = schemas.ExpirySetting
		}
		switch {
		case name == "comment":
			var m mark
			text, ours := strings.CutPrefix(value, markPrefix)
			if ours && json.Unmarshal([]byte(text), &m) == nil && m.Table != "" {
				marked = m
			} else {
				t.Doc = strings.TrimSpace(value)
			}
		case form != nil:
			if ok = form.MatchString(value); ok && !(name == schemas.ExpirySetting && value == "0") {
				hint(t, name, value)
			}
		case name == "compaction", name == "compression", name == "caching":
			var words string
			if words, ok = mapWords(o.Name, o.Value); ok {
				hint(t, o.Name, words)
			}
		default:
			ok = o.Name == "id" || slices.Contains(strings.Fields(defaults[o.Name]), strings.Join(strings.Fields(value), ""))
		}
		if !ok {
			t.Other = append(t.Other, schemas.Setting{Name: o.Name, Text: o.Value})
		}
	}
	return marked
}

// defaults are what DESCRIBE prints of a table with default settings: of Cassandra 3.11 to 5.0, and of
// ScyllaDB 5 and 6. They say nothing of a design.
var defaults = map[string]string{
	"additional_write_policy":     "99p 99PERCENTILE",
	"allow_auto_snapshot":         "true",
	"cdc":                         "false {}",
	"crc_check_chance":            "1 1.0",
	"dclocal_read_repair_chance":  "0 0.0 0.1",
	"extensions":                  "{}",
	"incremental_backups":         "true",
	"max_index_interval":          "2048",
	"memtable":                    "default {}",
	"memtable_flush_period_in_ms": "0",
	"min_index_interval":          "128",
	"paxos_grace_seconds":         "864000",
	"read_repair":                 "BLOCKING",
	"read_repair_chance":          "0 0.0",
	"speculative_retry":           "99p 99PERCENTILE 99.0PERCENTILE",
	"tombstone_gc": "{'mode':'timeout','propagation_delay_in_seconds':'3600'} {'mode':'timeout'} " +
		"{'mode':'repair','propagation_delay_in_seconds':'3600'}",
}

// numeric are the settings that are numbers in a schema file, with the form of these.
var numeric = map[string]*regexp.Regexp{
	"default_time_to_live": whole, "gc_grace_seconds": whole,
	"bloom_filter_fp_chance": regexp.MustCompile(`^(0?\.[0-9]*[1-9][0-9]*|[1-9](\.[0-9]+)?[eE]-[0-9]+|1(\.0*)?)$`),
}

var (
	whole = regexp.MustCompile(`^[0-9]{1,9}$`)
	// renamed are the fields that Cassandra 2 has under other names.
	renamed = map[string]string{"sstable_compression": "class", "chunk_length_kb": "chunk_length_in_kb"}
)

// mapWords writes a map as the words of a hint. ok is false if a value cannot be a word.
func mapWords(option, text string) (words string, ok bool) {
	given, ok := cql.Map(text)
	fields := make(map[string]string)
	for name, value := range given {
		value = strings.ReplaceAll(schemas.ClassOfCQL(value), " ", "")
		if option == "compression" && slices.Contains([]string{"enabled=false", "sstable_compression="}, name+"="+value) {
			return "none", true
		}
		fields[cmp.Or(renamed[name], name)], ok = value, ok && value != ""
	}
	_, class := fields["class"]
	return cql.Words(fields), ok && len(fields) > 0 && class == (option != "caching")
}

// mark is what mailbench writes into the comments of its own tables (package ddl of drivers/cassandra).
type mark struct {
	Table string `json:"table"`
	cql.Facts
}

const markPrefix = "mailbench "

// nest puts mailbench's own tables into the parents that their marks name, and creates the row headers among these. It
// reports whether the language has the result.
func (im *importer) nest() bool {
	if len(im.marks) == 0 {
		return true
	}
	for _, t := range im.schema.Tables { // without the headers that follow
		m := im.marks[t]
		for _, in := range m.In {
			parent := im.schema.Table(in.Table)
			key := max(0, min(in.Key-len(t.Partition), len(t.Clustering)))
			if parent == nil {
				parent = &schemas.Table{
					Name: in.Table, Imported: t.Imported, Partition: t.Partition, Clustering: slices.Clone(t.Clustering[:key]),
				}
				im.schema.Tables = append(im.schema.Tables, parent)
			}
			if t.Parent == nil && len(parent.Clustering) == key && len(parent.Partition) == len(t.Partition) {
				t.Parent, t.Inherited = parent, key
				t.Partition = parent.Partition
				t.Clustering = slices.Concat(parent.Clustering, t.Clustering[key:])
				parent.Children = append(parent.Children, t)
			}
			t = parent
		}
	}
	return im.refused(im.schema.Tables) == nil
}

// indexes returns the indexes that a mark has for one of CQL, which has only their last column.
func (m mark) indexes(t *schemas.Table, x *schemas.Index) (all []*schemas.Index) {
	for _, name := range slices.Sorted(maps.Keys(m.Indexes)) {
		own := &schemas.Index{Name: name, Pos: x.Pos}
		for _, c := range m.Indexes[name] {
			if col := t.Column(c); col != nil {
				own.Columns = append(own.Columns, schemas.IndexColumn{Column: col})
			}
		}
		if n := len(own.Columns); n > 0 && own.Columns[n-1] == x.Columns[len(x.Columns)-1] {
			all = append(all, own)
		}
	}
	return all
}

// notes are what the comments above a statement say.
type notes struct {
	name, doc string
	accept    []schemas.Acceptance
	purposes  map[schemas.Purpose][]string
	rows      []string // YAML, as in the list rows of a table
	many      bool     // "batch: many": a batch has as many of its statements as a list has elements
}

var (
	acceptNote = regexp.MustCompile(`^accept (?:([a-z-]+): *(.*)|[a-z]+(?:-[a-z]+)+|queue)$`)
	nameNote   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*):(?: +(.*))?$`)
	sqlcNote   = regexp.MustCompile(`^name: *([A-Za-z][A-Za-z0-9_.-]*)\b *(:\w+)? *$`) // as sqlc names queries
)

// readNotes reads the comments above a statement, or above a table: those say more.
func (im *importer) readNotes(pos lexer.Position, comments []string, table bool) (n notes) {
	var doc []string
	n.purposes = make(map[schemas.Purpose][]string)
	for _, c := range comments {
		accept, sqlc := acceptNote.FindStringSubmatch(c), sqlcNote.FindStringSubmatch(c)
		named := nameNote.FindStringSubmatch(c)
		switch {
		case accept != nil && accept[2] == "":
			im.unread(pos, "-- "+c, "it has no reason; expected -- accept RULE: REASON")
		case accept != nil:
			n.accept = append(n.accept, schemas.Acceptance{Rule: accept[1], Reason: accept[2]})
		case c == "batch: many":
			n.many = true
		case sqlc != nil && n.name == "":
			n.name = sqlc[1]
		case table && named != nil && slices.Contains(schemas.Purposes, schemas.Purpose(named[1])): // [] says that none is
			columns := strings.NewReplacer("[", "", "]", "", ",", " ").Replace(named[2])
			n.purposes[schemas.Purpose(named[1])] = strings.Fields(columns)
		case table && named != nil && named[1] == "rows":
			n.rows = append(n.rows, named[2])
		case named != nil && n.name == "" && len(doc) == 0:
			if n.name = named[1]; named[2] != "" {
				doc = append(doc, named[2])
			}
		case c != "":
			doc = append(doc, c)
		}
	}
	if len(n.name) > maxName-4 { // the doc keeps all of it
		doc = append([]string{n.name + ":"}, doc...)
		n.name = strings.TrimRight(n.name[:maxName-4], "_.-")
	}
	n.doc = strings.Join(doc, " ")
	return n
}
