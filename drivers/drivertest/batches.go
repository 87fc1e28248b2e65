package drivertest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	// whole writes n rows of a partition by each batch.
	whole := func(p, pattern string, n int, parts func(k int, v string) []part) {
		watch(s, func(c *client, v int) error {
			var all []part
			for k := range n {
				all = append(all, parts(k, fmt.Sprint(v))...)
			}
			return c.batch(pattern, all...)
		}, func(c *client) (int, error) {
			got, err := c.lines("boxes", p)
			if len(got) == 0 {
				return 0, err
			}
			words := strings.Fields(got[0])
			v := words[len(words)-1]
			for k := range n {
				if len(got) != n || got[k] != row(k, v, v) {
					return 0, fmt.Errorf("a reader saw half of an atomic batch over one %s: %q", p, got)
				}
			}
			return strconv.Atoi(v)
		})
	}
	if s.offers("in_row") {
		whole("row", "in_row", 1, func(k int, v string) []part { return []part{with(0, "row", k, v), with(1, "row", k, v)} })
	}
	if s.offers("in_partition") && !s.caps.Torn {
		whole("partition", "in_partition", 10, func(k int, v string) []part { return []part{with(0, "partition", k, v, v)} })
		// A row that moves from place to place is always in exactly one.
		s.client().write("put_box", "move", 0, "m", nil)
		watch(s, func(c *client, v int) error {
			return c.batch("in_partition", with(1, "move", v), with(0, "move", v+1, "m", nil))
		}, func(c *client) (int, error) {
			rows, err := c.lines("boxes", "move")
			if err == nil && len(rows) != 1 {
				err = fmt.Errorf("a message that moves by atomic batches is in %d places: %q", len(rows), rows)
			}
			return 0, err
		})
	}
}

// watch writes values one after another while others read: never an older value than before.
func watch(s *suite, write func(*client, int) error, read func(*client) (int, error)) {
	s.Helper()
	const values = 60
	done := make(chan struct{})
	s.parallel(3, func(i int, c *client) error {
		if i == 0 {
			defer close(done)
			for v := range values {
				if err := write(c, v); err != nil {
					return err
				}
			}
			return nil
		}
		for last := 0; ; {
			select {
			case <-done:
				return nil
			default:
			}
			v, err := read(c)
			if err == nil && v < last {
				err = fmt.Errorf("a reader saw the value %d after %d", v, last)
			}
			if err != nil {
				return err
			}
			last = v
		}
	})
}
