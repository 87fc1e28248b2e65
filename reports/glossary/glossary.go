// Package glossary says what the operations and the columns of results mean.
package glossary

import (
	_ "embed"
	"strings"
)

// Term is a word and what it means.
type Term struct{ Word, Meaning string }

// The texts have a line for each term, WORD: MEANING. Lines that are indented belong to the term above.
var (
	//go:embed operations.help.txt
	operations string
	//go:embed columns.help.txt
	columns string
)

// Operations are the mail operations that a workload can name.
func Operations() []Term { return terms(operations) }

// Columns are the columns and words of reports.
func Columns() []Term { return terms(columns) }

func terms(text string) (all []Term) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			all[len(all)-1].Meaning += " " + strings.TrimSpace(line)
			continue
		}
		word, meaning, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, Term{word, meaning})
	}
	return all
}
