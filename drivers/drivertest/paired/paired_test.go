// Package paired has nothing but tests. It compares two ways to do the same work, such as a client
// library called by hand and a driver over it, on a machine whose speed drifts.
//
// Both sides run as Go benchmarks in short blocks that take turns: A B, B A,
// A B, … A drift of the machine affects both sides alike. The benchmarks' names
// have the keys clients, pair and side, by which benchstat compares the sides:
//
//	benchstat -col '/side@(bare driver)' -ignore /pair -filter=-/pair:0 FILE
//
// Pair 0 warms up the server, the client and the connections.
package paired

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
)

// Op does operation n and checks what came back.
type Op func(ctx context.Context, n uint64) error

// Side is one of the two ways that are compared.
type Side struct {
	Name string
	// Client opens one client with buffers of its own. One goroutine runs it.
	Client func() (Op, error)
}

// Variable names the environment variable with the number of pairs of blocks after
// pair 0. The default is 1. The length of a block is -benchtime.
const Variable = "MAILBENCH_PAIRS"

// inTurns runs both sides interleaved with 1, 16 and 64 clients. The loop is
// closed: a client begins its next operation when the last one has come back.
func inTurns(b *testing.B, bare, driver Side) {
	pairs := pairs(b)
	for _, clients := range []int{1, 16, 64} {
		sides := []loop{open(b, bare, clients), open(b, driver, clients)}
		for pair := range pairs + 1 {
			for _, l := range sides {
				b.Run(fmt.Sprintf("clients=%d/pair=%d/side=%s", clients, pair, l.name), l.run)
			}
			slices.Reverse(sides)
		}
	}
}

// pairs is the number of pairs after pair 0.
func pairs(b *testing.B) int {
	v := os.Getenv(Variable)
	if v == "" {
		return 1
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		b.Fatalf("%s=%q: expected a number of pairs", Variable, v)
	}
	return n
}

// loop is one side with its clients open.
type loop struct {
	name    string
	clients []Op
}

func open(t testing.TB, s Side, clients int) loop {
	t.Helper()
	l := loop{name: s.Name}
	for range clients {
		op, err := s.Client()
		if err != nil {
			t.Fatalf("open a client of %s: %v", s.Name, err)
		}
		l.clients = append(l.clients, op)
	}
	return l
}

// run is one block: all clients together do b.N operations.
func (l loop) run(b *testing.B) {
	b.ReportAllocs()
	before := cpuTime()
	if err := l.do(b.Context(), uint64(b.N)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

// do does the operations 0 to n-1, each by one client.
func (l loop) do(ctx context.Context, n uint64) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Uint64
	for _, op := range l.clients {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				if err := op(ctx, i); err != nil {
					return fmt.Errorf("%s, operation %d: %w", l.name, i, err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}
