package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/subject"
)

// Segments of one run are processes of their own, on as many machines. If they load one
// engine together, they begin each phase together (package meet). An embedded engine is
// each segment's own: such segments only begin the run at the same time.

// namespace is a name that all segments of a run compute alike and that no other run has. The
// argument what distinguishes the namespaces of one run.
func (c *Config) namespace(what string) string {
	id := fmt.Sprintf("%s %d %d %s %s", c.Start.UTC().Format(time.RFC3339Nano), c.Segment.Of, c.Workload.Seed,
		subject.Digest(c.Workload.Source), what)
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:16]
}

// meet waits for the start of the run and joins the other segments.
func (r *runner) meet(ctx context.Context) error {
	c := r.config
	if !c.Segment.Divides() || c.Audit == AuditOnly {
		return nil
	}
	if left := time.Until(c.Start); left > 0 {
		r.progress("waits for the start at "+c.Start.Format(time.TimeOnly), drive.Progress{Fraction: -1})
		if err := drivers.Pause(ctx, left); err != nil {
			return err
		}
	}
	r.segments = map[string]*meet.Segments{}
	for _, e := range c.Engines {
		if !e.Remote {
			continue
		}
		open := func(ctx context.Context) (drivers.Store, error) {
			return subject.Reach(ctx, e, c.Workload, drivers.Options{Namespace: c.namespace("segments")})
		}
		s := &meet.Segments{Segment: c.Segment, Timeout: cmp.Or(c.SegmentTimeout, meet.UsualTimeout), Waits: r.note}
		if err := s.Join(ctx, open); err != nil {
			return errors.Join(err, r.closeSegments())
		}
		r.segments[e.Name] = s
	}
	return nil
}

// leave leaves the other segments on each engine.
func (r *runner) leave(ctx context.Context) {
	left := func(format string, args ...any) { r.result.Left = append(r.result.Left, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(r.segments)) {
		s, namespace := r.segments[name], r.config.namespace("segments")
		if ctx.Err() != nil && !r.gaveUp {
			_ = s.Fail(ctx, ctx.Err())
		}
		clean := fmt.Sprintf("%q drops them", subject.Clean(name, namespace, r.config.contact(name)))
		if err := s.Leave(ctx); errors.Is(err, meet.ErrGone) {
			r.note(err.Error())
		} else if err != nil {
			left("the marks of segments in namespace %s of %s could not be dropped (%v); %s", namespace, name, err, clean)
		}
	}
	if err := r.closeSegments(); err != nil {
		left("close the marks of segments: %v", err)
	}
}

func (r *runner) closeSegments() error {
	var errs []error
	for _, s := range r.segments {
		errs = append(errs, s.Close())
	}
	r.segments = nil
	return errors.Join(errs...)
}

// trialName is the same in all segments.
func (c *combination) trialName() string { return fmt.Sprintf("%s %d", c.model.Name, c.trial) }

// together waits until all segments have come to this point of the combination. One that was interrupted does not come.
func (c *combination) together(ctx context.Context, point string) error {
	if c.segments == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return c.segments.Barrier(ctx, point)
}

// giveUp notifies the other segments that this one cannot go on. That ends the run of all: what they have measured
// until then is no whole run.
func (c *combination) giveUp(ctx context.Context, why error) {
	if c.segments != nil {
		c.runner.gaveUp = true
		_ = c.segments.Fail(ctx, why) // the reason is in the results of this segment
	}
}
