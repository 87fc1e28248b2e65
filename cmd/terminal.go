package cmd

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/mailbench/mailbench/schemas/words"
)

// defaultWidth is the width of text that goes to no terminal.
const defaultWidth = 100

// isTerminal reports whether a text goes to a terminal that acts on escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd())) && escapes(f)
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

// wanted is the width that the terminal or COLUMNS asks for; it returns 0 and false if neither
// does.
func wanted(w io.Writer) (columns int, ok bool) {
	if f, ok := file(w); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n, true
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n, true
	}
	return 0, false
}

// colour reports whether text may have colours: on a terminal that knows them, unless
// NO_COLOR (https://no-color.org) is set.
func colour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// table prints rows in columns under their heads. If the terminal or COLUMNS is too narrow for
// that, the text of the last column is broken into lines.
func table(w io.Writer, head []string, rows [][]string) error {
	room, _ := wanted(w)
	_, err := io.WriteString(w, words.Table(append([][]string{head}, rows...), len(head), room))
	return err
}
