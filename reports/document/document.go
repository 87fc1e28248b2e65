// Package document is the one form that all reports have before they are text, Markdown, CSV or a page:
// a document of sections, each with sentences, at most one table, and notes. The content of a report is
// made once, and each renderer writes all of it, or for a small terminal its most important columns.
package document

import (
	"fmt"
	"slices"
	"strings"
)

// Document is a report.
type Document struct {
	Title    string
	Facts    []string // what was measured, and where: a line each
	Sections []Section
}

// Section is a part of the document. Fold says that it is for readers who look for details: the text
// leaves it out unless it is full, and a page and Markdown fold it. One that is Open has no fold on a page.
type Section struct {
	ID, Title string
	Lead      string // one sentence about the table, next to the title
	Says      []Sentence
	Table     *Table
	Notes     []Sentence // below the table
	Charts    []Chart    // a page draws them
	Fold      bool
	Open      bool
}

// Sentence is a text that begins with a word such as Why, or with none.
type Sentence struct {
	Lead, Text string
	Style      Style
}

// Say appends a sentence above the table, and Note one below it. An empty text is left out.
func (s *Section) Say(style Style, lead, text string) {
	if text != "" {
		s.Says = append(s.Says, Sentence{lead, text, style})
	}
}

// Note appends a sentence below the table.
func (s *Section) Note(style Style, lead, text string) {
	if text != "" {
		s.Notes = append(s.Notes, Sentence{lead, text, style})
	}
}

// Style says what a text or cell is. Renderers show it by color, next to what the words say. It is the class of the
// text on a page.
type Style string

// Styles. Strong is the most important sentence, Bad is what is wrong, Warn a warning, Faint what is of
// little use, Best a value that is best or level with the best, Less such a value of less work than the others, and
// Command what a shell can run.
const (
	Plain   Style = ""
	Strong  Style = "strong"
	Bad     Style = "bad"
	Warn    Style = "warn"
	Faint   Style = "soft"
	Best    Style = "best"
	Less    Style = "less"
	Command Style = "command"
)

// Shades are the styles of values that are more and more times the best one. Only a page shows them.
var Shades = [...]Style{"h1", "h2", "h3", "h4"}

// Table has a row for each thing and a column for each property of it. A text that would be longer than a screen
// leaves out its last rows beyond Least; 0: it has all.
type Table struct {
	Columns []Column
	Rows    []Row
	Least   int
}

// Column is a property. Columns of one Group that follow each other have a common title. A column
// of the largest Rank is left out first where there is no room; those of rank 0 never are.
type Column struct {
	Group, Title string // a title may have two lines
	Unit, Help   string
	Left         bool // it holds text, which begins at the left
	Rank         int
	Page         bool // only a page has room for it, such as a chart
}

// name is the title of the column with that of its group.
func (c *Column) name() string {
	return strings.TrimSpace(c.Group + " " + strings.ReplaceAll(c.Title, "\n", " "))
}

// Row is a row of cells, as many as the table has columns. Group is a heading above it, if it differs
// from that of the row before. A Remark is a line below the row.
type Row struct {
	Group  string
	Cells  []Cell
	Remark string
}

// Cell is a value as text.
type Cell struct {
	Text  string
	Style Style
	Help  string // more about the cell, where a pointer rests on it
	Range *Range
}

// Marks are behind the values of a style.
var Marks = map[Style]string{Best: "*", Less: "°"}

// Range is a distribution: a line from Low to High, a box over the middle half, a dot at the typical value and a
// diamond at the mean.
type Range struct{ Low, Quarter, Typical, ThreeQuarters, High, Mean float64 }

// Styled makes a cell of a text in a style.
func Styled(s string, style Style) Cell { return Cell{Text: s, Style: style} }

// Add appends a row of a group, and returns it. A value that is no Cell becomes one with its text.
func (t *Table) Add(group string, values ...any) *Row {
	r := Row{Group: group}
	for _, v := range values {
		c, ok := v.(Cell)
		if !ok {
			c.Text = fmt.Sprint(v)
		}
		r.Cells = append(r.Cells, c)
	}
	t.Rows = append(t.Rows, r)
	return &t.Rows[len(t.Rows)-1]
}

// With is the table with those of its columns that keep accepts.
func (t *Table) With(keep func(c *Column) bool) *Table {
	kept := &Table{Rows: slices.Clone(t.Rows), Least: t.Least}
	for n := range kept.Rows {
		kept.Rows[n].Cells = nil
	}
	for i := range t.Columns {
		if keep(&t.Columns[i]) {
			kept.Columns = append(kept.Columns, t.Columns[i])
			for n := range kept.Rows {
				kept.Rows[n].Cells = append(kept.Rows[n].Cells, t.Rows[n].Cells[i])
			}
		}
	}
	return kept
}

// Groups are the columns, those of one group that follow each other together.
func (t *Table) Groups() (all [][]Column) {
	for i, c := range t.Columns {
		if i > 0 && c.Group != "" && c.Group == t.Columns[i-1].Group {
			all[len(all)-1] = append(all[len(all)-1], c)
		} else {
			all = append(all, []Column{c})
		}
	}
	return all
}

// Has reports whether a cell begins with a mark, such as ~ or -, or has a style with that mark, which a note then
// explains.
func (t *Table) Has(mark string) bool {
	has := func(c Cell) bool { return strings.HasPrefix(c.Text, mark) || Marks[c.Style] == mark }
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.ContainsFunc(r.Cells, has) })
}

// Chart is a picture of lines, next to the table that has the same values.
type Chart struct {
	Title, Summary string // the summary is for readers who do not see the picture
	X, Y           Axis
	Lines          []Line
	Marks          []Tick       // places of X that are marked
	Bands          [][2]float64 // shaded parts of X
	Says           []string     // texts below the chart
}

// Axis is an axis of a chart. It begins and ends where its values do, or at From and To if they are set. A linear one
// begins at 0, and Log has a power of ten at each step. Ticks are its labels; nil: round values, which Text writes.
type Axis struct {
	Label    string
	Log      bool
	From, To float64
	Text     func(float64) string
	Ticks    []Tick
}

// Tick is a label of an axis.
type Tick struct {
	At    float64
	Label string
}

// Line is a line of a chart. Lines of one name have one color on a page.
type Line struct {
	Name   string
	Points []Point
}

// Point is a point of a line, which is interrupted where Y is NaN. A point with a text has a dot.
type Point struct {
	X, Y float64
	Text string
}
