package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
)

// An engine in trouble does not end a run: what fails is counted, and the workers
// go on.

// errorCounts are the texts of errors and how often each came.
type errorCounts []errorCount

type errorCount struct {
	shape string
	reports.ErrorCount
}

// textsMost is how many texts of errors an operation's result has. Those beyond
// are counted together.
const textsMost = 5

// add counts a text n times.
func (e *errorCounts) add(text string, n int64) {
	s := shape(text)
	for i := range *e {
		if c := &(*e)[i]; c.shape == s || c.Text == reports.OtherErrors {
			c.Count += n
			return
		}
	}
	if len(*e) == textsMost {
		text = reports.OtherErrors
	}
	*e = append(*e, errorCount{s, reports.ErrorCount{Text: text, Count: n}})
}

// shape is a text without the words in which it differs from its like: names of
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
func (e errorCounts) sorted() []reports.ErrorCount {
	var counts []reports.ErrorCount
	var others []reports.ErrorCount
	for _, c := range e {
		if c.Text == reports.OtherErrors {
			others = append(others, c.ErrorCount)
		} else {
			counts = append(counts, c.ErrorCount)
		}
	}
	slices.SortStableFunc(counts, func(a, b reports.ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return append(counts, others...)
}

// Pauses of a client whose operations fail one after the other.
const (
	restLeast = time.Millisecond
	restMost  = 100 * time.Millisecond
)

// rest lets a client of a closed loop wait when more than one of its operations
// has failed in a row: an engine that refuses at once would be asked as often as
// the processors can. In an open loop the schedule does that.
func (w *worker) rest(ctx context.Context) {
	if w.failures < 2 {
		return
	}
	sleep(ctx, min(restMost, restLeast<<min(w.failures-2, 10)))
	w.last = w.clock.now()
}

// sleep waits for so long, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// fared notes how an operation ended. One whose outcome is unknown took its
// time already.
func (w *worker) fared(out latency.Outcome) {
	if out == latency.Failed {
		w.failures++
	} else {
		w.failures = 0
	}
}
