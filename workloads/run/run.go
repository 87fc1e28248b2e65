// Package run executes a workload: for each model on each engine, in each trial,
// it opens a target, loads it, lets it settle, warms it up and measures, and puts
// all that was seen into a results.Run. Package judge then says whether the figures
// can be used.
//
// # A deterministic run
//
// The seed alone decides what an operation is and when it is scheduled. The existing message
// that it finds depends on what other workers have done before. A workload is
// deterministic if it has one loader (load: {clients: 1}), a warm-up of a fixed
// number of operations (warmup: {operations: N}) and one client (measure:
// {clients: 1, operations: N}). Two runs of it make the same calls on the same
// messages, and count the same calls, rows and bytes.
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
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Run executes the workload with each model on each engine and returns what
// was found. A cell that fails is in the result with its reason, and the others
// go on. When ctx ends, what was measured until then is returned, marked as
// interrupted. If the result is nil, the error says why no cell could begin: a data
// folder that cannot be used, an engine that cannot be reached, a mail file that cannot
// be read. With a result, the error is that of the latency log, which is cut off there.
func Run(ctx context.Context, c Config) (result *results.Run, err error) {
	r := runner{config: &c, warm: map[string]bool{}}
	if err := c.Check(); err != nil {
		return nil, err
	}
	if r.data, err = openDataDir(c.DataDir); err != nil {
		return nil, err
	}
	defer func() {
		if left := r.data.close(); left != nil && result != nil {
			result.Left = append(result.Left, fmt.Sprintf("data folder %s: %v", r.data.path, left))
		} else {
			err = errors.Join(err, left)
		}
	}()
	defer drive.EndRun()
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	open := map[string]*combination{} // by folder: those whose stores are loaded, for a later trial
	for i, t := range r.tasks {       // if one cannot be executed, the next one loads its data set again
		if ctx.Err() != nil || r.gaveUp {
			break
		}
		r.at = Progress{
			Model: t.model.Name, Engine: t.engine.Name, Point: t.at.value, Trial: t.trial, Trials: c.trials(),
			Combination: i + 1, Combinations: len(r.tasks),
		}
		one := cmp.Or(open[t.dir], &combination{runner: &r, segments: r.segments[t.engine.Name]})
		one.task = t
		if one.run(ctx) {
			open[t.dir] = one
		} else {
			delete(open, t.dir)
		}
		r.save()
	}
	for _, dir := range slices.Sorted(maps.Keys(open)) { // the run ended early
		open[dir].close(ctx)
	}
	if c.Audit == AuditOnly && len(r.result.Audits)+len(r.result.Cells) == 0 && ctx.Err() == nil {
		return nil, fmt.Errorf("nothing to verify in %s: it has no dataset of these models and engines", r.data.path)
	}
	r.leave(ctx)
	if info := r.points[0].source.Info(); info.File != "" {
		r.result.Mail = &results.MailInfo{
			File: info.File, Messages: info.Messages, Bytes: info.Bytes, Malformed: info.Malformed, SHA256: info.SHA256,
			Notes: info.Notes.Lines(),
		}
	}
	r.end(r.result, ctx.Err() != nil)
	return r.result, r.log.Flush()
}

// begin checks that the run can be executed, before anything is loaded: its plan, its disk and memory, its engines
// and its other segments.
func (r *runner) begin(ctx context.Context) (err error) {
	c := r.config
	if r.points, err = c.points(ctx); err != nil {
		return err
	}
	var p *Plan
	if c.Audit == AuditOnly {
		r.tasks, err = r.leftover()
	} else if p, err = c.plan(ctx, r.points, r.data.path, freeBytes(r.data.path)); err == nil {
		r.tasks, r.left.each, err = p.tasks, p.each, p.check()
	}
	if err != nil {
		return err
	}
	r.started = time.Now()
	if r.result, err = r.provenance(ctx, r.started); err != nil {
		return err
	}
	if err = r.sweep(ctx); err != nil {
		return err
	}
	if err = r.fits(r.result.Environment.Memory); err != nil {
		return err
	}
	if c.LatencyLog != nil && c.Audit != AuditOnly {
		if r.log, err = latency.NewLog(c.LatencyLog, r.started); err != nil {
			return err
		}
	}
	for _, e := range c.Engines { // before the first one spends time on its load
		if !e.Remote {
			continue
		}
		s, err := subject.Reach(ctx, e, c.Workload, c.EngineOptions)
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return fmt.Errorf("close %s: %w", e.Name, err)
		}
	}
	return r.meet(ctx)
}

// fits refuses a population that does not fit into three quarters of the machine's memory
// (0: not known), before anything is made.
func (r *runner) fits(memory int64) error {
	for i := range r.points {
		census := r.points[i].census
		if need := census.Bytes(); memory > 0 && need > memory/4*3 && r.config.Audit != AuditOnly {
			return fmt.Errorf("%w: %d folders and %d messages in all need about %s of memory, and this machine has %s; "+
				"make it smaller",
				workloads.ErrPopulation, census.Folders(), census.Messages(),
				words.Size(float64(need)), words.Size(float64(memory)))
		}
	}
	return nil
}

// end enters the end of the run, which is now, into the result.
func (r *runner) end(result *results.Run, interrupted bool) {
	if s := result.Sweep; s != nil {
		s = &results.Sweep{Path: s.Path, Points: s.Points}
		s.Growth, result.Sweep = trials.Growths(result), s
	}
	took := time.Since(r.started) // by the monotonic clock: the other may be set while a run lasts
	result.Ended = r.started.Add(took).UTC().Format(time.RFC3339)
	result.Seconds = took.Seconds()
	result.Interrupted = interrupted
}

// save hands out what was measured so far.
func (r *runner) save() {
	if r.config.Save == nil {
		return
	}
	_ = r.log.Flush() // Run returns the error at the end
	soFar := *r.result
	r.end(&soFar, true)
	r.config.Save(&soFar)
}

// runner is one run.
type runner struct {
	config *Config
	data   *dataDir
	points []point
	tasks  []task
	log    *latency.Log // if it has an error, the run goes on without it
	result *results.Run

	started  time.Time
	at       Progress                  // the combination under way
	segments map[string]*meet.Segments // segments that load an engine together, by engine
	gaveUp   bool                      // a segment cannot go on, and ends the run of all
	left     timeLeft
	warm     map[string]bool // models on engines that a warm-up of a sweep has run
}

// namespace is a name that all segments of a run compute alike and that no other run has. The
// argument what distinguishes the namespaces of one run.
func (c *Config) namespace(what string) string {
	id := fmt.Sprintf("%s %d %d %s %s", c.Start.UTC().Format(time.RFC3339Nano), c.Segment.Of, c.Workload.Seed,
		subject.Digest(c.Workload.Source), what)
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:16]
}

// meet waits for the start of the run and joins the other segments. Segments of one run are processes of their own, on
// as many machines. If they load one engine together, they begin each phase together (package meet). An embedded engine
// is each segment's own: such segments only begin the run at the same time.
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
		store, err := subject.Reach(ctx, e, c.Workload, drivers.Options{Namespace: c.namespace("segments")})
		s := &meet.Segments{Segment: c.Segment, Timeout: cmp.Or(c.SegmentTimeout, meet.UsualTimeout), Waits: r.note}
		if err == nil {
			err = s.Join(ctx, store)
		}
		if err != nil {
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
	return errors.Join(errs...)
}

// note hands on what a phase found, in a few words.
func (r *runner) note(text string) {
	if r.config.Progress != nil {
		p := r.at
		p.Note = text
		r.config.Progress(p)
	}
}

// progress adds the combination and the time left to the progress of a phase, and hands it on.
func (r *runner) progress(phase string, d drive.Progress) {
	if r.config.Progress != nil {
		p := r.at
		p.Phase, p.Progress = phase, d
		r.left.note(&p, time.Since(r.started))
		r.config.Progress(p)
	}
}
