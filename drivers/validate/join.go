package validate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
)

// mostLevels is how many bytes of the digest divide records into files. Records with
// equal digests cannot be divided, so a file may exceed the bound. Such records are few:
// neighbouring rows share one.
const mostLevels = 4

// join compares the records within each file.
func (c *check) join(ctx context.Context, s *shards) error {
	if err := s.close(); err != nil {
		return err
	}
	for i := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.level == 0 {
			c.progress("", i, shardsOf)
		}
		info, err := os.Stat(s.name(i))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = c.joinFile(ctx, s, s.name(i), info.Size())
		}
		if err != nil {
			return fmt.Errorf("compare references and counts: %w", err)
		}
	}
	return nil
}

func (c *check) joinFile(ctx context.Context, s *shards, name string, size int64) error {
	if size > c.fileMost && s.level+1 < mostLevels {
		smaller := newShards(s.dir, s.level+1, &c.scratch)
		err := smaller.divide(name)
		if rerr := os.Remove(name); err == nil {
			err = rerr
		}
		if err == nil {
			err = c.join(ctx, smaller)
		}
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	c.peak.Store(max(c.peak.Load(), c.scratch.Load()))
	c.scratch.Add(-size)
	var all []record
	for len(b) > 0 {
		var r record
		if r, b, err = nextRecord(b); err != nil {
			return err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int {
		return cmp.Or(bytes.Compare(a.digest[:], b.digest[:]), cmp.Compare(a.rule, b.rule))
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].digest == all[0].digest && all[n].rule == all[0].rule {
			n++
		}
		c.together(c.rules[all[0].rule], all[:n])
		all = all[n:]
	}
	return nil
}

// together checks a rule for all rows with the same variables.
func (c *check) together(r *rule, rs []record) {
	var own, others, sum int64 // rows of each side, and the recount over the others
	var first, other *record
	for i := range rs {
		x := &rs[i]
		switch {
		case x.at:
			others += x.rows
			sum += x.number
			if other == nil || bytes.Compare(x.where, other.where) < 0 {
				other = x
			}
		default:
			own += x.rows
			if first == nil || bytes.Compare(x.where, first.where) < 0 {
				first = x
			}
		}
	}
	switch {
	case r.ref != nil:
		if own > 0 && others == 0 {
			c.found.add(r.key, own, 1, 0, func() string { return missing(r, first, own) })
		}
	case own == 0:
		if r.zero() && sum != 0 {
			c.found.add(r.key, 1, 0, abs(sum), func() string {
				return fmt.Sprintf("no %s for %s: %d counted", r.count.Column.Name, other.where, sum)
			})
		}
	default:
		for i := range rs {
			if x := &rs[i]; !x.at {
				c.compare(r, x, sum)
			}
		}
	}
}

// compare compares a stored number with the recount.
func (c *check) compare(r *rule, x *record, sum int64) {
	what := r.count.Column.Name
	switch {
	case x.bad:
		c.found.add(r.key, 1, 0, 0, func() string { return fmt.Sprintf("%s: %s is no number", x.where, what) })
	case x.number != sum:
		c.found.add(r.key, 1, 0, abs(x.number-sum), func() string {
			return fmt.Sprintf("%s: %s is %d, counted %d", x.where, what, x.number, sum)
		})
	}
}

// missing names the first of the rows that refer to a row that is not there.
func missing(r *rule, x *record, rows int64) string {
	if rows > 1 {
		return fmt.Sprintf("%s and %d more: no row of %s", x.where, rows-1, r.join.To.Name)
	}
	return fmt.Sprintf("%s: no row of %s", x.where, r.join.To.Name)
}

func abs(n int64) int64 { return max(n, -n) }
