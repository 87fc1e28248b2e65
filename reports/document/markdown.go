package document

import (
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
