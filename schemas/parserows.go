package schemas

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var (
	rowsKeys = []string{
		"each", "times", "shared", "static", "pieces", "partition", "most", "sizes", "ends", "count", "per",
	}
	ownKeys    = []string{"each", "times", "static", "partition", "sizes", "count", "per"}
	piecesKeys = []string{"of", "bytes", "outside", "above"}
	sizeKeys   = []string{"cells", "bytes"}
)

// rows reads the kinds of row of a table.
func (r *tableReader) rows(t *Table, n *yaml.Node) {
	for _, item := range r.List(n, "rows of table "+t.Name) {
		rr := rowsReader{parser: r.parser, table: t, where: "rows of table " + t.Name}
		if k := rr.read(item); k != nil {
			t.Rows = append(t.Rows, k)
		}
	}
}

// rowsReader reads one kind of row.
type rowsReader struct {
	*parser
	Rows
	table *Table
	where string
}

// read returns nil if the item has faults.
func (r *rowsReader) read(n *yaml.Node) *Rows {
	before := len(r.Errs)
	f := r.Fields(n, r.where, rowsKeys)
	if len(r.Errs) > before {
		return nil
	}
	r.Pos, r.Times = r.At(n), 1
	_, counted := f["count"]
	_, grows := f["per"]
	if counted || grows {
		r.growth(n, f)
	} else if r.Each = r.word(f, "each", "entity", Entities); r.Each == "" && len(r.Errs) == before {
		r.Fail(n, "%s: no key \"each\"; expected one of %s", r.where, strings.Join(Entities, ", "))
	}
	if e, ok := f["times"]; ok {
		r.Times = r.Count(e.Value, "times of "+r.where)
	}
	r.Shared = r.Flag(f, "shared", r.where)
	if r.Static = r.Flag(f, "static", r.where); r.Static && len(r.table.Static) == 0 {
		r.Fail(f["static"].Key, "%s: table %s has no static columns", r.where, r.table.Name)
	}
	if e, ok := f["pieces"]; ok {
		r.pieces(e)
	}
	if len(r.Errs) > before {
		return nil
	}
	if r.Growth == nil {
		r.partitionOf(n, f)
	}
	if e, ok := f["most"]; ok {
		if r.Most, r.MostBy = r.number(e.Value, "most of "+r.where); r.Partition != "user" && r.Partition != "folder" {
			r.Fail(e.Key, "%s: most bounds the rows of the partition of a user or a folder", r.where)
		}
	}
	r.sizes(n, f)
	if e, ok := f["ends"]; ok {
		for _, item := range r.List(e.Value, "ends of "+r.where) {
			if word, ok := r.Text(item, "an operation in ends of "+r.where); ok && !slices.Contains(RowEnds, word) {
				r.Unknown(item, "operation", word, "in ends of "+r.where, RowEnds)
			} else if ok {
				r.Ends = append(r.Ends, word)
			}
		}
	}
	if len(r.Errs) > before {
		return nil
	}
	return &r.Rows
}

// word reads a word that must be one of those known, or "" if the field is absent.
func (r *rowsReader) word(f map[string]strict.Entry, field, what string, known []string) string {
	e, ok := f[field]
	if !ok {
		return ""
	}
	word, ok := r.Text(e.Value, field+" of "+r.where)
	if ok && !slices.Contains(known, word) {
		r.Unknown(e.Value, what, word, "in "+field+" of "+r.where, known)
	}
	return word
}

// pieces reads {of: QUANTITY, bytes: NUMBER, outside: PARAMETER, above: NUMBER}; the last two may be missing.
func (r *rowsReader) pieces(e strict.Entry) {
	where := "pieces of " + r.where
	f := r.Fields(e.Value, where, piecesKeys)
	if f["of"].Value == nil || f["bytes"].Value == nil {
		r.Fail(e.Value, "%s must be {of: QUANTITY, bytes: NUMBER}", where)
		return
	}
	known := r.quantitiesOf()
	r.Of = r.word(f, "of", "quantity", known)
	r.Piece, r.PieceBy = r.number(f["bytes"].Value, "bytes of "+where)
	outside, above := f["outside"].Value, f["above"].Value
	if outside == nil && above == nil {
		return
	}
	if outside != nil && above != nil {
		r.Outside = r.schema.Parameter(outside.Value)
		r.Above, r.AboveBy = r.number(above, "above of "+where)
	}
	ofMessages := r.Each == "message" || r.Each == "attachment"
	if !ofMessages || r.Outside == nil || len(r.Outside.Words) == 0 {
		r.Fail(e.Value, "%s: expected outside: PARAMETER, one with words of which the first is the table, and above: NUMBER, "+
			"in rows of each message or attachment", where)
	}
}

// partitionOf reads which entity's rows share one partition: the row's own entity, or
// its piece, unless the file says otherwise.
func (r *rowsReader) partitionOf(n *yaml.Node, f map[string]strict.Entry) {
	known := append([]string{"all"}, Entities[:slices.Index(Entities, r.Each)+1]...)
	r.Partition = r.Each
	if r.Of != "" {
		known, r.Partition = append(known, pieceQuantity), pieceQuantity
	}
	if word := r.word(f, "partition", "entity", known); word != "" {
		r.Partition = word
	}
	if r.Shared && (r.Partition == "user" || r.Partition == "folder") {
		r.Fail(n, "%s: a row that recipients share cannot be in the partition of one %s", r.where, r.Partition)
	}
}

// sizes reads the sizes of columns, and reports those that are missing.
func (r *rowsReader) sizes(n *yaml.Node, f map[string]strict.Entry) {
	columns := r.ColumnsOf(r.table)
	given := make(map[*Column]ColumnSize)
	if e, ok := f["sizes"]; ok {
		for _, s := range r.Mapping(e.Value, "sizes of "+r.where) {
			at := slices.IndexFunc(columns, func(c *Column) bool { return c.Name == s.Name })
			if at < 0 {
				r.Unknown(s.Key, "column", s.Name, "in sizes of "+r.where, Names(columns))
				continue
			}
			given[columns[at]] = r.size(columns[at], s)
		}
	}
	for _, c := range columns {
		s, ok := given[c]
		if !ok && Sized(c) {
			r.Fail(n, "%s: no size of column %s, which is %s; expected sizes: {%s: BYTES} (or none, if the rows do not have it)",
				r.where, c.Name, describe(c), c.Name)
		}
		if ok {
			r.Sizes = append(r.Sizes, s)
		}
	}
}

// size reads "none", a sum, or for a collection {cells: SUM, bytes: SUM}.
func (r *rowsReader) size(c *Column, e strict.Entry) ColumnSize {
	s, where := ColumnSize{Column: c}, "size of column "+c.Name+" in "+r.where
	key := c.Role == Partition || c.Role == Clustering
	switch {
	case e.Value.Kind == yaml.ScalarNode && e.Value.Value == "none" && !key:
		s.None = true
	case !Sized(c):
		r.Fail(e.Value, "%s: %s has a size of its own", where, describe(c))
	case c.Type.Collection():
		f := r.Fields(e.Value, where, sizeKeys)
		if e.Value.Kind != yaml.MappingNode {
			break
		}
		if f["cells"].Value == nil || f["bytes"].Value == nil {
			r.Fail(e.Value, "%s must be {cells: COUNT, bytes: BYTES}, the elements and the bytes of all of them", where)
			break
		}
		s.Cells, s.Bytes = r.sum(f["cells"].Value, where), r.sum(f["bytes"].Value, where)
	default:
		s.Bytes = r.sum(e.Value, where)
	}
	return s
}

var termForm = regexp.MustCompile(`^(?:([0-9]{1,12}(?:\.[0-9]{1,12})?)|(?:([0-9]{1,12}(?:\.[0-9]{1,12})?) *\* *)?([a-z][a-z-]*))$`)

// sum reads terms with + between them: a number, a quantity or NUMBER*QUANTITY.
func (r *rowsReader) sum(n *yaml.Node, where string) Sum {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		r.Fail(n, "%s must be a sum such as 2 + subject, found %s", where, strict.Found(n))
		return nil
	}
	var s Sum
	for _, word := range strings.Split(n.Value, "+") {
		m := termForm.FindStringSubmatch(strings.TrimSpace(word))
		if m == nil {
			r.Fail(n, "%s: %q; expected numbers, quantities and NUMBER*QUANTITY with + between them", where, n.Value)
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

var (
	ownEntity  = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)
	spreadKeys = []string{"of", "every", "busiest"}
)

// growth reads rows of an entity of the schema's own: {each: order, count: N, per: {day: N},
// partition: {of: N, every: day, busiest: N}}.
func (r *rowsReader) growth(n *yaml.Node, f map[string]strict.Entry) {
	for _, key := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(ownKeys, key) {
			r.Fail(f[key].Key, "%s: %s is for rows of mail; rows with count or per have %s", r.where, key,
				strings.Join(ownKeys, ", "))
		}
	}
	g := &Growth{Busiest: 1}
	r.Growth = g
	e, ok := f["each"]
	if !ok {
		r.Fail(n, "%s: no key \"each\"; expected the name of what there is a row for, such as order", r.where)
		return
	}
	if r.Each, ok = r.Text(e.Value, "each of "+r.where); !ok {
		return
	}
	if slices.Contains(Entities, r.Each) {
		r.Fail(e.Value, "%s: the workload sets the number of each %s; leave out count and per, or name another "+
			"entity, such as order", r.where, r.Each)
		return
	}
	if !ownEntity.MatchString(r.Each) {
		r.Fail(e.Value, "each of %s must be a word of small letters such as order, found %s", r.where, strict.Found(e.Value))
	}
	r.Partition = r.Each
	if e, ok := f["count"]; ok {
		g.Count = r.Count(e.Value, "count of "+r.where)
	}
	if e, ok := f["per"]; ok {
		where := "per of " + r.where
		all := r.Fields(e.Value, where, Periods)
		for unit, n := range all {
			g.Unit, g.Per = unit, r.Count(n.Value, unit+" in "+where)
		}
		if len(all) != 1 && e.Value.Kind == yaml.MappingNode {
			r.Fail(e.Value, "%s must have one period, such as {day: 5000}", where)
		}
	}
	if e, ok := f["partition"]; ok {
		r.spread(g, e)
	}
}

// spread reads how rows share partitions: all, or {of: N, every: PERIOD, busiest: N}.
func (r *rowsReader) spread(g *Growth, e strict.Entry) {
	where := "partition of " + r.where
	if e.Value.Kind == yaml.ScalarNode {
		if e.Value.Value != "all" {
			r.Fail(e.Value, "%s must be all, or {of: NUMBER, every: PERIOD} with the number of partitions at a time, "+
				"found %s", where, strict.Found(e.Value))
		}
		g.Of, r.Partition = 1, "all"
		return
	}
	f := r.Fields(e.Value, where, spreadKeys)
	if g.Of = 1; f["of"].Value != nil {
		g.Of = r.Count(f["of"].Value, "of in "+where)
	}
	if f["every"].Value != nil {
		g.Every = r.word(f, "every", "period", Periods)
	}
	if b := f["busiest"]; b.Value != nil {
		if g.Busiest = r.Count(b.Value, "busiest in "+where); g.Busiest > g.Of {
			r.Fail(b.Value, "%s: the busiest of %d partitions cannot get %d times the mean", where, g.Of, g.Busiest)
		}
	}
	if g.Every != "" && g.Per == 0 {
		r.Fail(e.Value, "%s: new partitions every %s need a rate of rows, such as per: {%s: 100}",
			where, g.Every, g.Every)
	}
}

// formatGrowth adds count, per and partition to a kind of row.
func formatGrowth(b *block, r *Rows) {
	g := r.Growth
	if g.Count > 0 {
		b.count("count", g.Count)
	}
	if g.Per > 0 {
		per := newBlock()
		per.Style = yaml.FlowStyle
		per.count(g.Unit, g.Per)
		b.add("per", per.node())
	}
	switch {
	case r.Partition == "all":
		b.text("partition", "all")
	case g.Of > 0:
		spread := newBlock()
		spread.Style = yaml.FlowStyle
		spread.count("of", g.Of)
		if g.Every != "" {
			spread.text("every", g.Every)
		}
		if g.Busiest > 1 {
			spread.count("busiest", g.Busiest)
		}
		b.add("partition", spread.node())
	}
}
