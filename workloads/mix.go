package workloads

import (
	"fmt"
	"strconv"
	"strings"
)

// Mix is the weight of each operation; only their ratios count. A weight is
// from 0 to 1,000,000, and at least one is above 0.
type Mix [NumOps]float64

const maxWeight = 1_000_000

// Has reports whether the mix names the operation.
func (m *Mix) Has(op Op) bool { return m[op] > 0 }

// Share returns the operation's part of all operations.
func (m *Mix) Share(op Op) float64 {
	var sum float64
	for _, w := range m {
		sum += w
	}
	return m[op] / sum
}

// String returns the mix as the language writes it.
func (m *Mix) String() string {
	var parts []string
	for op, w := range m {
		if w > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", Op(op), strconv.FormatFloat(w, 'g', -1, 64)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
