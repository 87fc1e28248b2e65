package results

import (
	"fmt"
	"maps"
	"slices"
)

// Bounds of what reports can show. No run comes near them.
const (
	longestPhase = 366 * 24 * 3600.0 // seconds
	mostCounted  = 1 << 40           // operations
	mostPoints   = 1000              // points of a sweep
)

// check refuses figures that no run can have and that reports cannot show.
func (r *Run) check() error {
	if s := r.Sweep; s != nil {
		if len(s.Points) > mostPoints {
			return fmt.Errorf("its sweep has %d points", len(s.Points))
		}
		for _, p := range s.Points {
			if !(p.Size > 0 && p.Size < 1e15) {
				return fmt.Errorf("its sweep has a point of size %g", p.Size)
			}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if err := c.check(); err != nil {
			return fmt.Errorf("cell %s: %w", c.Key, err)
		}
	}
	return nil
}

func (c *Cell) check() error {
	for _, name := range slices.Sorted(maps.Keys(c.Ops)) {
		o := c.Ops[name]
		if !counts(o.Count, o.NotFound, o.Failed, o.Unknown, o.Dropped, o.NoTarget, o.TooLarge) {
			return fmt.Errorf("%s has an impossible count", name)
		}
	}
	for i := range c.Timeline {
		in := &c.Timeline[i]
		if !within(in.At, in.Seconds) {
			return fmt.Errorf("interval %d begins at %g s and lasts %g s", i+1, in.At, in.Seconds)
		}
		if !counts(in.OK, in.Failed, in.Unknown, in.Dropped) {
			return fmt.Errorf("interval %d has an impossible count", i+1)
		}
	}
	if g := c.Gap; g != nil && !within(g.At, g.Seconds) {
		return fmt.Errorf("its longest gap begins at %g s and lasts %g s", g.At, g.Seconds)
	}
	return nil
}

// counts reports whether all values can be counts.
func counts(values ...int64) bool {
	return slices.Min(values) >= 0 && slices.Max(values) <= mostCounted
}

// within reports whether a time can be within a phase.
func within(at, seconds float64) bool {
	return at >= 0 && seconds >= 0 && at+seconds <= longestPhase
}
