// Package screen prints text and documents where people read them: on a terminal, in a pipe or in a file. It lets no
// character through that a terminal would act on, but for its own styles.
package screen

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
)

// Writer is where every command prints. Subjects, names of folders and files, and an engine's
// texts about its tables come from strangers. A character in them that a terminal would act on,
// or that shows others in another order, is written as an escape, such as \u202e. In JSON the
// escape means the same character.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte // the beginning of a character that the next Write completes
	err  error  // the first one of Write: commands need not look at each
}

// New returns a writer to the standard output or the standard error of a process.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// Err is the first error of writing to a Writer; nil of another writer.
func Err(w io.Writer) error {
	if s, ok := w.(*Writer); ok {
		return s.err
	}
	return nil
}

// Write implements io.Writer.
func (s *Writer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, b...)
	whole, last := len(text), len(text)-1
	for last > 0 && whole-last < utf8.UTFMax && !utf8.RuneStart(text[last]) {
		last--
	}
	if whole > 0 && (!utf8.FullRune(text[last:]) || text[whole-1] == '\r') { // there may be a \n
		whole = last
	}
	s.rest = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(s.out, Printable(string(text[:whole]))); err != nil {
		s.err = cmp.Or(s.err, err)
		return 0, err
	}
	return len(b), nil
}

// Printable writes characters that a terminal must not get as escapes. Line feeds and tabs stay.
func Printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !harmful(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// harmful reports whether a character is a control or format character (some of these change the
// direction of text), or a line or paragraph separator.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// raw is where w writes to without escapes.
func raw(w io.Writer) io.Writer {
	if s, ok := w.(*Writer); ok {
		return s.out
	}
	return w
}

// Document writes a document as wide as w is, and with colors if w is a terminal that knows them, unless NO_COLOR
// (https://no-color.org) is set.
func Document(w io.Writer, d *document.Document, full bool) error {
	color := IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t := document.Terminal{Width: Width(w), Color: color, Full: full}
	err := t.Write(raw(w), d) // its texts are printable, so that all sequences are its own colors
	if s, ok := w.(*Writer); ok {
		s.err = cmp.Or(s.err, err)
	}
	return err
}

// defaultWidth is the width of text that goes to no terminal.
const defaultWidth = 100

// IsTerminal reports whether a text goes to a terminal that acts on escape sequences.
func IsTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && escapes(f)
}

// Width is the terminal's width in columns. Without a terminal it is that of COLUMNS, or
// defaultWidth.
func Width(w io.Writer) int { return cmp.Or(Wanted(w), defaultWidth) }

// Wanted is the width that the terminal has or COLUMNS sets; 0 if neither does.
func Wanted(w io.Writer) int {
	if f, ok := raw(w).(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(n, 0)
}

// Table prints rows in columns under their heads. If the terminal or COLUMNS is too narrow for
// that, the text of the last column is broken into lines.
func Table(w io.Writer, head []string, rows [][]string) {
	fmt.Fprint(w, words.Table(append([][]string{head}, rows...), len(head), Wanted(w)))
}

// clearLine clears the line that the cursor is in.
const clearLine = "\r\x1b[K"

// Bar is one line that is redrawn on a terminal.
type Bar struct {
	Out      io.Writer
	Terminal bool
	Quiet    bool
	drawn    bool
}

// NewBar returns a bar, which shows nothing if quiet is set.
func NewBar(w io.Writer, quiet bool) Bar { return Bar{Out: w, Terminal: IsTerminal(w), Quiet: quiet} }

// Show draws a line, if the bar is on a terminal.
func (b *Bar) Show(line string) {
	if b.Quiet || !b.Terminal {
		return
	}
	cut := []rune(Printable(line))
	fmt.Fprint(raw(b.Out), clearLine, string(cut[:min(len(cut), max(Width(b.Out)-1, 0))]))
	b.drawn = true
}

// Close takes the line off the terminal.
func (b *Bar) Close() {
	if b.drawn {
		fmt.Fprint(raw(b.Out), clearLine)
	}
	b.drawn = false
}
