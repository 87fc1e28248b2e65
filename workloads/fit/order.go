package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

// event is an operation of a user of a trace. at is in seconds.
type event struct {
	at float64
	op workloads.Op
}

// mostNext is how many of the operations that follow another one are written.
const mostNext = 3

// order writes what a mix does not say: how long users pause between two operations, and which
// operation follows which. Deliveries are not counted, since users do not wait for them.
func (w *writer) order() {
	var pauses []float64
	var next [workloads.NumOps][workloads.NumOps]int
	for _, a := range w.s.users {
		slices.SortStableFunc(a.events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
		for i := 1; i < len(a.events); i++ {
			last, e := a.events[i-1], a.events[i]
			pauses = append(pauses, e.at-last.at)
			next[last.op][e.op]++
		}
	}
	if len(pauses) == 0 {
		return
	}
	slices.Sort(pauses)
	n := len(pauses)
	w.text("      # A user pauses between two operations: %s, median %.3g s, p90 %.3g s, longest %.3g s", words.Plural(n, "pause"),
		pauses[n/2], pauses[n*9/10], pauses[n-1])
	for op, counts := range next {
		if text := following(counts[:]); text != "" {
			w.text("      #   after %s: %s", workloads.Op(op), text)
		}
	}
}

// following writes the most frequent operations, each with its share.
func following(counts []int) string {
	var ops []workloads.Op
	total := 0
	for op, n := range counts {
		if total += n; n > 0 {
			ops = append(ops, workloads.Op(op))
		}
	}
	slices.SortStableFunc(ops, func(a, b workloads.Op) int { return cmp.Compare(counts[b], counts[a]) })
	var parts []string
	for _, op := range ops[:min(len(ops), mostNext)] {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", op, 100*float64(counts[op])/float64(total)))
	}
	return strings.Join(parts, ", ")
}
