package lint

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// list joins words as a sentence does.
func list(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// wrap writes text after lead, in lines of width columns where its words allow that. Those
// after the first are indented. Width 0 is one line.
func wrap(w io.Writer, lead, text string, width int) {
	line, n := lead, utf8.RuneCountInString(lead)
	for i, word := range strings.Fields(text) {
		more := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			line, n = line+word, n+more
		case width == 0 || n+1+more <= width:
			line, n = line+" "+word, n+1+more
		default:
			fmt.Fprintln(w, line)
			line, n = indent+word, len(indent)+more
		}
	}
	fmt.Fprintln(w, line)
}

const indent = "    "
