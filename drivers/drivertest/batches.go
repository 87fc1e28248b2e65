package drivertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// atomicBatches are the batches of batches.yaml that are all or nothing.
var atomicBatches = []struct {
	pattern string
	needs   schemas.Atomicity
}{
	{"in_row", schemas.AtomicRow},
	{"in_partition", schemas.AtomicPartition},
	{"in_shard", schemas.AtomicShard},
	{"in_all", schemas.AtomicAll},
}

// limitedBatches tests which batches an engine supports, and that one is refused as a whole.
func limitedBatches(s *suite) {
	c := s.client()
	for _, b := range atomicBatches {
		offered := s.offers(b.pattern)
		if offered != (s.caps.Atomic >= b.needs) {
			s.Errorf("the engine's widest atomic batch is %q; a batch with atomic: %s can be prepared: %v", s.caps.Atomic,
				b.needs, offered)
		}
		if offered {
			refusedWhole(c, b.pattern)
		}
	}
	if s.offers("in_all") {
		spread(c)
	}
	if s.offers("in_partition") {
		manyParts(c)
	}
}

func must(c *client, err error) {
	c.fail.Helper()
	if err != nil {
		c.fail.Fatalf("batch: %v", err)
	}
}

// refusedWhole tests a batch with a part that is too large.
func refusedWhole(c *client, pattern string) {
	c.fail.Helper()
	limit := c.caps.MaxBatchBytes
	if cell := c.caps.MaxCellBytes; limit == 0 || cell > 0 && cell < limit {
		limit = cell
	}
	if limit == 0 || limit > biggest {
		return
	}
	p := "refused " + pattern
	good, large := []any{p, 1, "v"}, []any{p, 1, string(make([]byte, limit+1))}
	if pattern != "in_row" {
		good, large = append(good, "w"), append(large, nil)
	}
	if err := c.batch(pattern, with(0, good...), with(0, large...)); !errors.Is(err, drivers.ErrTooLarge) {
		c.Errorf("%s with a part of %d bytes: %v, expected ErrTooLarge", pattern, limit+1, err)
	}
	c.expect(nil, "boxes", p)
}

// spread tests batches whose rows lie in several partitions, for which an
// engine may have a limit of its own.
func spread(c *client) {
	c.fail.Helper()
	limit := c.caps.MaxSpreadBytes
	if limit == 0 || limit > biggest {
		return
	}
	half := string(make([]byte, limit/2+1))
	err := c.batch("in_all", with(0, "spread", 1, half, nil), with(1, "spread elsewhere", half))
	if !errors.Is(err, drivers.ErrTooLarge) {
		c.Errorf("a batch of %d bytes over two partitions: %v, expected ErrTooLarge", len(half)*2, err)
	}
	c.expect(nil, "boxes", "spread")
	c.expect(nil, "other", "spread elsewhere")
	// A batch in one partition may be larger, up to the limit of one partition.
	if limit*2 < c.caps.MaxBatchBytes {
		must(c, c.batch("in_all", with(0, "spread", 1, half, nil), with(0, "spread", 2, half, nil)))
		c.expect([]string{row(1, half, nil), row(2, half, nil)}, "boxes", "spread")
	}
	quarter := half[:len(half)/4]
	must(c, c.batch("in_all", with(0, "spread", 3, quarter, nil), with(1, "spread elsewhere", quarter)))
	c.expect([]string{row(quarter)}, "other", "spread elsewhere")
}

// manyParts tests an atomic batch of more parts than the engine takes, if that has a limit.
func manyParts(c *client) {
	c.fail.Helper()
	if c.caps.MaxBatchParts == 0 {
		return
	}
	parts := make([]part, c.caps.MaxBatchParts+1)
	for k := range parts {
		parts[k] = with(0, "too many", k, "v", nil)
	}
	if err := c.batch("in_partition", parts...); !errors.Is(err, drivers.ErrTooLarge) {
		c.Errorf("a batch of %d parts: %v, expected ErrTooLarge", len(parts), err)
	}
	c.expect(nil, "boxes", "too many")
}

// isolation tests readers while atomic batches run. They see a batch whole or
// not at all. A reader is one get, or one slice of one partition: no engine
// promises what several reads see of a batch in between. Where slices are Torn, a reader
// is one get.
func isolation(t testing.TB, open Open) {
	s := begin(t, open, "batches.yaml")
	if s.offers("in_row") {
		watch(s, "row",
			func(c *client, v string) error {
				return c.batch("in_row", with(0, "row", 0, v), with(1, "row", 0, v))
			},
			func(c *client) ([]string, error) { return c.lines("boxes", "row") },
			func(v string) []string { return []string{row(0, v, v)} })
	}
	if s.offers("in_partition") && !s.caps.Torn {
		const n = 10
		watch(s, "partition",
			func(c *client, v string) error {
				var parts []part
				for k := range n {
					parts = append(parts, with(0, "partition", k, v, v))
				}
				return c.batch("in_partition", parts...)
			},
			func(c *client) ([]string, error) { return c.lines("boxes", "partition") },
			func(v string) []string {
				var want []string
				for k := range n {
					want = append(want, row(k, v, v))
				}
				return want
			})
		// A row that moves from place to place is always in exactly one.
		c := s.client()
		c.write("put_box", "move", 0, "m", nil)
		watch(s, "move",
			func(c *client, v string) error {
				var at int
				if _, err := fmt.Sscan(v, &at); err != nil {
					return err
				}
				return c.batch("in_partition", with(1, "move", at), with(0, "move", at+1, fmt.Sprint(at+1), nil))
			},
			func(c *client) ([]string, error) {
				rows, err := c.lines("boxes", "move")
				if err == nil && len(rows) != 1 {
					err = fmt.Errorf("a message that moves by atomic batches is in %d places: %q", len(rows), rows)
				}
				return nil, err
			}, nil)
	}
}

// watch writes values one after another while others read. They must read whole(v) of
// some value v, or nothing yet, and never an older value than before.
func watch(s *suite, name string, write func(*client, string) error, read func(*client) ([]string, error),
	whole func(string) []string,
) {
	s.Helper()
	const values = 60
	done := make(chan struct{})
	s.parallel(3, func(i int, c *client) error {
		if i == 0 {
			defer close(done)
			for v := range values {
				if err := write(c, fmt.Sprint(v)); err != nil {
					return err
				}
			}
			return nil
		}
		for seen := 0; ; {
			select {
			case <-done:
				return nil
			default:
			}
			got, err := read(c)
			if err != nil {
				return err
			}
			if len(got) == 0 {
				continue
			}
			for seen < values && fmt.Sprint(got) != fmt.Sprint(whole(fmt.Sprint(seen))) {
				seen++ // values only ever go up
			}
			if seen == values {
				return fmt.Errorf("a reader saw half of an atomic batch over one %s: %q", name, got)
			}
		}
	})
}
