package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Rows is one kind of row that mail leaves in a table, and how large it is. A
// table may have several kinds: one for each sub-column of a super column, say.
// Forecasts, lint rules and reports use them.
type Rows struct {
	Each   string // one of Entities, or a word of the schema's own with Growth: there is a row for each of these
	Times  int    // rows of this kind for each; 1 unless the file says otherwise
	Shared bool   // stored once for all recipients of a delivery
	Static bool   // the static columns of a partition
	// Of is the quantity that is cut into pieces of at most Piece bytes, with a
	// row for each; "" is none.
	Of    string
	Piece int
	// Outside is the parameter whose words name the stores of blobs outside of the engine, the first one
	// the table itself: what has more than Above bytes of Of is a file of the store, and no rows. It may be nil.
	Outside *Parameter
	Above   int
	// Most is how many rows a partition has before others go to a further partition; 0: there
	// is one partition, however many they are.
	Most int
	// Partition names the entity whose rows share one partition: one of Entities,
	// "piece", or "all" for a single partition.
	Partition string
	// Growth says how many rows of an entity of the schema's own there are; nil for Entities.
	Growth *Growth
	Sizes  []ColumnSize
	// Ends are the operations that delete such a row (RowEnds).
	Ends []string

	Source *yaml.Node // what the file says, for Format
}

// Growth is how many there are of an entity of the schema's own, such as orders, and how their
// rows share partitions.
type Growth struct {
	Count int    // at the start
	Per   int    // as many more come in each Unit; 0 for none
	Unit  string // one of Periods, or ""
	// Of is how many partitions there are at a time, such as one a customer; 0: each row has its own.
	Of int
	// Every is the period after which rows go to new partitions, one of Periods; "" is never.
	Every string
}

// Periods are the words for times in Growth.
var Periods = []string{"second", "minute", "hour", "day", "week", "month", "year"}

// Years returns a period in years of 365 days. A month is a twelfth of it.
func Years(period string) float64 {
	const day = 1. / 365
	return map[string]float64{
		"second": day / 86400, "minute": day / 1440, "hour": day / 24,
		"day": day, "week": 7 * day, "month": 1. / 12, "year": 1,
	}[period]
}

// ColumnSize says how large the values of a column are.
type ColumnSize struct {
	Column *Column
	None   bool // the rows have no value of it
	Cells  Sum  // elements of a collection; nil for other columns
	Bytes  Sum  // of the value, or of all elements together, with the keys of a map
}

// Sum is a size or a count: terms added up.
type Sum []Term

// Term is Times × Quantity, or the number Times if Quantity is "".
type Term struct {
	Times    float64
	Quantity string
}

// Value returns the sum's value, where of is that of a quantity.
func (s Sum) Value(of func(quantity string) float64) float64 {
	total := 0.0
	for _, t := range s {
		if t.Quantity == "" {
			total += t.Times
		} else {
			total += t.Times * of(t.Quantity)
		}
	}
	return total
}

// Entities are what a population has, each within the one before it.
var Entities = []string{"user", "folder", "message", "attachment"}

// RowEnds are the operations that delete rows.
var RowEnds = []string{"move", "delete", "purge"}

// Quantities are what sizes and counts are made of, by the entity that has them.
// An entity also has those of the entities before it. Texts are in bytes of UTF-8.
var Quantities = map[string][]string{
	"user": {"address", "folders"},
	"folder": {
		"folder", // its name
	},
	"message": {
		"sender", "sender-name", // address and name in From
		"to", "to-addresses", "to-names", // how many the field names, and the bytes of all of them
		"cc", "cc-addresses", "cc-names",
		"subject",
		"body", // the text body, decoded
		"raw",  // the whole message, as it came
		// The number of attachments, and of all of them: names, types, decoded bytes, and
		// bytes as UTF-8 text (base64 if they are not UTF-8).
		"attachments", "attachment-names", "attachment-types", "attachment-bytes", "attachment-text",
	},
	"attachment": {"attachment", "attachment-name"}, // decoded bytes, bytes of the name
}

// pieceQuantity is the size of the piece that a row holds.
const pieceQuantity = "piece"

// quantitiesOf returns the quantities that rows of the kind know.
func (r *Rows) quantitiesOf() []string {
	var known []string
	for _, e := range Entities {
		known = append(known, Quantities[e]...)
		if e == r.Each {
			break
		}
	}
	if r.Of != "" {
		known = append(known, pieceQuantity)
	}
	return known
}

// Store returns the name of the store of blobs that has what is larger than Above bytes, or "": all
// of it is in the table.
func (r *Rows) Store() string {
	if r.Outside == nil || r.Outside.Value == 1 {
		return ""
	}
	return r.Outside.Text(r.Outside.Value)
}

// Sized reports whether the size of a column's values must be given: text, blobs,
// collections and some types of CQL have none of their own.
func Sized(c *Column) bool { return c.Type.Bytes() == 0 }

// ColumnsOf returns the columns that rows of the kind can have: the key, and the
// static or the plain columns.
func (r *Rows) ColumnsOf(t *Table) []*Column {
	if r.Static {
		return append(append([]*Column(nil), t.Partition...), t.Static...)
	}
	return append(t.Key(), t.Columns...)
}

// Content are the quantities whose size the sender of a message chooses, in words.
var Content = map[string]string{
	"raw": "a whole message", "body": "a message's body", "attachment": "an attachment",
	"attachment-bytes": "all attachments of a message", "attachment-text": "all attachments of a message",
}

// Holds returns what part of a message a column holds, a quantity of [Content], or "".
// inPieces: each row has one piece of it. Table.Rows say both.
func (t *Table) Holds(c *Column) (quantity string, inPieces bool) {
	for _, r := range t.Rows {
		for _, size := range r.Sizes {
			if size.Column != c {
				continue
			}
			for _, term := range size.Bytes {
				switch {
				case Content[term.Quantity] != "":
					return term.Quantity, false
				case term.Quantity == pieceQuantity && Content[r.Of] != "":
					return r.Of, true
				}
			}
		}
	}
	return "", false
}

var rowsKeys = []string{
	"each", "times", "shared", "static", "pieces", "partition", "max", "sizes", "ends", "count", "per",
}

// rows reads the kinds of row of a table.
func (r *tableReader) rows(t *Table, f section) {
	for _, item := range r.List(f.at("rows"), "rows of "+f.where) {
		r.row(t, item)
	}
}

func (p *parser) row(t *Table, n *yaml.Node) {
	before := len(p.Errs)
	r := rowsReader{table: t, section: p.section(n, "rows of table "+t.Name, rowsKeys...)}
	if len(p.Errs) == before {
		r.read()
	}
	if r.Source = n; len(p.Errs) == before {
		t.Rows = append(t.Rows, &r.Rows)
	}
}

// AddRows adds a kind of row to a table. text is an element of the list rows: {each: message, …}.
func (t *Table) AddRows(text string) error {
	var row yaml.Node
	if err := yaml.Unmarshal([]byte(text), &row); err != nil {
		return fmt.Errorf("not YAML: %w", err)
	}
	if len(row.Content) != 1 {
		return fmt.Errorf("expected rows of table %s, such as {each: message}", t.Name)
	}
	p := parser{schema: new(Schema)}
	if p.row(t, row.Content[0]); p.Errs.Sorted() != nil {
		return errors.New(p.Errs[0].Text())
	}
	return nil
}

// rowsReader reads one kind of row.
type rowsReader struct {
	section
	Rows
	table *Table
}

func (r *rowsReader) read() {
	before := len(r.Errs)
	r.Times = max(1, r.count("times"))
	r.Shared, r.Static = r.flag("shared"), r.flag("static")
	r.rule(!r.Static || len(r.table.Static) > 0, r.key("static"), "table %s has no static columns", r.table.Name)
	r.rule(r.has("each"), r.node, "no key \"each\"; expected one of %s, or another name with count or per",
		strings.Join(Entities, ", "))
	if r.has("count") || r.has("per") {
		r.growth()
	} else {
		r.Each = r.word("each", "entity", Entities)
	}
	if r.has("pieces") {
		r.pieces()
	}
	if len(r.Errs) > before {
		return
	}
	if r.Growth == nil {
		r.partition()
	}
	r.Most, _ = r.number("max")
	r.rule(!r.has("max") || r.Partition == "user" || r.Partition == "folder", r.key("max"),
		"max bounds the rows of the partition of a user or a folder")
	r.sizes()
	r.Ends = r.words("ends", "operation", RowEnds)
}

// partition reads which rows of mail share one: those of the entity itself, or of its piece, unless the file says
// otherwise.
func (r *rowsReader) partition() {
	known, own := append([]string{"all"}, Entities[:slices.Index(Entities, r.Each)+1]...), r.Each
	if r.Of != "" {
		known, own = append(known, pieceQuantity), pieceQuantity
	}
	r.Partition = cmp.Or(r.word("partition", "entity", known), own)
	r.rule(!r.Shared || r.Partition != "user" && r.Partition != "folder", r.node,
		"a row that recipients share cannot be in the partition of one %s", r.Partition)
}

// pieces reads {of: QUANTITY, bytes: NUMBER, outside: PARAMETER, above: NUMBER}; the last two may be missing.
func (r *rowsReader) pieces() {
	f := r.parser.section(r.at("pieces"), "pieces of "+r.where, "of", "bytes", "outside", "above")
	if !r.Check(f.has("of") && f.has("bytes"), f.node, "%s must be {of: QUANTITY, bytes: NUMBER}", f.where) {
		return
	}
	r.Of = f.word("of", "quantity", r.quantitiesOf())
	r.Piece, _ = f.number("bytes")
	if !f.has("outside") && !f.has("above") {
		return
	}
	r.Outside = r.schema.Parameter(f.at("outside").Value)
	r.Above, _ = f.number("above")
	f.rule(slices.Contains([]string{"message", "attachment"}, r.Each) && f.has("outside") && f.has("above") &&
		r.Outside != nil && len(r.Outside.Words) > 0, f.node,
		"expected outside: PARAMETER, one with words of which the first is the table, and above: NUMBER, "+
			"in rows of each message or attachment")
}

// sizes reads the sizes of columns, and reports those that are missing.
func (r *rowsReader) sizes() {
	columns := r.ColumnsOf(r.table)
	given := make(map[*Column]ColumnSize)
	for _, s := range r.entries("sizes") {
		if c := pick(r.parser, s.Key, "column", s.Name, "in sizes of "+r.where, columns); c != nil {
			given[c] = r.size(c, s.Value)
		}
	}
	for _, c := range columns {
		s, ok := given[c]
		r.rule(ok || !Sized(c), r.node,
			"no size of column %s, which is %s; expected sizes: {%s: BYTES} (or none, if the rows do not have it)",
			c.Name, describe(c), c.Name)
		if ok {
			r.Sizes = append(r.Sizes, s)
		}
	}
}

// size reads "none", a sum, or for a collection {cells: SUM, bytes: SUM}.
func (r *rowsReader) size(c *Column, n *yaml.Node) ColumnSize {
	s, where := ColumnSize{Column: c}, "size of column "+c.Name+" in "+r.where
	key := c.Role == Partition || c.Role == Clustering
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "none" && !key:
		s.None = true
	case !r.Check(Sized(c), n, "%s: %s has a size of its own", where, describe(c)):
	case c.Type.Collection():
		f := r.parser.section(n, where, "cells", "bytes")
		if n.Kind == yaml.MappingNode && r.Check(f.has("cells") && f.has("bytes"), n,
			"%s must be {cells: COUNT, bytes: BYTES}, the elements and the bytes of all of them", where) {
			s.Cells, s.Bytes = r.sum(f.at("cells"), where), r.sum(f.at("bytes"), where)
		}
	default:
		s.Bytes = r.sum(n, where)
	}
	return s
}

var termForm = regexp.MustCompile(`^(?:([0-9]{1,12}(?:\.[0-9]{1,12})?)|(?:([0-9]{1,12}(?:\.[0-9]{1,12})?) *\* *)?([a-z][a-z-]*))$`)

// sum reads terms with + between them: a number, a quantity or NUMBER*QUANTITY.
func (r *rowsReader) sum(n *yaml.Node, where string) (s Sum) {
	if !r.Check(n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null", n, "%s must be a sum such as 2 + subject, found %s",
		where, strict.Found(n)) {
		return nil
	}
	for _, word := range strings.Split(n.Value, "+") {
		m := termForm.FindStringSubmatch(strings.TrimSpace(word))
		if !r.Check(m != nil, n, "%s: %q; expected numbers, quantities and NUMBER*QUANTITY with + between them", where, n.Value) {
			return nil
		}
		t := Term{Times: 1, Quantity: m[3]}
		if number := m[1] + m[2]; number != "" {
			t.Times, _ = strconv.ParseFloat(number, 64)
		}
		if known := r.quantitiesOf(); t.Quantity != "" && !slices.Contains(known, t.Quantity) {
			r.Unknown(n, "quantity", t.Quantity, "in "+where, known)
			return nil
		}
		s = append(s, t)
	}
	return s
}

var ownEntity = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)

// growth reads rows of an entity of the schema's own: {each: order, count: N, per: {day: N},
// partition: {of: N, every: day}}.
func (r *rowsReader) growth() {
	for _, key := range []string{"shared", "pieces", "max", "ends"} {
		r.rule(!r.has(key), r.key(key), "%s is for rows of mail, which have no count and per", key)
	}
	g := &Growth{Count: r.count("count")}
	r.Growth, r.Each = g, r.text("each")
	r.Partition = r.Each
	r.rule(r.Each == "" || ownEntity.MatchString(r.Each) && !slices.Contains(Entities, r.Each), r.at("each"),
		"count and per are for entities of your own, in small letters, such as order; the workload sets the number of each %s",
		strings.Join(Entities, ", "))
	if r.has("per") {
		f := r.parser.section(r.at("per"), "per of "+r.where, Periods...)
		for unit := range f.fields {
			g.Unit, g.Per = unit, f.count(unit)
		}
		r.Check(len(f.fields) == 1 || f.node.Kind != yaml.MappingNode, f.node,
			"%s must have one period, such as {day: 5000}", f.where)
	}
	if r.has("partition") {
		r.spread(g)
	}
}

// spread reads how rows share partitions: all, or {of: N, every: PERIOD}.
func (r *rowsReader) spread(g *Growth) {
	n, where := r.at("partition"), "partition of "+r.where
	if n.Kind == yaml.ScalarNode {
		r.Check(n.Value == "all", n, "%s must be all, or {of: NUMBER, every: PERIOD} with the number of partitions at a time, "+
			"found %s", where, strict.Found(n))
		g.Of, r.Partition = 1, "all"
		return
	}
	f := r.parser.section(n, where, "of", "every")
	g.Of, g.Every = max(1, f.count("of")), f.word("every", "period", Periods)
	r.Check(g.Every == "" || g.Per > 0, n, "%s: new partitions every %s need a rate of rows, such as per: {%s: 100}",
		where, g.Every, g.Every)
}
