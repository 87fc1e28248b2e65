package schemas

import "slices"

// Join says which rows of two tables belong together: those whose variables have
// equal texts. A value is compared as text: a number in decimal, a boolean as true
// or false, an identifier in its usual form of 36 characters, a text or blob as it is.
type Join struct {
	To *Table
	// From and At say where the variables are in a row of the table that declares
	// the join, and in a row of To. Both have the same variables, at least one.
	// A row takes part only if all its columns match their templates.
	From, At []Match
	// By are the columns of the short form "by", which have the same names in both
	// tables; else it is empty. From and At say the same.
	By []string
}

// Match is a column that must match a template. A null never does. Of a set or list
// each element is tried, of a map each key; other values are compared as one text.
type Match struct {
	Column   *Column
	Template Template
}

// Reference says that every row which takes part in the join has a row of To.
type Reference struct {
	Name string
	Doc  string
	Join
	// Leftover: a row without its row of To is no fault; an interrupted operation or
	// a delete left it over.
	Leftover bool
	Pos      Pos
}

// Count says that a number of a row is how many rows of To belong to it, or the
// sum of one column over them. The number is a bigint, int or counter, the value
// of a map of them for the key that From names, or a text or blob with a decimal number. A
// null is not compared. If the row itself is absent, a counter counts as 0 and other
// numbers are not compared.
type Count struct {
	Name string
	Doc  string
	Join
	Column *Column
	// Sum is the column of To to add up: the sizes in bytes of texts or blobs,
	// or numbers; of a map the value for the key that At names. Nil: each row counts 1.
	Sum *Column
	Pos Pos
}

// Names returns the names of the join's variables in alphabetical order.
func (j *Join) Names() []string { return variables(j.From) }

func variables(ms []Match) []string {
	var names []string
	for i := range ms {
		names = append(names, ms[i].Template.Names()...)
	}
	slices.Sort(names)
	return names
}
