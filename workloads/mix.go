package workloads

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/workloads/random"
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

// chooser draws operations by their weights. It compares 64 random bits with the upper
// bound of each operation's share.
type chooser struct {
	bound [NumOps]uint64
	op    [NumOps]Op
	n     int
}

func (m *Mix) chooser() chooser {
	var c chooser
	var sum, total float64
	for _, w := range m {
		total += w
	}
	for op, w := range m {
		if w == 0 {
			continue
		}
		sum += w
		c.op[c.n] = Op(op)
		c.bound[c.n] = math.MaxUint64
		if sum < total {
			c.bound[c.n] = uint64(math.Ldexp(sum/total, 64))
		}
		c.n++
	}
	if c.n > 0 {
		c.bound[c.n-1] = math.MaxUint64
	}
	return c
}

func (c *chooser) choose(r *random.Rand) Op {
	u := r.Uint64()
	i := 0
	for i < c.n-1 && u >= c.bound[i] {
		i++
	}
	return c.op[i]
}
