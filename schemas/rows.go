package schemas

import (
	"slices"
	"strconv"
	"strings"
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
	// PieceBy, AboveBy and MostBy are the parameters that Piece, Above and Most come from, or nil.
	PieceBy, AboveBy, MostBy *Parameter
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
	// Busiest is how many times the mean share the busiest of the partitions gets; 1 is an even spread.
	Busiest int
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

// String returns the sum as the language writes it: 2 + 1.5*subject.
func (s Sum) String() string {
	return strings.Join(texts(s, func(t Term) string {
		n := strconv.FormatFloat(t.Times, 'f', -1, 64)
		switch {
		case t.Quantity == "":
			return n
		case t.Times == 1:
			return t.Quantity
		}
		return n + "*" + t.Quantity
	}), " + ")
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

// Relation says which rows of the table To belong to a row of the table that declares it: those whose variables
// have equal texts. A value is compared as text: a number in decimal, a boolean as true or false, an identifier in
// its usual form of 36 characters, a text or blob as it is.
//
// A reference, which has no Column, says that every row which takes part has a row of To. A count says that Column
// is how many rows of To belong to the row, or the sum of one of their columns.
type Relation struct {
	Name string
	Doc  string
	To   *Table
	// From and At say where the variables are in a row of the table that declares
	// the relation, and in a row of To. Both have the same variables, at least one.
	// A row takes part only if all its columns match their templates.
	From, At []Match
	// By are the columns of the short form "by", which have the same names in both
	// tables; else it is empty. From and At say the same.
	By []string
	// Leftover: a row without its row of To is no fault; an interrupted operation or
	// a delete left it over.
	Leftover bool
	// Column has the number of a count: a bigint, int or counter, the value
	// of a map of them for the key that From names, or a text or blob with a decimal number. A
	// null is not compared. If the row itself is absent, a counter counts as 0 and other
	// numbers are not compared.
	Column *Column
	// Sum is the column of To to add up: the sizes in bytes of texts or blobs,
	// or numbers; of a map the value for the key that At names. Nil: each row counts 1.
	Sum *Column
}

// Match is a column that must match a template. A null never does. Of a set or list
// each element is tried, of a map each key; other values are compared as one text.
type Match struct {
	Column   *Column
	Template Template
}

// Variables are the names of the relation's variables in alphabetical order.
func (r *Relation) Variables() []string { return variables(r.From) }

func variables(ms []Match) []string {
	var names []string
	for i := range ms {
		names = append(names, ms[i].Template.Names()...)
	}
	slices.Sort(names)
	return names
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
