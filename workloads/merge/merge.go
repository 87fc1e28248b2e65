// Package merge puts the results of a run's segments together, as if one load generator had
// executed the whole run.
//
// Histograms add up exactly, so every percentile is that of all operations together. Counts and
// costs add up, too. The verdict is judged again. A value that cannot be added is left out (the longest
// gap), or is that of the worst segment (processor time that a client lost).
package merge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// Source is the results of one segment.
type Source struct {
	Name string // its directory
	Run  *results.Run
	Log  io.Reader // its latency log
}

// Merged is the union of all segments.
type Merged struct {
	Run        *results.Run
	histograms map[string]*latency.Histogram // of all segments together, by their tags in the merged run
}

// ErrApart says that segments do not belong together, or that a part of them is missing.
var ErrApart = errors.New("segments cannot be merged")

// Open reads the results of segments from their folders, and puts them together.
func Open(dirs []string) (*Merged, error) {
	var sources []Source
	for _, dir := range dirs {
		r, err := results.Open(dir)
		if err != nil {
			return nil, err
		}
		log, err := results.OpenLog(dir, r)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		sources = append(sources, Source{Name: dir, Run: r, Log: log})
	}
	return Merge(sources)
}

// Await waits until every folder has results. A folder gets its name when its run has ended.
func Await(ctx context.Context, dirs []string, most time.Duration) error {
	waiting, done := context.WithTimeout(ctx, most)
	defer done()
	for _, dir := range dirs {
		for {
			if _, err := os.Stat(filepath.Join(dir, results.RunFile)); err == nil {
				break
			}
			select {
			case <-time.After(500 * time.Millisecond):
			case <-waiting.Done():
				return cmp.Or(ctx.Err(), fmt.Errorf("%s contains no results after %v", dir, most))
			}
		}
	}
	return nil
}

// Merge puts segments together, in any order. It reads each latency log once.
func Merge(sources []Source) (*Merged, error) {
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(a.Run.Segment.Index, b.Run.Segment.Index) })
	if err := belong(sources); err != nil {
		return nil, err
	}
	m := &Merged{Run: whole(sources), histograms: map[string]*latency.Histogram{}}
	for i := range sources {
		if err := m.read(&sources[i]); err != nil {
			return nil, err
		}
	}
	return m, m.cells(sources)
}

// whole is the merged run without its cells.
func whole(sources []Source) *results.Run {
	r := *sources[0].Run
	r.Format, r.Segment, r.Cells, r.Left, r.Segments = results.Format, results.Segment{Index: 1, Of: 1}, nil, nil, nil
	r.Phases = slices.Clone(r.Phases)
	for i := range r.Phases {
		p := &r.Phases[i]
		p.Digested, p.Trials = 0, slices.Clone(p.Trials)
		for _, s := range sources {
			p.Digested += s.Run.Phases[i].Digested
		}
		for trial := range p.Trials { // the digest of those of all segments
			h := sha256.New()
			for _, s := range sources {
				fmt.Fprintln(h, s.Run.Phases[i].Trials[trial])
			}
			p.Trials[trial] = hex.EncodeToString(h.Sum(nil))
		}
		if len(p.Trials) > 0 {
			p.SHA256 = p.Trials[0]
		}
	}
	r.Audits = audits(sources)
	for _, s := range sources {
		one := s.Run
		r.Segments = append(r.Segments, results.SegmentRun{
			Index: one.Segment.Index, Command: one.Command, Started: one.Started, Ended: one.Ended, Interrupted: one.Interrupted,
			Machine: one.Machine, Environment: one.Environment,
		})
		r.Started, r.Ended = min(r.Started, one.Started), max(r.Ended, one.Ended)
		r.Seconds = max(r.Seconds, one.Seconds)
		r.Interrupted = r.Interrupted || one.Interrupted
		for _, left := range one.Left {
			r.Left = append(r.Left, fmt.Sprintf("segment %d: %s", one.Segment.Index, left))
		}
		r.Mail = cmp.Or(r.Mail, one.Mail)
	}
	return &r
}

// cells merges each cell of the segments, and judges it again. Cells of steps of the run itself stay as they are.
func (m *Merged) cells(sources []Source) error {
	var all []*results.Cell
	var steps []results.Cell
	for _, s := range sources {
		for c := range s.Run.All {
			if c.Kind == results.KindStep {
				steps = append(steps, *c)
			} else {
				all = append(all, c)
			}
		}
	}
	for _, parts := range results.Grouped(all, func(c *results.Cell) results.Key { return union(c.Key) }) {
		have := len(results.Distinct(parts, func(c *results.Cell) int { return c.Segment }))
		if have != len(sources) || have != len(parts) {
			return fmt.Errorf("%w: %d of %d segments executed %s on %s, phase %s, trial %d, and have %d results of it; a segment "+
				"that was interrupted or could not go on cannot be merged", ErrApart, have, len(sources), parts[0].Model,
				parts[0].Engine, parts[0].Phase, parts[0].Trial, len(parts))
		}
		c := m.cell(parts)
		judge.Apply(&c, m.Run.Objectives)
		m.Run.Cells = append(m.Run.Cells, c)
	}
	m.Run.Cells = append(m.Run.Cells, steps...)
	return nil
}

// union is the key that a segment's cell has in the merged run.
func union(k results.Key) results.Key {
	k.Segment = 1
	return k
}

// read adds a segment's latency log. One that misses times of operations is an error.
func (m *Merged) read(s *Source) error {
	tags := map[string]string{} // begins of the tags of a cell in the log, and in the merged run
	for c := range s.Run.All {
		tags[c.Key.String()] = union(c.Key).String()
	}
	own, err := latency.ReadLog(s.Log, func(tag string) (string, bool) {
		kind := strings.LastIndexByte(tag, '/')
		op := strings.LastIndexByte(tag[:max(0, kind)], '/')
		cell, ok := tags[tag[:max(0, op)]]
		return cell + tag[max(0, op):], ok
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	for c := range s.Run.All {
		for name, o := range logged(c) {
			times := map[latency.Kind]int64{latency.Service: o.Count, latency.Rest: o.NotFound + o.Failed + o.Unknown}
			if o.Latency != nil { // results of mailbench 0.1 have none
				times[latency.Latency] = o.Count
			}
			if c.Rate > 0 { // an open loop
				times[latency.Response], times[latency.Wait] = o.Count, o.Count
			}
			for kind, n := range times {
				if found := own[union(c.Key).Tag(name, kind.String())].Count(); found != n {
					return fmt.Errorf("%w: the latency log of %s has %d of the %d times %q of %s of %s; without the others "+
						"there are no percentiles of all segments together", ErrApart, s.Name, found, n, kind, name, c.Key)
				}
			}
		}
	}
	for tag, h := range own {
		if m.histograms[tag] == nil {
			m.histograms[tag] = h
		} else {
			m.histograms[tag].Add(h)
		}
	}
	return nil
}

// logged are the operations of a cell and of its streams, by their names in the latency log.
func logged(c *results.Cell) map[string]results.Op {
	ops := map[string]results.Op{}
	maps.Copy(ops, c.Ops)
	for i := range c.Streams {
		s := &c.Streams[i]
		for op, o := range s.Ops {
			ops[c.Tagged(s, op)] = o
		}
	}
	return ops
}

// WriteLog writes the latency log of the merged run: one line for each tag, for the whole phase.
func (m *Merged) WriteLog(w io.Writer) error {
	log, err := latency.NewLog(w, stamp(m.Run.Started))
	if err != nil {
		return err
	}
	tags := slices.Sorted(maps.Keys(m.histograms))
	for c := range m.Run.All {
		for _, tag := range tags {
			if strings.HasPrefix(tag, c.Key.String()+"/") {
				log.WriteOne(tag, m.histograms[tag], stamp(c.Started), stamp(c.Ended))
			}
		}
	}
	return log.Flush()
}

// belong refuses sources that are not all segments of one run, each of them once. The error
// names what differs.
func belong(sources []Source) error {
	first, have := &sources[0], map[int]string{}
	want := facts(first.Run)
	for _, s := range sources {
		i, of, is := s.Run.Segment.Index, s.Run.Segment.Of, facts(s.Run)
		var d []string
		for _, w := range want {
			at := slices.IndexFunc(is, func(f fact) bool { return f.what == w.what })
			if at >= 0 && is[at].value != w.value {
				d = append(d, fmt.Sprintf("%s (%s and %s)", w.what, strings.Trim(w.value, `"`), strings.Trim(is[at].value, `"`)))
			}
		}
		switch {
		case len(s.Run.Segments) > 0:
			return fmt.Errorf("%w: %s is a merged run already", ErrApart, s.Name)
		case of < 2:
			return fmt.Errorf("%w: %s is a complete run, not a segment", ErrApart, s.Name)
		case len(d) > 0:
			return fmt.Errorf("%w: %s and %s are not segments of one run: they differ in %s", ErrApart, first.Name,
				s.Name, strings.Join(d, "; "))
		case i < 1 || i > of:
			return fmt.Errorf("%w: %s is segment %d of %d", ErrApart, s.Name, i, of)
		case have[i] != "":
			return fmt.Errorf("%w: segment %d of %d is there twice: %s and %s", ErrApart, i, of, have[i], s.Name)
		}
		have[i] = s.Name
	}
	for i := range first.Run.Segment.Of {
		if have[i+1] == "" {
			return fmt.Errorf("%w: %d segments in all, %d given; missing: %d", ErrApart, first.Run.Segment.Of, len(have), i+1)
		}
	}
	return nil
}

// fact is something that is the same in all segments of a run, as JSON.
type fact struct{ what, value string }

// facts are those that say most first. Contact points may differ: segments may name different nodes of one cluster.
func facts(r *results.Run) (all []fact) {
	add := func(what string, value any) {
		text, _ := json.Marshal(value) // these are plain values
		all = append(all, fact{what, string(text)})
	}
	settings := maps.Clone(r.Settings)
	maps.DeleteFunc(settings, func(name, _ string) bool { return strings.HasSuffix(name, ".contact") })
	var phases []string // with how many trials have a digest
	for _, p := range r.Phases {
		phases = append(phases, fmt.Sprintf("%s with %d trials", p.Name, len(p.Trials)))
	}
	add("the number of segments", r.Segment.Of)
	add("the start", r.Segment.Start)
	add("the workload", r.Workload.Name+" "+r.Workload.SHA256)
	add("the seed", r.Seed)
	add("the version of mailbench", r.Environment.Version+" "+r.Environment.Commit)
	add("changes of mailbench's source", r.Environment.Dirty)
	add("models, engines or flags", r.Config)
	add("settings of engines", settings)
	add("the objectives", r.Objectives)
	add("the phases", phases)
	for _, s := range r.Schemas {
		add("the schema of "+s.Model, s.SHA256)
	}
	if r.Mail != nil {
		add("the mail file", r.Mail.SHA256)
	}
	return all
}

// audits adds up what the segments' audits found. Each audit compared the segment's own ledger with
// the store. The model's own audit read the whole store, also if segments have it in common.
func audits(sources []Source) []results.Audit {
	var all []results.Audit
	for _, s := range sources {
		for _, a := range s.Run.Audits {
			at := slices.IndexFunc(all, func(have results.Audit) bool {
				return have.Model == a.Model && have.Engine == a.Engine && have.Trial == a.Trial
			})
			if at < 0 {
				all = append(all, a)
				all[len(all)-1].Notes, all[len(all)-1].Segment = slices.Clone(a.Notes), 1
				continue
			}
			common := slices.ContainsFunc(s.Run.Cells, func(c results.Cell) bool { // segments have one store
				return c.Engine == a.Engine && c.Evidence != nil && c.Kind == results.KindLoad && !c.Evidence.InProcess
			})
			all[at].Add(&a, common)
		}
	}
	return all
}
