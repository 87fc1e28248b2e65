package document

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas/words"
)

// Terminal says how to write a document as text.
type Terminal struct {
	Width int  // columns; a table that has no room leaves out columns, and says which
	Color bool // styles are shown as colors, too
	Full  bool // sections that are folded are written, too
}

// narrowest is the width below which nothing is made narrower. A first screen has at most longest lines and one with
// the path of the report, on a terminal that is at least usual columns wide: rows of tables are left out until it fits.
const narrowest, usual, longest = 40, 80, 34

// Write writes the document as text.
func (t Terminal) Write(w io.Writer, d *Document) error {
	var text bytes.Buffer
	t.Width = max(t.Width, narrowest)
	t.write(&text, d, 0)
	lines := func() int { return bytes.Count(text.Bytes(), []byte("\n")) }
	if all := lines(); t.Width >= usual && !t.Full {
		for less := 2; lines() > longest && less < all; less++ { // one would not do: a line or more name them
			text.Reset()
			t.write(&text, d, less)
		}
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// write writes the document, with so many rows less of a table that can do without them.
func (t Terminal) write(w io.Writer, d *Document, less int) {
	out := &textWriter{w, t, less}
	if d.Title != "" {
		out.wrap(Strong, "", 0, d.Title)
	}
	for _, f := range d.Facts {
		out.wrap(Plain, "", 2, f)
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; t.Full || !s.Fold {
			// A section begins with an empty line. But the verdict follows the facts, and tables of the first screen
			// follow each other.
			_, own := heading(s)
			if (i > 0 || len(s.Says) == 0) && (len(s.Says) > 0 || s.Fold || own) {
				fmt.Fprintln(out.out)
			}
			out.section(s)
		}
	}
}

type textWriter struct {
	out io.Writer // a buffer
	Terminal
	less int // rows to leave out
}

// codes are the terminal's parameters of "select graphic rendition".
var codes = map[Style]string{Strong: "1", Bad: "31", Warn: "33", Faint: "2", Best: "32"}

func (w *textWriter) paint(style Style, s string) string {
	if code := codes[style]; w.Color && code != "" && s != "" {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

func (w *textWriter) wrap(style Style, lead string, indent int, text string) {
	if style == Command { // a shell gets it as it is
		fmt.Fprintln(w.out, "    "+words.OneLine(text))
		return
	}
	for _, line := range words.Wrap(words.OneLine(lead), words.OneLine(text), indent, w.Width) {
		fmt.Fprintln(w.out, w.paint(style, line))
	}
}

func (w *textWriter) section(s *Section) {
	for _, said := range s.Says {
		w.wrap(said.Style, "  ", 2+min(len(said.Lead), 5), said.text())
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		if len(s.Says) > 0 {
			fmt.Fprintln(w.out)
		}
		w.table(s)
	} else if len(s.Says) == 0 && s.Title != "" {
		w.wrap(Strong, strings.ToUpper(s.Title)+"  ", 2, s.Lead)
	}
	for _, n := range s.Notes {
		w.wrap(n.Style, "", 2, n.text())
	}
}

// grid is a table with the columns that there is room for.
type grid struct {
	*Table
	widths []int
	marked []bool // columns with a best value
}

// longestTitle is how long a title is at most that is in the place of the first column's.
const longestTitle = 12

// heading is the title of a table, and whether it has a line of its own.
func heading(s *Section) (title string, own bool) {
	title = strings.ToUpper(words.OneLine(s.Title))
	return title, title != "" && (s.Lead != "" || utf8.RuneCountInString(title) > longestTitle)
}

// table writes the table.
func (w *textWriter) table(s *Section) {
	title, own := heading(s)
	if own {
		w.wrap(Strong, title+"  ", 2, s.Lead)
		title = ""
	}
	g, dropped := w.fitted(s.Table, title)
	for _, line := range g.heads() {
		fmt.Fprintln(w.out, w.paint(Strong, line))
	}
	w.rows(&g)
	if len(dropped) > 0 {
		w.wrap(Faint, "", 2, fmt.Sprintf("%d columns have no room for: %s", w.Width, strings.Join(dropped, ", ")))
	}
}

// fitted is the table with the columns that there is room for, and the names of the others. A title is in the place of
// that of the first column.
func (w *textWriter) fitted(t *Table, title string) (g grid, dropped []string) {
	g.Table = t.With(func(c *Column) bool { return !c.Page })
	g.Columns[0].Title = cmp.Or(title, g.Columns[0].Title)
	for g.measure() > w.Width {
		rank := slices.MaxFunc(g.Columns, func(a, b Column) int { return a.Rank - b.Rank }).Rank
		if rank == 0 {
			break
		}
		g.Table = g.With(func(c *Column) bool {
			if c.Rank == rank {
				dropped = append(dropped, c.name())
			}
			return c.Rank != rank
		})
	}
	if last := len(g.Columns) - 1; g.width() > w.Width && g.Columns[last].Left {
		g.widths[last] = max(shortestText, g.widths[last]-g.width()+w.Width)
	}
	return g, dropped
}

// rows writes the rows that there is room for, and the names of the others.
func (w *textWriter) rows(g *grid) {
	shown, group := len(g.Rows), ""
	if g.Least > 0 {
		shown = min(shown, max(g.Least, shown-w.less))
	}
	for n := range shown {
		r := &g.Rows[n]
		if r.Group != group {
			w.wrap(Plain, "", 2, r.Group)
			group = r.Group
		}
		w.row(g, r)
		if r.Remark != "" {
			w.wrap(Faint, "    ", 4, r.Remark)
		}
	}
	if left := g.Rows[shown:]; len(left) > 0 {
		var names []string
		for _, r := range left {
			names = append(names, r.Cells[0].Text)
		}
		w.wrap(Faint, "", 2, fmt.Sprintf("%d more with --full: %s", len(left), strings.Join(names, ", ")))
	}
}

// shortestText is how wide a text in the last column is at least. It is broken into lines.
const shortestText = 20

// measure sets the widths of the columns, and returns that of the table.
func (g *grid) measure() int {
	g.widths, g.marked = nil, nil
	for i, c := range g.Columns {
		marked := func(r Row) bool { return Marks[r.Cells[i].Style] != "" }
		g.widths, g.marked = append(g.widths, 0), append(g.marked, slices.ContainsFunc(g.Rows, marked))
		for _, line := range strings.Split(c.Title, "\n") {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(words.OneLine(line)))
		}
		for _, r := range g.Rows {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(g.text(r.Cells, i)))
		}
	}
	for from := 0; from < len(g.Columns); { // a group's title may be wider than its columns
		to, group := g.Span(from), words.OneLine(g.Columns[from].Group)
		need := utf8.RuneCountInString(group) + 1
		for at := from; at < to; at++ {
			need -= g.widths[at] + 1
		}
		if need > 0 && group != "" {
			g.widths[from] += need
		}
		from = to
	}
	return g.width()
}

// text is what a cell shows: its text with a star if it is the best of its column, or with room for one.
func (g *grid) text(cells []Cell, column int) string {
	text, mark := words.OneLine(cells[column].Text), Marks[cells[column].Style]
	if g.marked[column] {
		return text + cmp.Or(mark, " ")
	}
	return text
}

// width is that of the table.
func (g *grid) width() int {
	sum := -1
	for _, width := range g.widths {
		sum += width + 1
	}
	return sum
}

// heads are the lines above the table: titles of one or two lines, and directly above them those of groups.
func (g *grid) heads() []string {
	var lines []string // the last first
	put := func(n, at int, text string) {
		for len(lines) <= n {
			lines = append(lines, "")
		}
		lines[n] += strings.Repeat(" ", at-utf8.RuneCountInString(lines[n])) + text
	}
	for from, at := 0, 0; from < len(g.Columns); {
		to, begin, tall := g.Span(from), at, 1
		for k := from; k < to; k++ {
			parts := strings.Split(g.Columns[k].Title, "\n")
			for n, part := range parts {
				put(len(parts)-1-n, at, words.Align(words.OneLine(part), g.widths[k], g.Columns[k].Left))
			}
			tall, at = max(tall, len(parts)), at+g.widths[k]+1
		}
		if group := words.OneLine(g.Columns[from].Group); group != "" {
			put(tall, begin+max(0, at-1-begin-utf8.RuneCountInString(group))/2, group)
		}
		from = to
	}
	slices.Reverse(lines)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// row writes a row. A text in the last column may need several lines.
func (w *textWriter) row(g *grid, r *Row) {
	line, indent := "", 0
	for i, c := range r.Cells {
		text := g.text(r.Cells, i)
		if i == len(r.Cells)-1 && utf8.RuneCountInString(text) > g.widths[i] {
			for n, part := range words.Wrap("", text, 0, g.widths[i]) {
				if n > 0 {
					line = strings.Repeat(" ", indent)
				}
				fmt.Fprintln(w.out, strings.TrimRight(line+w.paint(c.Style, part), " "))
			}
			return
		}
		// Spaces have no color, so that those at the end can be cut off.
		line += strings.Replace(words.Align(text, g.widths[i], g.Columns[i].Left), text, w.paint(c.Style, text), 1) + " "
		indent += g.widths[i] + 1
	}
	fmt.Fprintln(w.out, strings.TrimRight(line, " "))
}

// WriteMarkdown writes the document for a pull request or the summary of a step in CI.
func WriteMarkdown(w io.Writer, d *Document) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if d.Title != "" {
		line("### %s\n", words.Markdown(d.Title))
	}
	for _, f := range d.Facts {
		line("%s  ", words.Markdown(f))
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		switch {
		case s.Fold:
			line("\n<details><summary>%s</summary>\n", words.Markdown(s.Title))
		case s.Title != "" && s.Table != nil:
			line("\n#### %s\n", words.Markdown(s.Title))
		default:
			line("")
		}
		markdownSentences(line, s.Says)
		if s.Lead != "" {
			line("%s\n", words.Markdown(s.Lead))
		}
		if s.Table != nil && len(s.Table.Rows) > 0 {
			markdownTable(line, s.Table)
		}
		markdownSentences(line, s.Notes)
		if s.Fold {
			line("\n</details>")
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

func markdownSentences(line func(string, ...any), all []Sentence) {
	for _, s := range all {
		text := words.Markdown(s.Text)
		if s.Style == Command {
			text = "`" + strings.ReplaceAll(words.OneLine(s.Text), "`", "'") + "`"
		}
		if s.Style == Strong || s.Style == Bad {
			text = "**" + text + "**"
		}
		if s.Lead != "" {
			text = "*" + words.Markdown(s.Lead) + "*: " + text
		}
		line("%s\n", text)
	}
}

func markdownTable(line func(string, ...any), t *Table) {
	t = t.With(func(c *Column) bool { return !c.Page })
	grouped := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Group != "" })
	row := func(group string, cells []string) {
		if grouped {
			cells = slices.Insert(cells, 0, group)
		}
		line("| %s |", strings.Join(cells, " | "))
	}
	var titles, sides []string
	for i := range t.Columns {
		side := "--:"
		if t.Columns[i].Left {
			side = "---"
		}
		titles, sides = append(titles, words.Markdown(t.Columns[i].name())), append(sides, side)
	}
	row("", titles)
	row("---", sides)
	for _, r := range t.Rows {
		var cells []string
		for _, c := range r.Cells {
			text := words.Markdown(c.Text)
			switch c.Style {
			case Best, Bad:
				text = "**" + text + "**"
			case Less:
				text += Marks[Less]
			}
			cells = append(cells, text)
		}
		if r.Remark != "" {
			cells[len(cells)-1] += "<br>" + words.Markdown(r.Remark)
		}
		row(words.Markdown(r.Group), cells)
	}
	line("")
}

// signed matches numbers, with a range or without.
var signed = regexp.MustCompile(`^[-+]?[0-9.]+( \([-+]?[0-9.]+ to [-+]?[0-9.]+\))?$`)

// WriteCSV writes all tables of the document as CSV (RFC 4180), a line for each cell, with its table, the group and
// the names of its row, its column, the unit, the value as the report prints it, and "best" if it is best or not
// significantly worse, with "fewer fields" if it is so of less work.
func WriteCSV(w io.Writer, d *Document) error {
	out := csv.NewWriter(w)
	line := func(values ...string) {
		for i := range values {
			values[i] = words.OneLine(values[i])
			// Spreadsheets run what begins like a formula, which a text of somebody else may. Numbers stay as they are, also
			// those with a range, such as "-0.05 (-0.10 to 0.01)".
			if !signed.MatchString(values[i]) && len(values[i]) > 1 && strings.ContainsRune("=+-@\t\r", rune(values[i][0])) {
				values[i] = "'" + values[i]
			}
		}
		_ = out.Write(values) // it keeps the first error of all lines
	}
	line("table", "group", "row", "column", "unit", "value", "mark")
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Table == nil {
			continue
		}
		first := slices.IndexFunc(s.Table.Columns[1:], func(c Column) bool { return !c.Left })
		names := max(0, first) + 1 // so many columns name a row
		for _, r := range s.Table.Rows {
			name := r.Cells[0].Text
			for _, c := range r.Cells[1:names] {
				name += " " + c.Text
			}
			for k, c := range s.Table.Columns {
				if k < names || c.Page {
					continue
				}
				mark := map[Style]string{Best: "best", Less: "best, fewer fields"}[r.Cells[k].Style]
				line(s.Title, r.Group, name, c.name(), c.Unit, r.Cells[k].Text, mark)
			}
		}
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write CSV: %w", out.Error())
	}
	return nil
}
