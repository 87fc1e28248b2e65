package document

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

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
