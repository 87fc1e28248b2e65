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
		fmt.Fprintf(&b, "- %s: `%s`, %s\n", s.name, code(s.of.Name), escape(s.of.describe()))
	}
	fmt.Fprintf(&b, "- trials: %s\n", escape(c.trials()))
	for _, d := range c.Forced {
		fmt.Fprintf(&b, "- **forced**: %s\n", escape(d))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "- %s\n", escape(n))
	}
	for i := range c.Cells {
		for _, why := range append([]string{c.Cells[i].Why}, c.Cells[i].Notes...) {
			if why != "" {
				fmt.Fprintf(&b, "- %s: %s\n", escape(c.Cells[i].name()), escape(why))
			}
		}
	}
	changed := func(f *Figure) bool { return f.Verdict == Worse || f.Verdict == Better }
	c.markdownTable(&b, changed)
	b.WriteString("\n<details><summary>All other figures</summary>\n")
	c.markdownTable(&b, func(f *Figure) bool { return !changed(f) })
	fmt.Fprintf(&b, "\n%s\n\n</details>\n", escape(strings.Join(c.legend(), " ")))
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownTable writes a table of the figures that show accepts, if there are any.
func (c *Comparison) markdownTable(b *strings.Builder, show func(*Figure) bool) {
	head := "\n| cell | figure | base | new | ratio | limit | verdict |\n|---|---|--:|--:|---|--:|---|\n"
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			f := &c.Cells[i].Figures[j]
			if !show(f) || c.Cells[i].Why != "" {
				continue
			}
			verdict := f.said()
			if f.Verdict == Worse {
				verdict = "**" + verdict + "**"
			}
			fmt.Fprintf(b, "%s| %s | %s %s | %s | %s | %s | %s | %s |\n", head, escape(c.Cells[i].name()),
				escape(f.operation().String()), f.Name,
				f.value(f.Base), f.value(f.New), f.interval(), f.limit(), verdict)
			head = ""
		}
	}
}

func (c *Cell) name() string { return c.Model + "/" + c.Engine + "/" + c.Phase }

// escape makes a text one line without Markdown's special characters.
func escape(s string) string { return words.Markdown(s) }

// code makes a text one line that can be put between backticks.
func code(s string) string { return strings.ReplaceAll(words.OneLine(s), "`", "'") }
