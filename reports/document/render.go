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

	out  *bytes.Buffer
	less int // rows that a table leaves out if it can do without them
}

// narrowest is the width below which nothing is made narrower. A first screen has at most longest lines and one with
// the path of the report, on a terminal that is at least usual columns wide: rows of tables are left out until it fits.
const narrowest, usual, longest = 40, 80, 34

// Write writes the document as text.
func (t Terminal) Write(w io.Writer, d *Document) error {
	t.out, t.Width = new(bytes.Buffer), max(t.Width, narrowest)
	t.document(d)
	lines := func() int { return bytes.Count(t.out.Bytes(), []byte("\n")) }
	if all := lines(); t.Width >= usual && !t.Full {
		for t.less = 2; lines() > longest && t.less < all; t.less++ { // one would not do: a line or more name them
			t.out.Reset()
			t.document(d)
		}
	}
	if _, err := w.Write(t.out.Bytes()); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

func (t *Terminal) document(d *Document) {
	if d.Title != "" {
		t.wrap(Strong, "", 0, d.Title)
	}
	for _, f := range d.Facts {
		t.wrap(Plain, "", 2, f)
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; t.Full || !s.Fold {
			// A section begins with an empty line. But the verdict follows the facts, and tables of the first screen
			// follow each other.
			_, own := heading(s)
			if (i > 0 || len(s.Says) == 0) && (len(s.Says) > 0 || s.Fold || own) {
				fmt.Fprintln(t.out)
			}
			t.section(s)
		}
	}
}

// codes are the terminal's parameters of "select graphic rendition".
var codes = map[Style]string{Strong: "1", Bad: "31", Warn: "33", Faint: "2", Best: "32"}

func (t *Terminal) paint(style Style, s string) string {
	if code := codes[style]; t.Color && code != "" && s != "" {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

func (t *Terminal) wrap(style Style, lead string, indent int, text string) {
	if style == Command { // a shell gets it as it is
		fmt.Fprintln(t.out, "    "+words.OneLine(text))
		return
	}
	for _, line := range words.Wrap(words.OneLine(lead), words.OneLine(text), indent, t.Width) {
		fmt.Fprintln(t.out, t.paint(style, line))
	}
}

func (t *Terminal) section(s *Section) {
	for _, said := range s.Says {
		t.wrap(said.Style, "  ", 2+min(len(said.Lead), 5), strings.TrimPrefix(said.Lead+": "+said.Text, ": "))
	}
	if s.Table != nil && len(s.Table.Rows) > 0 {
		if len(s.Says) > 0 {
			fmt.Fprintln(t.out)
		}
		t.table(s)
	} else if len(s.Says) == 0 && s.Title != "" {
		t.wrap(Strong, strings.ToUpper(s.Title)+"  ", 2, s.Lead)
	}
	for _, n := range s.Notes {
		t.wrap(n.Style, "", 2, strings.TrimPrefix(n.Lead+": "+n.Text, ": "))
	}
}

// heading is the title of a table, and whether it has a line of its own.
func heading(s *Section) (title string, own bool) {
	const longestTitle = 12 // in the place of the first column's
	title = strings.ToUpper(words.OneLine(s.Title))
	return title, title != "" && (s.Lead != "" || utf8.RuneCountInString(title) > longestTitle)
}

// table writes the columns and rows that there is room for, and the names of the others.
func (t *Terminal) table(s *Section) {
	title, own := heading(s)
	if own {
		t.wrap(Strong, title+"  ", 2, s.Lead)
		title = ""
	}
	g, dropped := t.fitted(s.Table, title)
	for _, line := range g.heads() {
		fmt.Fprintln(t.out, t.paint(Strong, line))
	}
	shown, group := len(g.Rows), ""
	if g.Least > 0 {
		shown = min(shown, max(g.Least, shown-t.less))
	}
	for n := range shown {
		r := &g.Rows[n]
		if r.Group != group {
			t.wrap(Plain, "", 2, r.Group)
			group = r.Group
		}
		t.row(g, r)
		if r.Remark != "" {
			t.wrap(Faint, "    ", 4, r.Remark)
		}
	}
	if left := g.Rows[shown:]; len(left) > 0 {
		var names []string
		for _, r := range left {
			names = append(names, r.Cells[0].Text)
		}
		t.wrap(Faint, "", 2, fmt.Sprintf("%d more with --full: %s", len(left), strings.Join(names, ", ")))
	}
	if len(dropped) > 0 {
		t.wrap(Faint, "", 2, fmt.Sprintf("%d columns have no room for: %s", t.Width, strings.Join(dropped, ", ")))
	}
}

// grid is a table with the columns that there is room for.
type grid struct {
	*Table
	widths []int
}

// fitted is the table with the columns that there is room for, and the names of the others. A title is in the place of
// that of the first column. Cells are one line, and the best have their mark.
func (t *Terminal) fitted(of *Table, title string) (g *grid, dropped []string) {
	g = &grid{Table: of.With(func(c *Column) bool { return !c.Page })}
	g.Columns[0].Title = cmp.Or(title, g.Columns[0].Title)
	for i := range g.Columns {
		marked := slices.ContainsFunc(g.Rows, func(r Row) bool { return Marks[r.Cells[i].Style] != "" })
		for _, r := range g.Rows {
			c := &r.Cells[i]
			if c.Text = words.OneLine(c.Text); marked {
				c.Text += cmp.Or(Marks[c.Style], " ")
			}
		}
	}
	width := g.measure()
	for ; width > t.Width; width = g.measure() {
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
	const shortestText = 20 // in the last column, where it is broken into lines
	if last := len(g.Columns) - 1; width > t.Width && g.Columns[last].Left {
		g.widths[last] = max(shortestText, g.widths[last]-width+t.Width)
	}
	return g, dropped
}

// measure sets the widths of the columns, and returns that of the table.
func (g *grid) measure() int {
	g.widths = make([]int, len(g.Columns))
	for i, c := range g.Columns {
		for line := range strings.SplitSeq(c.Title, "\n") {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(words.OneLine(line)))
		}
		for _, r := range g.Rows {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(r.Cells[i].Text))
		}
	}
	sum, at := -1, 0
	for _, group := range g.Groups() {
		width := len(group) - 1
		for i := range group {
			width += g.widths[at+i]
		}
		wide := max(width, utf8.RuneCountInString(words.OneLine(group[0].Group))) // wider than its columns
		g.widths[at] += wide - width
		sum, at = sum+wide+1, at+len(group)
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
	column, at := 0, 0
	for _, group := range g.Groups() {
		begin, tall := at, 1
		for _, c := range group {
			parts := strings.Split(c.Title, "\n")
			for n, part := range parts {
				put(len(parts)-1-n, at, words.Align(words.OneLine(part), g.widths[column], c.Left))
			}
			tall, at, column = max(tall, len(parts)), at+g.widths[column]+1, column+1
		}
		title := words.OneLine(group[0].Group)
		put(tall, begin+max(0, at-1-begin-utf8.RuneCountInString(title))/2, title)
	}
	slices.Reverse(lines)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

// row writes a row. A text in the last column may need several lines.
func (t *Terminal) row(g *grid, r *Row) {
	line, indent := "", 0
	for i, c := range r.Cells {
		if i == len(r.Cells)-1 && utf8.RuneCountInString(c.Text) > g.widths[i] {
			for n, part := range words.Wrap("", c.Text, 0, g.widths[i]) {
				if n > 0 {
					line = strings.Repeat(" ", indent)
				}
				fmt.Fprintln(t.out, strings.TrimRight(line+t.paint(c.Style, part), " "))
			}
			return
		}
		// Spaces have no color, so that those at the end can be cut off.
		aligned := words.Align(c.Text, g.widths[i], g.Columns[i].Left)
		line += strings.Replace(aligned, c.Text, t.paint(c.Style, c.Text), 1) + " "
		indent += g.widths[i] + 1
	}
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
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
		case s.Title != "" && s.Table != nil && len(s.Table.Rows) > 0:
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
