package paired

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEstimate(t *testing.T) {
	upTo := func(n int) []float64 { // 1..n, shuffled
		v := make([]float64, n)
		for i := range v {
			v[i*7%n] = float64(i + 1)
		}
		return v
	}
	for _, c := range []struct {
		values []float64
		want   Estimate
	}{
		// Conover, Practical Nonparametric Statistics, table A3, at p = 1/2.
		{upTo(15), Estimate{8, 4, 12, 0.9648}},
		{upTo(20), Estimate{10.5, 6, 15, 0.9586}},
		{upTo(13), Estimate{7, 3, 11, 0.9775}}, // 4 to 10 would be 0.9077
		{upTo(6), Estimate{3.5, 1, 6, 0.9688}},
		{upTo(5), Estimate{3, 1, 5, 0.9375}}, // too few for 0.95
		{upTo(1), Estimate{1, 1, 1, 0}},
	} {
		got := estimate(c.values)
		if got.Median != c.want.Median || got.Low != c.want.Low || got.High != c.want.High || math.Abs(got.Confidence-c.want.Confidence) > 5e-5 {
			t.Errorf("%d values: %v, want %v", len(c.values), got, c.want)
		}
	}
}

// of makes a result whose pairs have these ratios of throughput and CPU time.
func of(throughput, cpu []float64) *Result {
	r := &Result{A: "bare", B: "driver"}
	for i := range throughput {
		r.Pairs = append(r.Pairs, Pair{
			A: Block{Ops: 1_000_000, Wall: time.Second, CPU: 20 * time.Second},
			B: Block{
				Ops: int64(1e6 * throughput[i]), Wall: time.Second,
				CPU: time.Duration(20e9 * throughput[i] * cpu[i]),
			},
		})
	}
	return r
}

func TestKept(t *testing.T) {
	repeat := func(n int, v ...float64) []float64 { return slices.Repeat(v, n) }
	for _, c := range []struct {
		name   string
		r      *Result
		missed []string
	}{
		{"alike", of(repeat(15, 1), repeat(15, 1)), nil},
		{"at the bounds", of(append(repeat(4, 0.9001), repeat(11, 0.9501)...), repeat(15, 1.0999)), nil},
		{"slower", of(repeat(15, 0.94), repeat(15, 1)), []string{"throughput is 0.940"}},
		{"often much slower", of(append(repeat(4, 0.85), repeat(11, 1)...), repeat(15, 1)), []string{"lower end of its interval is 0.850"}},
		{"seldom much slower", of(append(repeat(3, 0.5), repeat(12, 1)...), repeat(15, 1)), nil},
		{"dearer", of(repeat(15, 1), repeat(15, 1.11)), []string{"1.110 of bare's CPU time"}},
		{"all", of(repeat(15, 0.8), repeat(15, 1.25)), []string{"throughput", "interval", "CPU"}},
	} {
		err := c.r.Kept()
		if (err != nil) != (c.missed != nil) {
			t.Errorf("%s: %v, want %q", c.name, err, c.missed)
		}
		for _, want := range c.missed {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", c.name, err, want)
			}
		}
	}
}

// sleeper is a side whose operations take so long.
func sleeper(name string, d time.Duration) Side {
	return Side{name, func() (Op, error) {
		return func(context.Context, uint64) error { time.Sleep(d); return nil }, nil
	}}
}

// TestSlower shows that a side which is a fifth slower is found, and one that
// is not is not. The clock is synctest's, so that nothing else takes time.
func TestSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(d time.Duration) *Result {
			r, err := Run(t.Context(), sleeper("A", 4*time.Millisecond), sleeper("B", d), Plan{Clients: 4, Pairs: MinPairs, Block: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		slower := run(5 * time.Millisecond)
		if e := slower.Throughput(); e.Low < 0.798 || e.High > 0.802 {
			t.Errorf("a side that is a fifth slower: %v", e)
		}
		if err := slower.Kept(); err == nil || !strings.Contains(err.Error(), "throughput is") {
			t.Errorf("a side that is a fifth slower is let pass: %v", err)
		}
		if e := run(4 * time.Millisecond).Throughput(); e.Low < 0.998 || e.High > 1.002 {
			t.Errorf("two equal sides: %v", e)
		}
	})
}

// spinner computes, and allocates one object an operation for each of allocs.
func spinner(name string, rounds, allocs int) Side {
	return Side{name, func() (Op, error) {
		x, kept := uint64(1), make([]*[64]byte, allocs)
		return func(context.Context, uint64) error {
			for range rounds {
				x = x*6364136223846793005 + 1442695040888963407
			}
			for i := range kept {
				kept[i] = new([64]byte)
			}
			if x == 0 {
				return errors.New("the compiler must not drop the loop")
			}
			return nil
		}, nil
	}}
}

// TestCosts shows that CPU time and allocations of each side are told apart.
func TestCosts(t *testing.T) {
	r, err := Run(t.Context(), spinner("A", 5_000, 1), spinner("B", 20_000, 3), Plan{Clients: 1, Pairs: MinPairs, Block: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	// Wide bounds: a neighbour on the machine slows one block and not the next.
	if e := r.CPU(); e.Median < 2 || e.Median > 8 {
		t.Errorf("CPU time of four times the work: %v", e)
	}
	for _, p := range r.Pairs {
		if most := time.Duration(runtime.NumCPU())*p.A.Wall + 10*time.Millisecond; p.A.CPU <= 0 || p.A.CPU > most {
			t.Errorf("a block of %v takes %v of CPU time; expected at most %v", p.A.Wall, p.A.CPU, most)
		}
	}
	for _, c := range []struct {
		what      string
		of        func(Block) float64
		a, b, odd float64
	}{
		{"objects", Block.allocsOp, 1, 3, 0.5},
		{"bytes", Block.bytesOp, 64, 3 * 64, 32},
	} {
		var a, b []float64
		for _, p := range r.Pairs {
			a, b = append(a, c.of(p.A)), append(b, c.of(p.B))
		}
		if a, b := median(a), median(b); a < c.a || a > c.a+c.odd || b < c.b || b > c.b+c.odd {
			t.Errorf("%.2f and %.2f %s are allocated an operation, want %.0f and %.0f", a, b, c.what, c.a, c.b)
		}
	}
}

// TestTurns shows that the sides run in turn, and with the same numbers.
func TestTurns(t *testing.T) {
	var mu sync.Mutex
	var turns strings.Builder
	seen, begun := map[string]map[uint64]bool{"A": {}, "B": {}}, map[string]bool{}
	side := func(name string) Side {
		return Side{name, func() (Op, error) {
			return func(_ context.Context, n uint64) error {
				mu.Lock()
				defer mu.Unlock()
				if block := fmt.Sprint(name, n>>40); !begun[block] {
					begun[block] = true
					turns.WriteString(name)
				}
				if seen[name][n] {
					t.Errorf("%s: number %d comes twice", name, n)
				}
				seen[name][n] = true
				time.Sleep(100 * time.Microsecond)
				return nil
			}, nil
		}}
	}
	r, err := Run(t.Context(), side("A"), side("B"), Plan{Clients: 3, Pairs: 4, Block: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if got := turns.String(); got != "ABBAABBA" {
		t.Errorf("turns %s, want ABBAABBA", got)
	}
	var ops [2]int
	for _, p := range r.Pairs {
		ops[0] += int(p.A.Ops)
		ops[1] += int(p.B.Ops)
	}
	if ops[0] != len(seen["A"]) || ops[1] != len(seen["B"]) {
		t.Errorf("%v operations counted; %d and %d were run", ops, len(seen["A"]), len(seen["B"]))
	}
	for pair := range uint64(4) {
		if !seen["A"][pair<<40] || !seen["B"][pair<<40] {
			t.Errorf("pair %d does not begin with the same number on both sides", pair)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	good := sleeper("good", time.Millisecond)
	fails := Side{"bad", func() (Op, error) {
		return func(_ context.Context, n uint64) error {
			if n%3 == 2 {
				return broken
			}
			return nil
		}, nil
	}}
	closed := Side{"bad", func() (Op, error) { return nil, broken }}
	stuck := Side{"bad", func() (Op, error) {
		return func(ctx context.Context, _ uint64) error { <-ctx.Done(); return broken }, nil
	}}
	for name, bad := range map[string]Side{"an operation fails": fails, "no client": closed, "cancelled": stuck} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := Run(ctx, good, bad, Plan{Clients: 2, Pairs: 2, Block: time.Millisecond})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "bad") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		windows []float64
		want    bool
	}{
		{[]float64{100, 100, 100, 100, 100}, false}, // too few
		{[]float64{50, 80, 90, 100, 99, 101}, false},
		{[]float64{50, 80, 100, 99, 101, 100, 60, 101}, true},
		{[]float64{100, 100, 100, 94, 94, 94}, false},
	} {
		if got := agree(c.windows); got != c.want {
			t.Errorf("%v agree: %v", c.windows, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		// Both become faster with each operation, down to a millisecond.
		compiled := func(name string) Side {
			d := 10 * time.Millisecond
			return Side{name, func() (Op, error) {
				return func(context.Context, uint64) error {
					d = max(time.Millisecond, d-10*time.Microsecond)
					time.Sleep(d)
					return nil
				}, nil
			}}
		}
		plan := Plan{Clients: 1, Pairs: 1, Block: time.Second, WarmUp: time.Minute}
		r, err := Run(t.Context(), compiled("A"), compiled("B"), plan)
		if err != nil {
			t.Fatal(err)
		}
		if p := r.Pairs[0]; !r.Steady || p.A.Ops < 1000 || p.B.Ops < 1000 {
			t.Errorf("warmed up for %v, steady %v, and %d and %d operations; want a thousand each", r.Warmed, r.Steady, p.A.Ops, p.B.Ops)
		}
		plan.WarmUp = 4 * time.Second
		if r, err = Run(t.Context(), compiled("A"), compiled("B"), plan); err != nil {
			t.Fatal(err)
		}
		if r.Steady || r.Warmed < plan.WarmUp || r.Warmed > plan.WarmUp+2*time.Second || !strings.Contains(r.String(), "STILL NOT STEADY") {
			t.Errorf("a warm-up that was too short: %v", r)
		}
	})
}

func TestParse(t *testing.T) {
	if pairs, block, err := parse("15x10s"); pairs != 15 || block != 10*time.Second || err != nil {
		t.Errorf("15x10s: %d pairs of %v, %v", pairs, block, err)
	}
	for _, v := range []string{"15", "x10s", "0x10s", "15x10", "15x-1s", "15x10sx"} {
		if _, _, err := parse(v); err == nil {
			t.Errorf("%s is taken", v)
		}
	}
}
