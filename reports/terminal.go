package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// aside is what do writes.
func (t *text) aside(do func()) string {
	var b strings.Builder
	out, n := t.out, t.lines
	t.out = &b
	do()
	t.out, t.lines = out, n
	return b.String()
}

func (t *text) print(s string) {
	fmt.Fprint(t.out, s)
	t.lines += lines(s)
}

func lines(s string) int { return strings.Count(s, "\n") }

// narrowest is the width below which a table is not made narrower.
const narrowest = 60

func (t *text) end(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

type text struct {
	out    io.Writer
	lines  int // that were written
	width  int
	colour bool
	names  Names

	style   string   // style of the lines that are written
	dropped []string // columns that tables have no room for
	wanted  int      // the width that has room for all columns
}

// Styles are parameters of the terminal's sequence "select graphic rendition".
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint gives a text a style, if there are colours.
func (t *text) paint(style, s string) string {
	if !t.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// styled writes the lines of do in a style.
func (t *text) styled(style string, do func()) {
	t.style = style
	do()
	t.style = ""
}

// heading writes the head of a table.
func (t *text) heading(lead, said string) { t.styled(bold, func() { t.wrap(lead, 2, said) }) }

func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(t.out, t.paint(t.style, strings.TrimRight(s, " ")))
	t.lines++
}

// wrap writes lead and said. Further lines are indented by indent columns.
func (t *text) wrap(lead string, indent int, said string) {
	for _, line := range words.Wrap(lead, words.OneLine(said), indent, t.width) {
		t.line("%s", line)
	}
}

// labelled writes a text in a column beside a label.
func (t *text) labelled(label, said string) {
	t.wrap(fmt.Sprintf("%-*s", labelWidth, label), labelWidth, said)
}

const labelWidth = 10

// list writes notices below each other, beside a label.
func (t *text) list(label string, notices []Notice) {
	for i := range notices {
		t.wrap(fmt.Sprintf("%-*s- ", labelWidth, label), labelWidth+2, notices[i].String())
		label = ""
	}
}
