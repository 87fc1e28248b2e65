package drivertest

import (
	"errors"

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
		c.expect([][]any{{1, half, nil}, {2, half, nil}}, "boxes", "spread")
	}
	quarter := half[:len(half)/4]
	must(c, c.batch("in_all", with(0, "spread", 3, quarter, nil), with(1, "spread elsewhere", quarter)))
	c.expect([][]any{{quarter}}, "other", "spread elsewhere")
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
