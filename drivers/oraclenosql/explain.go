package oraclenosql

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

var (
	_ drivers.Explainer = (*statement)(nil)
	_ drivers.Planner   = (*statement)(nil)
)

// Explain implements drivers.Explainer.
func (st *statement) Explain() ([]string, error) {
	var lines []string
	if st.inList != nil { // how the rows of several keys are read
		lines = append(lines, fmt.Sprintf("%s;  -- for %d of %s at a time", st.inList.text, mostListed, st.Pattern().In.Name),
			st.partition.text+";  -- the first time below "+names(st.table.shardKey))
	}
	switch st.action {
	case doBatch:
		atomic := "one WriteMultiple, of rows of one shard key:"
		if st.reads {
			atomic = "the rows are read, then one WriteMultiple, of rows of one shard key, if none has changed meanwhile:"
		}
		return drivers.ExplainParts(atomic, st.Pattern(), st.parts)
	case doGet:
		return append(lines, fmt.Sprintf("Get %s {%s}", st.table.full, fieldNames(st.key))+st.each()), nil
	case doPut:
		return []string{st.explainPut(st.option)}, nil
	case doDelete:
		text := fmt.Sprintf("Delete %s {%s}", st.table.full, fieldNames(st.key))
		if st.Pattern().Present {
			text += ", if it is there"
		}
		return []string{text}, nil
	case doDeleteAll:
		lines = append(lines, fmt.Sprintf("MultiDelete %s {%s}, until it is done", st.table.full, fieldNames(st.key)))
		if st.also != nil {
			lines = append(lines, fmt.Sprintf("Delete %s {%s}", st.also.full, fieldNames(st.key)))
		}
		return lines, nil
	}
	for with, q := range st.queries {
		if q == nil {
			continue
		}
		line := q.text + ";" + st.each()
		for _, words := range []string{q.note, st.given(with)} {
			if words != "" {
				line += "  -- " + words
			}
		}
		lines = append(lines, line)
	}
	if k := st.Pattern().Kind; st.action == doUpdate && k != schemas.Remove && k != schemas.PutIf {
		lines = append(lines, st.explainPut(types.PutIfAbsent)+"  -- if there was no row to update")
	}
	return lines, nil
}

// given says for which calls one of several queries is sent.
func (st *statement) given(with int) string {
	if st.Pattern().Kind != schemas.PutIf {
		return plan.Bounds(with).String()
	}
	var words []string
	for i, c := range st.Pattern().If {
		if with>>i&1 != 0 {
			words = append(words, c.Name)
		}
	}
	if len(words) > 0 {
		return "if null is expected of " + strings.Join(words, ", ")
	}
	return ""
}

// each says that a request is sent for each element of a list.
func (st *statement) each() string {
	p := st.Pattern()
	switch {
	case p.In == nil:
		return ""
	case st.inList != nil:
		return "  -- for a single " + p.In.Name
	case p.Parallel > 1:
		return fmt.Sprintf("  -- for each %s, %d at a time", p.In.Name, p.Parallel)
	}
	return "  -- for each " + p.In.Name
}

func fieldNames(fs []field) string { return joined(fs, func(f field) string { return f.name }) }

func (st *statement) explainPut(option types.PutOption) string {
	verb := "Put"
	if option == types.PutIfAbsent {
		verb += " IfAbsent"
	}
	if st.table.putsJSON() {
		verb += " of JSON"
	}
	return fmt.Sprintf("%s %s {%s}", verb, st.table.full, fieldNames(slices.Concat(st.key, st.write)))
}

// Traced implements drivers.Tracer. Oracle itself reports nothing: the rows that it read are known only where it reads
// no others than it returns.
func (s *Store) Traced() (drivers.TracedSession, error) {
	return plan.Call(&s.gate, "open a session", func() (drivers.TracedSession, error) {
		se, err := s.session()
		idle := drivers.Unreported
		idle.Requests, idle.Time, idle.Rows = 0, 0, 0
		se.Trace(idle, false)
		return se, err
	})
}

// queryPlan is what the server's plan of a query says.
type queryPlan struct {
	partitions string // which partitions
	table      string
	index      string
	equal      []string // columns of the index with one value
	ranges     []string // columns of it with a range
	covers     bool     // the index has all columns that the query needs
	// filters: rows or entries of the index are read that are not returned.
	filters bool
	sorts   bool // rows are sorted
}

// distributions are the words for the partitions that a query reads.
var distributions = map[string]string{
	"SINGLE_PARTITION": "one partition", "ALL_PARTITIONS": "all partitions", "ALL_SHARDS": "all shards",
}

// readPlan reads a plan as the server writes it, a tree of iterators in JSON. ok is false if
// it is no such plan.
func readPlan(text string) (p queryPlan, ok bool) {
	var tree map[string]any
	if json.Unmarshal([]byte(text), &tree) != nil {
		return p, false
	}
	p.read(tree)
	return p, p.table != ""
}

// read reads an iterator and those within.
func (p *queryPlan) read(node any) {
	switch node := node.(type) {
	case []any:
		for _, n := range node {
			p.read(n)
		}
	case map[string]any:
		switch kind, _ := node["iterator kind"].(string); kind {
		case "RECEIVE":
			word, _ := node["distribution kind"].(string)
			if p.partitions = distributions[word]; p.partitions == "" {
				p.partitions = word
			}
		case "SORT", "SORT2":
			p.sorts = true
		case "SELECT":
			p.filters = p.filters || node["WHERE"] != nil
		case "TABLE":
			full, _ := node["target table"].(string)
			_, p.table, _ = strings.Cut(full, ":")
			p.index, _ = node["index used"].(string)
			p.covers, _ = node["covering index"].(bool)
			p.filters = p.filters || node["index filtering predicate"] != nil || node["filtering predicate"] != nil
			scans, _ := node["index scans"].([]any)
			for _, s := range scans {
				scan, _ := s.(map[string]any)
				p.equal = columnsOf(p.equal, scan["equality conditions"])
				p.ranges = columnsOf(p.ranges, scan["range conditions"])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(node)) {
			p.read(node[name])
		}
	}
}

func columnsOf(names []string, conditions any) []string {
	m, _ := conditions.(map[string]any)
	names = slices.AppendSeq(names, maps.Keys(m))
	slices.Sort(names)
	return slices.Compact(names)
}

// String writes the plan as a line.
func (p *queryPlan) String() string {
	line := p.table + " by its " + p.index
	if p.index != "primary index" {
		line = p.table + " by index " + p.index
	}
	if p.partitions != "" {
		line = p.partitions + ": " + line
	}
	if len(p.equal) > 0 {
		line += ", equal " + strings.Join(p.equal, ", ")
	}
	if len(p.ranges) > 0 {
		line += ", range of " + strings.Join(p.ranges, ", ")
	}
	if len(p.equal)+len(p.ranges) == 0 {
		line += ", all of it"
	}
	for _, w := range []struct {
		on   bool
		word string
	}{{p.covers, "reads only the index, no rows"}, {p.filters, "leaves some out"}, {p.sorts, "sorts"}} {
		if w.on {
			line += "; " + w.word
		}
	}
	return line
}

// Plans implements drivers.Planner.
func (st *statement) Plans() []string {
	var lines []string
	if st.inList != nil && st.inList.plan != nil {
		lines = append(lines, fmt.Sprintf("%s (several of %s)", st.inList.plan, st.Pattern().In.Name))
	}
	for with, q := range st.queries {
		if q == nil || q.plan == nil {
			continue
		}
		line := q.plan.String()
		if words := st.given(with); words != "" {
			line = fmt.Sprintf("%s (%s)", line, words)
		}
		lines = append(lines, line)
	}
	for _, part := range st.parts {
		lines = append(lines, part.Plans()...)
	}
	return lines
}

// renderSQL writes the statements that create a schema, as the SQL shell takes them.
func renderSQL(s *schemas.Schema, o drivers.Options) (string, error) {
	if _, err := readSettings(o.Settings); err != nil {
		return "", err
	}
	l, err := newLayout(s, o.Namespace, "")
	if err != nil {
		return "", err
	}
	t := render.New("#")
	t.Head(s, fmt.Sprintf("The DDL of Oracle NoSQL Database for the schema %s. The Cloud Service has no namespaces: "+
		"leave %s: out there.",
		s.Name, l.namespace))
	t.Statement("\nCREATE NAMESPACE IF NOT EXISTS " + l.namespace + ";")
	for _, table := range l.all {
		t.Table(table.of)
		for _, note := range table.allNotes() {
			t.Comment(note)
		}
		t.Statement(table.create("") + ";")
		if !table.static { // the rows are indexed
			table.indexes(t)
		}
	}
	return t.String(), nil
}

// allNotes returns sentences on how the table differs from the schema's.
func (t *table) allNotes() []string {
	var notes, desc []string
	if t.static {
		notes = append(notes, "Oracle has no static columns: this table has them, and its child rows has the rows.")
	}
	if t.of.Header() {
		notes = append(notes, "It has no rows: the tables nested in it need a parent.")
	}
	for _, c := range slices.Concat(t.ownKey, t.columns) {
		if renamed(c.Name) != "" {
			notes = append(notes, fmt.Sprintf("Column %s is called %s: SQL does not take its name.", c.Name, identifier(c.Name)))
		}
		if _, note := fieldOf(c).columnType(); note != "" {
			notes = append(notes, fmt.Sprintf("Column %s %s.", c.Name, note))
		}
		if c.Desc {
			desc = append(desc, c.Name+" DESC")
		}
	}
	if len(desc) > 0 {
		note := "Keys ascend: reads use ORDER BY " + strings.Join(desc, ", ") + " and go backwards."
		if len(desc) < len(t.key) {
			note = "Keys ascend: the order " + strings.Join(desc, ", ") + ", with other key columns ascending, needs a sort."
		}
		notes = append(notes, note)
	}
	return notes
}

// create returns the statement that creates the table. A child table inherits the key
// columns of its parents and does not name them. A comment has no single quotes.
func (t *table) create(comment string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s ", t.full)
	if comment != "" {
		fmt.Fprintf(&b, "COMMENT '%s' ", comment)
	}
	b.WriteString("(\n")
	for _, c := range slices.Concat(t.ownKey, t.columns) {
		typ, _ := fieldOf(c).columnType()
		fmt.Fprintf(&b, "  %s %s,\n", identifier(c.Name), typ)
	}
	key := names(t.key)
	if t.parent == nil {
		key = strings.TrimSuffix("SHARD("+names(t.shardKey)+"), "+key, ", ")
	}
	fmt.Fprintf(&b, "  PRIMARY KEY(%s)\n)", key)
	return b.String()
}

// indexes writes the statements that create the table's indexes.
func (t *table) indexes(text *render.Text) {
	for _, x := range t.of.Indexes {
		if i := slices.IndexFunc(x.Columns, notIndexable); i >= 0 {
			c := x.Columns[i].Column
			text.Comment(fmt.Sprintf("Index %s is left out: no index is over %s, which is %s.", x.Name, c.Name, c.Type))
			continue
		}
		if slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool { return c.Desc }) {
			text.Comment(fmt.Sprintf("Index %s ascends: reads go backwards.", x.Name))
		}
		text.Statement(t.createIndex(x) + ";")
	}
}

func (t *table) createIndex(x *schemas.Index) string {
	columns := joined(x.Columns, func(c schemas.IndexColumn) string { return identifier(c.Column.Name) })
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", identifier(x.Name), t.full, columns)
}

func names(cs []*schemas.Column) string { return joined(cs, plainName) }

func joined[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return strings.Join(names, ", ")
}
