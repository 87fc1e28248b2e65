package words

import (
	"strings"
	"unicode/utf8"
)

// Wrap writes lead and text in lines of at most width columns; 0 is one line. Lines after the
// first are indented by indent columns. A word that is longer than a line is not broken.
func Wrap(lead, text string, indent, width int) []string {
	var all []string
	line, n, empty := lead, utf8.RuneCountInString(lead), true
	for _, word := range strings.Fields(text) {
		more := utf8.RuneCountInString(word)
		switch {
		case empty:
			line, n, empty = line+word, n+more, false
		case width == 0 || n+1+more <= width:
			line, n = line+" "+word, n+1+more
		default:
			all = append(all, line)
			line, n = strings.Repeat(" ", indent)+word, indent+more
		}
	}
	return append(all, strings.TrimRight(line, " "))
}

const gap = "  " // between two columns

// Table writes rows in columns. The first ones, as many as left says, are aligned at the left, and
// the others, which are numbers, at the right. A row of one cell goes over all columns. Lines have
// at most width columns, or any number if it is 0: the text of a last column at the left is broken
// into lines, and is on the lines below if the other columns leave it too little room.
func Table(rows [][]string, left, width int) string {
	const least, below = 20, 4 // columns of a text that can still be read, and how far it is indented below
	last := len(rows[0]) - 1
	widths := make([]int, last+1)
	for _, row := range rows {
		for i, cell := range row {
			if len(row) == len(widths) {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	indent := 0
	for _, n := range widths[:last] {
		indent += n + len(gap)
	}
	var all []string
	for _, row := range rows {
		if len(row) < len(widths) {
			all = append(all, row[0])
			continue
		}
		lead := ""
		for i, cell := range row[:last] {
			lead += align(cell, widths[i], i < left) + gap
		}
		switch text := row[last]; {
		case left <= last:
			all = append(all, lead+align(text, widths[last], false))
		case width > 0 && width < indent+least:
			all = append(all, strings.TrimRight(lead, " "))
			all = append(all, Wrap(strings.Repeat(" ", below), text, below, width)...)
		default:
			all = append(all, Wrap(lead, text, indent, width)...)
		}
	}
	return strings.Join(all, "\n") + "\n"
}

func align(cell string, width int, left bool) string {
	room := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if left {
		return cell + room
	}
	return room + cell
}
