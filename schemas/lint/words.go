package lint

import (
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// list joins words as a sentence does.
func list(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// wrap writes text after lead, in lines of width columns. Those after the first are indented.
// Width 0 is one line.
func wrap(w io.Writer, lead, text string, width int) {
	for _, line := range words.Wrap(lead, text, len(indent), width) {
		fmt.Fprintln(w, line)
	}
}

const indent = "    "
