package compare

import (
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// WriteMarkdown writes the comparison for a pull request or the summary of a step in CI:
// figures that differ are shown, and the others are folded.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### mailbench compare\n\n**%s**\n\n", c.Conclusion())
	for _, s := range []struct {
		name string
		of   Build
	}{{"base", c.Base}, {"new", c.New}} {
		fmt.Fprintf(&b, "- %s: `%s`, %s\n", s.name, code(s.of.Name), escape(s.of.Describe()))
	}
	fmt.Fprintf(&b, "- trials: %s\n", escape(c.Trials()))
	for _, d := range c.Forced {
		fmt.Fprintf(&b, "- **forced**: %s\n", escape(d))
	}
	for _, r := range c.Remarks() {
		fmt.Fprintf(&b, "- %s\n", escape(r))
	}
	c.markdownTable(&b, (*Line).Changed)
	b.WriteString("\n<details><summary>All other figures</summary>\n")
	c.markdownTable(&b, func(l *Line) bool { return !l.Changed() })
	fmt.Fprintf(&b, "\n%s\n\n</details>\n", escape(strings.Join(c.Legend(), " ")))
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownTable writes a table of the figures that show accepts, if there are any.
func (c *Comparison) markdownTable(b *strings.Builder, show func(*Line) bool) {
	head := "\n| cell | figure | base | new | ratio | limit | verdict |\n|---|---|--:|--:|---|--:|---|\n"
	lines := c.Lines()
	for i := range lines {
		l := &lines[i]
		if !show(l) {
			continue
		}
		verdict := l.Said
		if l.Verdict == Worse {
			verdict = "**" + verdict + "**"
		}
		fmt.Fprintf(b, "%s| %s | %s | %s | %s | %s | %s | %s |\n", head, escape(l.Cell), escape(l.Name), l.Base, l.New,
			l.Ratio, l.Limit, verdict)
		head = ""
	}
}

// escape makes a text one line without Markdown's special characters.
func escape(s string) string { return words.Markdown(s) }

// code makes a text one line that can be put between backticks.
func code(s string) string { return strings.ReplaceAll(words.OneLine(s), "`", "'") }
