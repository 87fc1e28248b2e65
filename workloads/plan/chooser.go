package plan

import (
	"math"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// chooser draws operations by their weights. It compares 64 random bits with the upper
// bound of each operation's share.
type chooser struct {
	bound [workloads.NumOps]uint64
	op    [workloads.NumOps]workloads.Op
	n     int
}

func chooserOf(m *workloads.Mix) chooser {
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
		c.op[c.n] = workloads.Op(op)
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

func (c *chooser) choose(r *random.Rand) workloads.Op {
	u := r.Uint64()
	i := 0
	for i < c.n-1 && u >= c.bound[i] {
		i++
	}
	return c.op[i]
}
