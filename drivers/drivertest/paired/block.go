package paired

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Block is what one side did in one block, and what it cost this process.
type Block struct {
	Ops    int64
	Wall   time.Duration
	CPU    time.Duration // user and system, of all threads
	Allocs uint64        // objects
	Bytes  uint64        // allocated
}

func (b Block) throughput() float64 { return float64(b.Ops) / b.Wall.Seconds() }
func (b Block) cpuOp() float64      { return float64(b.CPU.Nanoseconds()) / float64(b.Ops) }
func (b Block) allocsOp() float64   { return float64(b.Allocs) / float64(b.Ops) }
func (b Block) bytesOp() float64    { return float64(b.Bytes) / float64(b.Ops) }

// loop is one side with its clients open.
type loop struct {
	name    string
	clients []Op
	done    []int64 // operations of each client in the last block
}

func open(s Side, clients int) (*loop, error) {
	l := &loop{name: s.Name, done: make([]int64, clients)}
	for range clients {
		op, err := s.Client()
		if err != nil {
			return nil, fmt.Errorf("open a client of %s: %w", s.Name, err)
		}
		l.clients = append(l.clients, op)
	}
	return l, nil
}

// block runs all clients for d, each for one operation at least. Pair i of blocks has numbers of its own.
func (l *loop) block(ctx context.Context, pair int, d time.Duration) (Block, error) {
	runtime.GC() // the other side's garbage is not this one's cost
	var over atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	before, start := usage(), time.Now()
	timer := time.AfterFunc(d, func() { over.Store(true) })
	defer timer.Stop()
	for i, op := range l.clients {
		g.Go(func() error {
			n, done := uint64(pair)<<40+uint64(i), int64(0)
			for done == 0 || !over.Load() {
				if err := op(ctx, n); err != nil {
					return err
				}
				n += uint64(len(l.clients))
				done++
			}
			l.done[i] = done
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Block{}, fmt.Errorf("%s: %w", l.name, err)
	}
	b := usage()
	b.Wall, b.CPU, b.Allocs, b.Bytes = time.Since(start), b.CPU-before.CPU, b.Allocs-before.Allocs, b.Bytes-before.Bytes
	for _, n := range l.done {
		b.Ops += n
	}
	return b, nil
}

// usage is what this process has used up to now.
func usage() Block {
	var m runtime.MemStats
	runtime.ReadMemStats(&m) // runtime/metrics leaves out what processors have not handed in yet
	return Block{CPU: cpuTime(), Allocs: m.Mallocs, Bytes: m.TotalAlloc}
}
