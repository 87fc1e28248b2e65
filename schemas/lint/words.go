package lint

import (
	"fmt"
	"io"
	"strings"
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

// wrap writes text in indented lines of 80 columns where its words allow that.
func wrap(w io.Writer, text string) {
	line := "   "
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 80 && line != "   " {
			fmt.Fprintln(w, line)
			line = "   "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
