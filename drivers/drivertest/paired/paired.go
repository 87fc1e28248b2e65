// Package paired compares two ways to do the same work, such as a client
// library called by hand and a driver over it, on a machine whose speed drifts.
//
// Both sides run for short blocks in turn: A B, B A, A B, … Two blocks that
// stand side by side see the same weather, and their ratio does not change with
// it; what drifts on falls on each side alike. A median over such pairs with a
// distribution-free interval needs no model of the noise.
//
// A loop is closed: each client begins its next operation when the last one
// has come back. An operation that fails ends the comparison.
package paired

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Op does operation n and checks what came back. Both sides are given the same
// numbers, and no two clients the same one within a block.
type Op func(ctx context.Context, n uint64) error

// Side is one of the two.
type Side struct {
	Name string
	// Client opens one client, with buffers of its own: one goroutine runs it.
	Client func() (Op, error)
}

// Plan says how long the two sides are compared.
type Plan struct {
	Clients int
	Pairs   int           // of blocks, one of each side
	Block   time.Duration // length of one block
	WarmUp  time.Duration // at most so long before the first pair; 0: none
}

// Pair is two blocks that ran side by side.
type Pair struct{ A, B Block }

// Result is a comparison.
type Result struct {
	A, B   string // the sides' names
	Plan   Plan
	Pairs  []Pair
	Warmed time.Duration // how long the warm-up took
	Steady bool          // it ended because its last windows agreed
}

// Run compares b with a. Server, client and connections are warmed up first:
// a JVM takes tens of seconds to compile what it runs often.
func Run(ctx context.Context, a, b Side, p Plan) (*Result, error) {
	var loops [2]*loop
	for i, s := range []Side{a, b} {
		var err error
		if loops[i], err = open(s, p.Clients); err != nil {
			return nil, err
		}
	}
	r := &Result{A: a.Name, B: b.Name, Plan: p}
	if err := r.warmUp(ctx, loops); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	for i := range p.Pairs {
		pair, err := runPair(ctx, loops, i, p.Block)
		if err != nil {
			return nil, fmt.Errorf("pair %d of %d: %w", i+1, p.Pairs, err)
		}
		r.Pairs = append(r.Pairs, pair)
	}
	return r, nil
}

// runPair runs pair i of blocks; b begins every second one.
func runPair(ctx context.Context, loops [2]*loop, i int, d time.Duration) (Pair, error) {
	var blocks [2]Block
	for turn := range 2 {
		side := (i + turn) % 2
		var err error
		if blocks[side], err = loops[side].block(ctx, i, d); err != nil {
			return Pair{}, err
		}
	}
	return Pair{A: blocks[0], B: blocks[1]}, nil
}

const (
	warmWindows = 3               // windows to a group, whose median tells
	warmWithin  = 0.05            // two groups that differ by no more than this share agree
	warmBlock   = 2 * time.Second // at most so long is one side's part of a window
)

// warmUp runs both sides in turn until throughput grows no more.
func (r *Result) warmUp(ctx context.Context, loops [2]*loop) error {
	start := time.Now()
	var windows []float64
	for !r.Steady && time.Since(start) < r.Plan.WarmUp {
		p, err := runPair(ctx, loops, len(windows), min(r.Plan.Block, warmBlock))
		if err != nil {
			return err
		}
		windows = append(windows, float64(p.A.Ops+p.B.Ops)/(p.A.Wall+p.B.Wall).Seconds())
		r.Steady = agree(windows)
	}
	r.Warmed = time.Since(start)
	return nil
}

// agree reports whether the last windows are as fast as those before them. One
// window that a neighbour on the machine slowed down does not count.
func agree(windows []float64) bool {
	n := len(windows)
	if n < 2*warmWindows {
		return false
	}
	before, last := median(windows[n-2*warmWindows:n-warmWindows]), median(windows[n-warmWindows:])
	return math.Abs(last-before) <= warmWithin*before
}
