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
	"strconv"
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
	histograms histograms
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

// waitEvery is how often Await looks for results.
const waitEvery = 500 * time.Millisecond

// Await waits until every folder has results, and notes each folder that it waits for. A folder gets its name when its
// run has ended.
func Await(ctx context.Context, dirs []string, most time.Duration, note func(dir string)) error {
	end, again := time.After(most), time.NewTicker(waitEvery)
	defer again.Stop()
	for _, dir := range dirs {
		for noted := false; ; noted = true {
			if _, err := os.Stat(filepath.Join(dir, results.RunFile)); err == nil {
				break
			}
			if !noted {
				note(dir)
			}
			select {
			case <-again.C:
			case <-end:
				return fmt.Errorf("%s contains no results after %v", dir, most)
			case <-ctx.Done():
				return ctx.Err()
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
	m := &Merged{Run: whole(sources), histograms: histograms{}}
	for i := range sources {
		if err := m.histograms.add(&sources[i]); err != nil {
			return nil, err
		}
	}
	if err := m.cells(sources); err != nil {
		return nil, err
	}
	return m, nil
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
		if len(r.Schemas) < len(one.Schemas) {
			r.Schemas = one.Schemas
		}
		r.Mail = cmp.Or(r.Mail, one.Mail)
	}
	return &r
}

// cells merges each cell of the segments, and judges it again.
func (m *Merged) cells(sources []Source) error {
	var all []*results.Cell
	for _, s := range sources {
		seen := map[results.Key]bool{}
		for c := range s.Run.All {
			switch {
			case c.Kind == results.KindStep:
				m.Run.Cells = append(m.Run.Cells, *c)
				continue
			case seen[union(c.Key)]:
				return fmt.Errorf("%w: %s has the result %s twice", ErrApart, s.Name, c.Key)
			}
			seen[union(c.Key)], all = true, append(all, c)
		}
	}
	var cells []results.Cell
	for _, parts := range results.Grouped(all, func(c *results.Cell) results.Key { return union(c.Key) }) {
		if k := parts[0].Key; len(parts) != len(sources) {
			var segments []string
			for _, c := range parts {
				segments = append(segments, strconv.Itoa(c.Segment))
			}
			return fmt.Errorf("%w: only %s of %d segments executed %s on %s, phase %s, trial %d; a segment that was "+
				"interrupted or could not go on cannot be merged",
				ErrApart, strings.Join(segments, ", "), len(sources), k.Model, k.Engine, k.Phase, k.Trial)
		}
		c := m.cell(parts)
		judge.Apply(&c, m.Run.Objectives)
		cells = append(cells, c)
	}
	m.Run.Cells = append(cells, m.Run.Cells...)
	return nil
}

// union is the key that a segment's cell has in the merged run.
func union(k results.Key) results.Key {
	k.Segment = 1
	return k
}

// histograms are the sums of the histograms of all segments, by their tags in the merged run.
type histograms map[string]*latency.Histogram

// add adds a segment's latency log. It is an error if the log misses operations of the segment.
func (all histograms) add(s *Source) error {
	tags := map[string]string{}
	for c := range s.Run.All {
		for _, t := range recorded(c) {
			tags[c.Tag(t.op, t.kind)] = union(c.Key).Tag(t.op, t.kind)
		}
	}
	own, err := latency.ReadLog(s.Log, func(tag string) (string, bool) { return tag, tags[tag] != "" })
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	for c := range s.Run.All {
		for _, t := range recorded(c) {
			if found := own[c.Tag(t.op, t.kind)].Count(); t.known && found != t.count {
				return fmt.Errorf("%w: the latency log of %s has %d of the %d times %q of %s of %s; without the others "+
					"there are no percentiles of all segments together", ErrApart, s.Name, found, t.count, t.kind, t.op, c.Key)
			}
		}
	}
	for tag, h := range own {
		if sum := all[tags[tag]]; sum != nil {
			sum.Add(h)
		} else {
			all[tags[tag]] = h
		}
	}
	return nil
}

// times are those of one kind of an operation in a latency log.
type times struct {
	op, kind string
	count    int64 // how many the log must have
	known    bool  // if not, it may have any number
}

// recorded are the times that the latency log may have of a cell and of its streams.
func recorded(c *results.Cell) (all []times) {
	ops := map[string]results.Op{} // by their names in the log
	maps.Copy(ops, c.Ops)
	for i := range c.Streams {
		s := &c.Streams[i]
		for op, o := range s.Ops {
			ops[c.Tagged(s, op)] = o
		}
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		o := ops[op]
		counts := map[latency.Kind]int64{
			latency.Service: o.Count, latency.FailedAfter: o.Failed, latency.UnknownAfter: o.Unknown,
			latency.Rest: o.NotFound + o.Failed + o.Unknown,
		}
		if c.Arrivals != "closed" && c.Arrivals != "none" {
			counts[latency.Response], counts[latency.Wait] = o.Count, o.Count
		}
		if o.Latency != nil {
			counts[latency.Latency] = o.Count
		}
		for k := range latency.Kind(latency.NumKinds) {
			count, known := counts[k]
			all = append(all, times{op, k.String(), count, known})
		}
	}
	return append(all, times{op: "client", kind: "hiccup"})
}

// WriteLog writes the latency log of the merged run: one line for each tag, for the whole phase.
func (m *Merged) WriteLog(w io.Writer) error {
	log, err := latency.NewLog(w, stamp(m.Run.Started))
	if err != nil {
		return err
	}
	for c := range m.Run.All {
		if c.Kind == results.KindStep {
			continue
		}
		for _, t := range recorded(c) {
			if h := m.histograms[c.Tag(t.op, t.kind)]; h.Count() > 0 {
				log.WriteOne(c.Tag(t.op, t.kind), h, stamp(c.Started), stamp(c.Ended))
			}
		}
	}
	return log.Flush()
}

// namedMost is how many missing segments an error names.
const namedMost = 10

// belong refuses sources that are not all segments of one run, each of them once. The error
// names what differs.
func belong(sources []Source) error {
	if len(sources) == 0 {
		return fmt.Errorf("%w: no segments", ErrApart)
	}
	first := &sources[0]
	for _, s := range sources {
		times := []string{s.Run.Started, cmp.Or(s.Run.Ended, s.Run.Started)}
		for c := range s.Run.All {
			if c.Started+c.Ended != "" || len(c.Timeline) > 0 {
				times = append(times, c.Started, cmp.Or(c.Ended, c.Started))
			}
		}
		early := slices.IndexFunc(times, func(text string) bool { return stamp(text).Unix() < 0 })
		d := differences(first.Run, s.Run)
		switch {
		case len(s.Run.Segments) > 0:
			return fmt.Errorf("%w: %s is a merged run already", ErrApart, s.Name)
		case s.Run.Segment.Of < 2:
			return fmt.Errorf("%w: %s is a complete run, not a segment", ErrApart, s.Name)
		case s.Run.Workload.Text == "":
			return fmt.Errorf("%w: %s is a verification without a run", ErrApart, s.Name)
		case early >= 0: // the latency log counts from 1970
			return fmt.Errorf("%w: %s has the time %.40q; expected one from 1970 on", ErrApart, s.Name, times[early])
		case len(d) > 0:
			return fmt.Errorf("%w: %s and %s are not segments of one run: they differ in %s", ErrApart, first.Name,
				s.Name, strings.Join(d, "; "))
		}
	}
	of := first.Run.Segment.Of
	have := map[int]string{}
	for _, s := range sources {
		switch i := s.Run.Segment.Index; {
		case i < 1 || i > of:
			return fmt.Errorf("%w: %s is segment %d of %d", ErrApart, s.Name, i, of)
		case have[i] != "":
			return fmt.Errorf("%w: segment %d of %d is there twice: %s and %s", ErrApart, i, of, have[i], s.Name)
		default:
			have[i] = s.Name
		}
	}
	var missing []string
	for i := 1; i <= of && len(missing) <= namedMost; i++ {
		if have[i] == "" {
			missing = append(missing, strconv.Itoa(i))
		}
	}
	if len(missing) > namedMost {
		missing[namedMost] = "…"
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %d segments in all, %d given; missing: %s", ErrApart, of,
			len(have), strings.Join(missing, ", "))
	}
	return nil
}

// differences are the ways in which two runs cannot be segments of one.
func differences(a, b *results.Run) []string {
	var found []string
	differ := func(what string, a, b any) {
		if x, y := asJSON(a), asJSON(b); x != y {
			found = append(found, fmt.Sprintf("%s (%s and %s)", what, x, y))
		}
	}
	differ("the number of segments", a.Segment.Of, b.Segment.Of)
	differ("the start", a.Segment.Start, b.Segment.Start)
	differ("the workload", a.Workload.Name+" "+a.Workload.SHA256, b.Workload.Name+" "+b.Workload.SHA256)
	differ("the seed", a.Seed, b.Seed)
	differ("the version of mailbench", version(a), version(b))
	differ("models, engines or flags", a.Config, b.Config)
	differ("settings of engines", settings(a), settings(b))
	differ("the objectives", a.Objectives, b.Objectives)
	differ("the phases", phases(a), phases(b))
	schemas := map[string]string{}
	for _, s := range a.Schemas {
		schemas[s.Model] = s.SHA256
	}
	for _, s := range b.Schemas {
		if was, ok := schemas[s.Model]; ok {
			differ("the schema of "+s.Model, was, s.SHA256)
		}
	}
	if a.Mail != nil && b.Mail != nil {
		differ("the mail file", a.Mail.SHA256, b.Mail.SHA256)
	}
	return found
}

func version(r *results.Run) string {
	e := r.Environment
	v := e.Version + " " + e.Commit
	if e.Dirty {
		v += " with changes"
	}
	return v
}

// phases are the names of the phases, and how many trials have a digest.
func phases(r *results.Run) (all []string) {
	for _, p := range r.Phases {
		all = append(all, fmt.Sprintf("%s with %d trials", p.Name, len(p.Trials)))
	}
	return all
}

// settings are the settings that must be the same. Contact points may differ: segments may name
// different nodes of one cluster.
func settings(r *results.Run) map[string]string {
	all := maps.Clone(r.Settings)
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasSuffix(name, ".contact") })
	return all
}

// asJSON writes a value as JSON, without quotes at its ends.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(b), `"`)
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
