package imports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// maxName is how many characters a name of the language has at most.
const maxName = 48

// create adds the types, tables and indexes of the keyspace.
func (im *importer) create(c *cql.Catalog) {
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
			im.table(t)
		}
	}
	for _, x := range c.Indexes {
		if im.own(x.Table) {
			if err := im.index(x); err != nil {
				im.unread(x.Pos, "CREATE INDEX "+x.Name.Name+" ON "+x.Table.Name+" ("+x.Target+")", err.Error())
			}
		}
	}
}

func (im *importer) table(ct *cql.Table) {
	t := &schemas.Table{Name: ct.Name.Name, Imported: at(ct.Pos)}
	options(t, ct.Options)
	column := func(name string, role schemas.Role, desc bool) *schemas.Column {
		c := ct.Column(name)
		return &schemas.Column{Name: name, Type: schemas.TypeOfCQL(c.Type.String()), Role: role, Desc: desc, Pos: *at(c.Pos)}
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
		return
	}
	for _, text := range n.rows {
		if err := t.AddRows(text); err != nil {
			im.unread(ct.Pos, "-- rows: "+text, "rows in the comment of table "+t.Name+": "+err.Error())
		}
	}
	im.schema.Tables = append(im.schema.Tables, t)
}

// index adds an index to its table.
func (im *importer) index(x *cql.Index) error {
	t := im.schema.Table(x.Table.Name)
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
	t.Indexes = append(before, own)
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

// options divides the settings of a table into those that a schema file has as hints, and others.
func options(t *schemas.Table, all []cql.Option) {
	for _, o := range all {
		value, name := cql.Unquote(o.Value), o.Name
		ok := true
		switch {
		case name == "comment":
			if !strings.HasPrefix(value, "mailbench {") { // else it is for the driver
				t.Doc = strings.TrimSpace(value)
			}
		case name == "default_time_to_live" && value != "0":
			hint(t, schemas.ExpirySetting, value)
		case name == "gc_grace_seconds", name == "bloom_filter_fp_chance":
			hint(t, name, value)
		case name == "compaction", name == "compression", name == "caching":
			var words string
			if words, ok = mapWords(name, o.Value); ok {
				hint(t, name, words)
			}
		default:
			ok = name == "id" || slices.Contains(strings.Fields(defaults[name]), strings.Join(strings.Fields(value), ""))
		}
		if !ok {
			t.Other = append(t.Other, schemas.Setting{Name: o.Name, Text: o.Value})
		}
	}
}

// defaults are what DESCRIBE prints of a table with default settings: of Cassandra 3.11 to 5.0, and of
// ScyllaDB 5 and 6. They say nothing of a design.
var defaults = map[string]string{
	"additional_write_policy":     "99p 99PERCENTILE",
	"allow_auto_snapshot":         "true",
	"cdc":                         "false {}",
	"crc_check_chance":            "1 1.0",
	"dclocal_read_repair_chance":  "0 0.0 0.1",
	"default_time_to_live":        "0",
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

// renamed are the fields that Cassandra 2 has under other names.
var renamed = map[string]string{"sstable_compression": "class", "chunk_length_kb": "chunk_length_in_kb"}

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
