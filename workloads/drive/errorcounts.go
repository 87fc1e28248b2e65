package drive

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
)

// errorCounts are the texts of errors and how often each came. An engine in
// trouble does not end a run: what fails is counted, and the workers go on.
type errorCounts []errorCount

type errorCount struct {
	shape string
	results.ErrorCount
}

// textsMost is how many texts of errors an operation's result has. Those beyond
// are counted together.
const textsMost = 5

// add counts a text n times.
func (e *errorCounts) add(text string, n int64) {
	s := shape(text)
	for i := range *e {
		if c := &(*e)[i]; c.shape == s || c.Text == results.OtherErrors {
			c.Count += n
			return
		}
	}
	if len(*e) == textsMost {
		text = results.OtherErrors
	}
	*e = append(*e, errorCount{s, results.ErrorCount{Text: text, Count: n}})
}

// shape is a text without the words in which texts of the same error differ: names of
// accounts, messages and nodes, numbers and times.
func shape(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789@") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}

// sorted are the counts, most frequent first, the others last.
func (e errorCounts) sorted() []results.ErrorCount {
	var counts []results.ErrorCount
	var others []results.ErrorCount
	for _, c := range e {
		if c.Text == results.OtherErrors {
			others = append(others, c.ErrorCount)
		} else {
			counts = append(counts, c.ErrorCount)
		}
	}
	slices.SortStableFunc(counts, func(a, b results.ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return append(counts, others...)
}
