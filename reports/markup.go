package reports

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// markdown is a text in Markdown that is being written.
type markdown struct {
	b     strings.Builder
	run   *results.Run
	names Names
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

// row writes a row of a table. Cells are escaped.
func (m *markdown) row(cells ...string) {
	for i := range cells {
		cells[i] = words.Markdown(cells[i])
	}
	m.line("| %s |", strings.Join(cells, " | "))
}

// titles begins a table. The first two columns are aligned left, the next ones right (there
// are numbers of them), and the rest left.
func (m *markdown) titles(numbers int, titles ...string) {
	m.line("")
	m.row(titles...)
	m.line("|---|---|%s%s", strings.Repeat("--:|", numbers), strings.Repeat("---|", len(titles)-2-numbers))
}

// list writes a point for each text.
func (m *markdown) list(texts []string) {
	for _, t := range texts {
		m.line("- %s", words.Markdown(t))
	}
}
