package paired

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// What side B keeps against side A, from MinPairs on: fewer pairs show what to
// look at, and decide nothing.
const (
	MinPairs      = 15
	MinThroughput = 0.95 // median
	MinLow        = 0.90 // lower end of its interval
	MaxCPU        = 1.10 // median of the CPU time an operation
)

// Throughput is that of side B as a share of side A's, over the pairs.
func (r *Result) Throughput() Estimate { return r.ratio(Block.throughput) }

// CPU is the processor time of an operation of side B as a share of side A's.
func (r *Result) CPU() Estimate { return r.ratio(Block.cpuOp) }

func (r *Result) ratio(of func(Block) float64) Estimate {
	v := make([]float64, len(r.Pairs))
	for i, p := range r.Pairs {
		v[i] = of(p.B) / of(p.A)
	}
	return estimate(v)
}

// Kept returns an error that says which of the bounds above does not hold.
func (r *Result) Kept() error {
	var missed []error
	t, cpu := r.Throughput(), r.CPU()
	if t.Median < MinThroughput {
		missed = append(missed, fmt.Errorf("throughput is %.3f of %s's; expected at least %.2f", t.Median, r.A, MinThroughput))
	}
	if t.Low < MinLow {
		missed = append(missed, fmt.Errorf("the lower end of its interval is %.3f; expected at least %.2f", t.Low, MinLow))
	}
	if cpu.Median > MaxCPU {
		missed = append(missed, fmt.Errorf("an operation takes %.3f of %s's CPU time; expected at most %.2f", cpu.Median, r.A, MaxCPU))
	}
	return errors.Join(missed...)
}

// String is a table of both sides, medians over the blocks, and their ratios.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d clients, %d pairs of blocks of %v; warm-up of %v", r.Plan.Clients, len(r.Pairs), r.Plan.Block, r.Warmed.Round(time.Second))
	if !r.Steady && r.Plan.WarmUp > 0 {
		b.WriteString(", AND STILL NOT STEADY")
	}
	b.WriteByte('\n')
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tops/s\tCPU µs/op\tallocs/op\tB/op\t")
	for _, side := range []struct {
		name  string
		block func(Pair) Block
	}{{r.A, func(p Pair) Block { return p.A }}, {r.B, func(p Pair) Block { return p.B }}} {
		of := func(what func(Block) float64) float64 {
			v := make([]float64, len(r.Pairs))
			for i, p := range r.Pairs {
				v[i] = what(side.block(p))
			}
			return median(v)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.1f\t%.0f\t\n", side.name,
			of(Block.throughput), of(Block.cpuOp)/1e3, of(Block.allocsOp), of(Block.bytesOp))
	}
	w.Flush()
	fmt.Fprintf(&b, "%s ÷ %s: throughput %v; CPU an operation %v", r.B, r.A, r.Throughput(), r.CPU())
	return b.String()
}

// String is the median and, in brackets, the interval with its confidence.
func (e Estimate) String() string {
	return fmt.Sprintf("%.3f (%.3f to %.3f at %.1f%%)", e.Median, e.Low, e.High, 100*e.Confidence)
}
