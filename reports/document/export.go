package document

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

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
	titles, rule := "|", "|"
	grouped := false
	for _, r := range t.Rows {
		grouped = grouped || r.Group != ""
	}
	if grouped {
		titles, rule = "| |", "|---|"
	}
	for _, c := range t.Columns {
		if c.Page {
			continue
		}
		titles += " " + words.Markdown(c.name()) + " |"
		if c.Left {
			rule += "---|"
		} else {
			rule += "--:|"
		}
	}
	line("%s", titles)
	line("%s", rule)
	for _, r := range t.Rows {
		row := "|"
		if grouped {
			row += " " + words.Markdown(r.Group) + " |"
		}
		for i, c := range t.Columns {
			if c.Page {
				continue
			}
			cell := words.Markdown(r.Cells[i].Text)
			if style := r.Cells[i].Style; style == Best || style == Bad {
				cell = "**" + cell + "**"
			}
			row += " " + cell + " |"
		}
		if r.Remark != "" {
			row = strings.TrimSuffix(row, " |") + "<br>" + words.Markdown(r.Remark) + " |"
		}
		line("%s", row)
	}
	line("")
}

// WriteCSV writes all tables of the document as CSV (RFC 4180), a line for each cell, with its table, the group and
// name of its row, its column, the unit, the value as the report prints it, and "best" if it is best or not
// significantly worse.
func WriteCSV(w io.Writer, d *Document) error {
	out := csv.NewWriter(w) // keeps the first error
	_ = out.Write([]string{"table", "group", "row", "column", "unit", "value", "mark"})
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Table == nil {
			continue
		}
		for _, r := range s.Table.Rows {
			for k, c := range s.Table.Columns {
				if k == 0 || c.Page {
					continue
				}
				mark := ""
				if r.Cells[k].Style == Best {
					mark = "best"
				}
				_ = out.Write([]string{
					CSVField(s.Title), CSVField(r.Group), CSVField(r.Cells[0].Text), CSVField(c.name()), c.Unit,
					CSVField(r.Cells[k].Text), mark,
				})
			}
		}
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write CSV: %w", out.Error())
	}
	return nil
}

// CSVField writes a text that may be from somebody else. Spreadsheets run what begins like a formula, so such a text
// gets an apostrophe before it. No name of mailbench's begins so.
func CSVField(text string) string {
	text = words.OneLine(text)
	if len(text) > 1 && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
