package cmd

import (
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// defaultWidth is the width of text that goes to no terminal.
const defaultWidth = 100

func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file is the file that w writes to.
func file(w io.Writer) (*os.File, bool) {
	if s, ok := w.(*screen); ok {
		w = s.out
	}
	f, ok := w.(*os.File)
	return f, ok
}

// width is the terminal's width in columns. Without a terminal it is that of COLUMNS, or
// defaultWidth.
func width(w io.Writer) int {
	if n, ok := wanted(w); ok {
		return n
	}
	return defaultWidth
}

// wanted is the width that the terminal or COLUMNS asks for; it returns false if neither
// does.
func wanted(w io.Writer) (columns int, ok bool) {
	if f, ok := file(w); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n, true
		}
	}
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	return n, err == nil && n > 0
}

// colour reports whether text may have colours: on a terminal that knows them, unless
// NO_COLOR (https://no-color.org) is set.
func colour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// lines breaks a text at its spaces into lines of at most width columns. A longer
// word has a line of its own.
func lines(text string, width int) []string {
	var all []string
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		more := utf8.RuneCountInString(word)
		switch {
		case n == 0:
			line, n = word, more
		case n+1+more <= width:
			line, n = line+" "+word, n+1+more
		default:
			all = append(all, line)
			line, n = word, more
		}
	}
	return append(all, line)
}

// table prints rows in columns under their heads. If the terminal or COLUMNS is too narrow for
// that, the text of the last column is broken into lines.
func table(w io.Writer, head []string, rows [][]string) error {
	room := math.MaxInt
	if n, ok := wanted(w); ok {
		room = n
	}
	_, err := io.WriteString(w, columns(append([][]string{head}, rows...), room))
	return err
}

// columns writes rows in columns, in lines of at most width columns. If the other columns leave
// too little room, the text of the last column is on the lines below.
func columns(rows [][]string, width int) string {
	const gap, least = 2, 20 // least is a width of the last column that can still be read
	last := len(rows[0]) - 1
	widths, indent := make([]int, last), 0
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i])+gap)
		}
		indent += widths[i]
	}
	below := width < indent+least
	if below {
		indent = 4
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row[:last] {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		}
		if below {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", indent)
		}
		for _, text := range lines(row[last], width-indent) {
			b.WriteString(strings.TrimRight(line+text, " ") + "\n")
			line = strings.Repeat(" ", indent)
		}
	}
	return b.String()
}
