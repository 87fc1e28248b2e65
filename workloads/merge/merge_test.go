package merge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/merge"
	"github.com/mailbench/mailbench/workloads/results"
)

const started = "2026-11-22T10:00:00Z"

// segment is the record of one load generator, of one operation in one phase.
type segment struct {
	recorder *latency.Recorder
	calls    []float64 // of each operation that was ok
	dropped  int64
}

func newSegment() *segment { return &segment{recorder: latency.NewRecorder(1, 1, true)} }

// record records what both a segment and the load generator of the whole run see.
func record(r *rand.Rand, to ...*segment) {
	due := time.Duration(r.Int64N(1e9))
	start := due + time.Duration(r.ExpFloat64()*1e5)
	end := start + time.Duration(math.Exp(14+2*r.NormFloat64()))
	out, delayed := latency.OK, r.IntN(50) == 0
	if r.IntN(100) == 0 {
		out = latency.Unknown
	}
	drop, queued, calls := r.IntN(2000) == 0, r.IntN(10) == 0, float64(1+r.IntN(5))
	for _, s := range to {
		w := s.recorder.Worker(0)
		if drop {
			w.Record(0, latency.Dropped, false, 0, 0, 0, 0)
			s.dropped++
			continue
		}
		delay := time.Duration(0)
		if delayed {
			delay = start - due
		}
		w.Record(0, out, queued, due, start, end, delay)
		if out == latency.OK {
			s.calls = append(s.calls, calls)
		}
	}
}

// source is the segment's results.
func (s *segment) source(t *testing.T, index, of int) merge.Source {
	t.Helper()
	key := results.Key{Model: "james", Engine: "cassandra", Phase: "measure", Trial: 1, Segment: index}
	var log bytes.Buffer
	l, err := latency.NewLog(&log, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"list", "readers:list"} // of two streams that both list, one has all operations
	ticked := s.recorder.Tick()
	l.Write(key.Tag, names, []latency.Op{ticked[0], ticked[0]}, time.Unix(0, 0), time.Unix(1, 0))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	total := &s.recorder.Total[0]
	n := float64(len(s.calls))
	mean, squares := 0.0, 0.0
	for _, c := range s.calls {
		mean += c / n
	}
	for _, c := range s.calls {
		squares += (c - mean) * (c - mean)
	}
	o := results.Op{
		Count: total.Counts[latency.OK], Unknown: total.Counts[latency.Unknown], Dropped: s.dropped, Support: results.Native, Rate: n,
		Store: results.StoreCost{Requests: mean, RequestsDeviation: math.Sqrt(squares / (n - 1))},
	}
	all, quantiles := results.TimesOf(total)
	o.Times, o.Quantiles = all, quantiles
	cell := results.Cell{
		Key: key, Kind: results.KindMeasure, Arrivals: "poisson", Rate: 2000, Started: started, Ended: "2026-11-22T10:00:01Z", Seconds: 1,
		Offered: &results.Offered{Due: o.Count + o.Unknown + o.Dropped, Dropped: o.Dropped, Span: 1, Rate: 100, Achieved: 90},
		Ops:     map[string]results.Op{"list": o}, AllOps: &all,
		Client:   &results.ClientInfo{Workers: 3, Processors: 2, Capacity: 2},
		Evidence: &results.Evidence{Settled: true, Warm: true, Started: o.Count, Delays: &results.Delays{Dropped: 1}, Hiccups: &results.Hiccups{}},
	}
	cell.Streams = []results.Stream{
		{
			Name: "readers", Arrivals: "poisson", Rate: 2000, Offered: *cell.Offered, AllOps: cell.AllOps,
			Ops: cell.Ops,
		},
		{Name: "none", Arrivals: "poisson", AllOps: &results.Times{}, Ops: map[string]results.Op{"list": {}}},
	}
	judge.Apply(&cell, nil)
	r := &results.Run{
		Format: results.Format, Seed: 1, Workload: results.Workload{Name: "w", Text: "name: w", SHA256: "aa"}, Started: started,
		Segment: results.Segment{Index: index, Of: of, Start: started}, Environment: results.Environment{Version: "1.0", Commit: "abc"},
		Settings: map[string]string{"cassandra.contact": fmt.Sprintf("node%d", index)}, Config: results.Config{Models: []string{"james"}, Engines: []string{"cassandra"}},
		Schemas: []results.Schema{{Model: "james", SHA256: "bb"}},
		Phases:  []results.Phase{{Name: "measure", Kind: "measure", Digested: 10, SHA256: fmt.Sprint(index), Trials: []string{fmt.Sprint(index)}}},
		Cells:   []results.Cell{cell},
	}
	return merge.Source{Name: fmt.Sprintf("results/%d", index), Run: r, Log: &log}
}

// Every value of the union of segments is that of one load generator that recorded the
// same: percentiles, those of all scheduled operations, costs and their deviations.
func TestUnionIsExact(t *testing.T) {
	const of = 4
	random := rand.New(rand.NewPCG(1, 2))
	all := newSegment()
	segments := make([]*segment, of)
	for i := range segments {
		segments[i] = newSegment()
	}
	for range 40_000 {
		record(random, all, segments[random.IntN(of)*random.IntN(of)/of]) // not evenly
	}
	var sources []merge.Source
	for i, s := range segments {
		sources = append(sources, s.source(t, i+1, of))
	}
	slices.Reverse(sources)
	merged, err := merge.Merge(sources)
	if err != nil {
		t.Fatal(err)
	}
	want := all.source(t, 1, of).Run.Cells[0]
	got := merged.Run.Cells[0]
	a, b := got.Ops["list"], want.Ops["list"]
	if math.Abs(a.Store.RequestsDeviation/b.Store.RequestsDeviation-1) > 1e-9 || math.Abs(a.Store.Requests/b.Store.Requests-1) > 1e-9 {
		t.Errorf("costs are %+v; expected %+v", a.Store, b.Store)
	}
	a.Store, b.Store = results.StoreCost{}, results.StoreCost{}
	if b.Due == nil || b.Latency == nil || *b.Latency == b.Response || b.Dropped == 0 {
		t.Fatalf("the operations of this test are too simple: %+v", b)
	}
	if d := cmp.Diff(b, a); d != "" {
		t.Errorf("the union of the segments (+) is not what one load generator records (-):\n%s", d)
	}
	streams := map[string]*results.Stream{"-": &want.Streams[0], "+": &got.Streams[0]}
	if o := streams["+"].Offered; o.Rate != 100*of || o.Due != want.Offered.Due || len(got.Streams) != 2 {
		t.Errorf("the streams of the union: %+v", got.Streams)
	}
	for _, s := range streams {
		o := s.Ops["list"]
		o.Store = results.StoreCost{}
		s.Ops = map[string]results.Op{"list": o}
		s.Offered = results.Offered{}
	}
	if d := cmp.Diff(streams["-"], streams["+"]); d != "" {
		t.Errorf("a stream of the union:\n%s", d)
	}
	if d := cmp.Diff(want.AllOps, got.AllOps); d != "" {
		t.Errorf("all operations:\n%s", d)
	}
	if d := got.Evidence.Delays; d.Dropped != of {
		t.Errorf("delays: %+v", d)
	}
	if o := got.Offered; o.Rate != 100*of || o.Achieved != 90*of || o.Due != want.Offered.Due || got.Client.Workers != 3*of {
		t.Errorf("offered %+v, %d workers", o, got.Client.Workers)
	}
	if r := merged.Run; r.Segment.Of != 1 || len(r.Segments) != of {
		t.Errorf("the union is segment %+v of %d", r.Segment, len(r.Segments))
	}

	// Judged again, the union gets the same verdict, and its log has its percentiles.
	again := got
	judge.Apply(&again, nil)
	if d := cmp.Diff(got, again); d != "" {
		t.Errorf("judged again:\n%s", d)
	}
	var log bytes.Buffer
	if err := merged.WriteLog(&log); err != nil {
		t.Fatal(err)
	}
	logged, err := latency.ReadLog(&log, func(tag string) (string, bool) { return tag, true })
	if err != nil {
		t.Fatal(err)
	}
	if l := results.LatencyOf(logged[got.Tag("list", "response")], 0); l != got.Ops["list"].Response {
		t.Errorf("the log of the union has %+v; its cell %+v", l, got.Ops["list"].Response)
	}
}

// Segments that do not belong together are refused, with the difference.
func TestRefused(t *testing.T) {
	var runs [3][]byte
	var logs [3]string
	for i := range runs {
		s := newSegment()
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for range 20 {
			record(random, s)
		}
		one := s.source(t, i+1, 3)
		var err error
		if runs[i], err = json.Marshal(one.Run); err != nil {
			t.Fatal(err)
		}
		logs[i] = one.Log.(*bytes.Buffer).String()
	}
	three := func() []merge.Source {
		var sources []merge.Source
		for i := range runs {
			s := merge.Source{Name: fmt.Sprintf("results/%d", i+1), Run: new(results.Run), Log: strings.NewReader(logs[i])}
			if err := json.Unmarshal(runs[i], s.Run); err != nil {
				t.Fatal(err)
			}
			sources = append(sources, s)
		}
		return sources
	}
	for _, c := range []struct {
		change func(s []merge.Source) []merge.Source
		text   string
	}{
		{func(s []merge.Source) []merge.Source { return s[:2] }, "3 segments in all, 2 given; missing: 3"},
		{func(s []merge.Source) []merge.Source { return s[1:2] }, "missing: 1"},
		{func(s []merge.Source) []merge.Source { return append(s, three()[1]) }, "segment 2 of 3 is there twice: results/2 and results/2"},
		{func(s []merge.Source) []merge.Source { s[1].Run.Seed = 7; return s }, "results/1 and results/2 are not segments of one run: they differ in the seed (1 and 7)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Workload.SHA256 = "cc"; return s }, "the workload (w aa and w cc)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Environment.Commit = "def"; return s }, "the version of mailbench (1.0 abc and 1.0 def)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Environment.Dirty = true; return s }, "source (false and true)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Schemas[0].SHA256 = "x"; return s }, "the schema of james (bb and x)"},
		{func(s []merge.Source) []merge.Source {
			s[0].Run.Mail, s[2].Run.Mail = &results.MailInfo{SHA256: "x"}, &results.MailInfo{SHA256: "y"}
			return s
		}, "the mail file (x and y)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Segment.Start = "2026-11-22T11:00:00Z"; return s }, "the start (2026-11-22T10:00:00Z and 2026-11-22T11:00:00Z)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Segment.Of = 4; return s }, "the number of segments (3 and 4)"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Config.Trials = 2; return s }, "models, engines or flags"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Settings["cassandra.consistency"] = "ONE"; return s }, "settings of engines"},
		{func(s []merge.Source) []merge.Source {
			s[2].Run.Segment = results.Segment{Index: 1, Of: 1}
			return s[2:]
		}, "results/3 is a complete run, not a segment"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Cells = nil; return s }, "2 of 3 segments executed james on cassandra, phase measure, trial 1"},
		{func(s []merge.Source) []merge.Source { s[2].Log = three()[0].Log; return s }, "the latency log of results/3 has 0 of the"},
		{func(s []merge.Source) []merge.Source {
			s[2].Run.Cells, s[1].Run.Cells = nil, append(s[1].Run.Cells, s[1].Run.Cells...)
			return s
		}, "2 of 3 segments executed james on cassandra, phase measure, trial 1, and have 3 results of it"},
		{func(s []merge.Source) []merge.Source { s[2].Log = without(t, s[2].Log, "/service"); return s }, `times "service" of`},
		{func(s []merge.Source) []merge.Source { s[2].Log = without(t, s[2].Log, "/latency"); return s }, `times "latency" of`},
		{func(s []merge.Source) []merge.Source { s[2].Log = without(t, s[2].Log, "/response"); return s }, `times "response" of`},
		{func(s []merge.Source) []merge.Source { s[2].Log = without(t, s[2].Log, "/lag"); return s }, `times "lag" of`},
		// Results that no mailbench writes.
		{func(s []merge.Source) []merge.Source {
			for i := range s {
				s[i].Run.Segment.Of = math.MaxInt
			}
			return s
		}, "segments in all, 3 given; missing: 4"},
		{func(s []merge.Source) []merge.Source { s[1].Run.Segment.Index = 9; return s }, "results/2 is segment 9 of 3"},
		{func(s []merge.Source) []merge.Source { s[2].Run.Phases = nil; return s }, "the phases"},
		{func(s []merge.Source) []merge.Source { s[1].Run.Phases[0].Trials = nil; return s }, "the phases"},
	} {
		_, err := merge.Merge(c.change(three()))
		if !errors.Is(err, merge.ErrApart) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("error %v; expected %q", err, c.text)
		}
	}
	if _, err := merge.Merge(three()); err != nil {
		t.Errorf("three segments of one run: %v", err)
	}
}

// without is a latency log without the first line of a kind of times.
func without(t *testing.T, log io.Reader, kind string) io.Reader {
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, kind+",") })
	if at < 0 {
		t.Fatalf("the log has no line of %s", kind)
	}
	return strings.NewReader(strings.Join(slices.Delete(lines, at, at+1), ""))
}

// segments are all segments of a run, which a test may change.
func segments(t *testing.T, of int) []merge.Source {
	t.Helper()
	var sources []merge.Source
	for i := range of {
		s := newSegment()
		record(rand.New(rand.NewPCG(uint64(i), 1)), s)
		sources = append(sources, s.source(t, i+1, of))
	}
	return sources
}

// Intervals of a segment that began later count at the time at which they were, and not from the
// start of their own segment.
func TestTimelines(t *testing.T) {
	sources := segments(t, 2)
	for i, counts := range [][]int64{{1, 2, 3}, {10, 20, 40}} {
		c := &sources[i].Run.Cells[0]
		for at, n := range counts {
			c.Timeline = append(c.Timeline, results.Interval{At: float64(at), Seconds: 1, OK: n, P50: 5, P99: 7, Max: 9})
		}
	}
	sources[1].Run.Cells[0].Started = "2026-11-22T10:00:01.1Z"
	merged, err := merge.Merge(sources)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for i, in := range merged.Run.Cells[0].Timeline {
		got = append(got, in.OK)
		if in.At != float64(i) || in.Seconds != 1 {
			t.Errorf("interval %d is at %g", i, in.At)
		}
	}
	if want := []int64{1, 12, 63}; !slices.Equal(got, want) { // the intervals after the end count there
		t.Errorf("the intervals have %d operations, want %d", got, want)
	}
}

// A node that any segment could not reach is missing, also if the segments have a store in common. The mail
// file is noted if any segment has read one.
func TestWhatOneSegmentSaw(t *testing.T) {
	sources := segments(t, 2)
	for i, missing := range [][]string{{"a"}, {"a", "b"}} {
		sources[i].Run.Cells[0].Engines = &results.EngineInfo{DiskBytes: 7, Missing: missing}
	}
	sources[1].Run.Mail = &results.MailInfo{File: "mbox"}
	merged, err := merge.Merge(sources)
	if err != nil {
		t.Fatal(err)
	}
	if e := merged.Run.Cells[0].Engines; !slices.Equal(e.Missing, []string{"a", "b"}) || e.DiskBytes != 7 {
		t.Errorf("the engine is %+v", e)
	}
	if first := sources[0].Run.Cells[0].Engines.Missing; len(first) != 1 {
		t.Errorf("the first segment's result was changed: %q", first)
	}
	if m := merged.Run.Mail; m == nil || m.File != "mbox" {
		t.Errorf("the mail file is %+v", m)
	}
}

// Sizes of the segments' own stores are sums, unless a segment does not know its own.
func TestOwnStores(t *testing.T) {
	for _, all := range []bool{true, false} {
		sources := segments(t, 3)
		for i := range sources {
			c := &sources[i].Run.Cells[0]
			c.Evidence.InProcess = true
			if all || i != 1 {
				c.Engines = &results.EngineInfo{DiskBytes: 7, Missing: []string{fmt.Sprint(i)}}
			}
		}
		merged, err := merge.Merge(sources)
		if err != nil {
			t.Fatal(err)
		}
		want := &results.EngineInfo{DiskBytes: 21, Missing: []string{"0", "1", "2"}}
		if !all {
			want = &results.EngineInfo{DiskBytes: 7, Missing: []string{"0", "2"}}
		}
		if d := cmp.Diff(want, merged.Run.Cells[0].Engines); d != "" {
			t.Errorf("all are known: %v\n%s", all, d)
		}
	}
}

// Every number of two audits is added, but those about one store that both segments read.
func TestAuditsAreAdded(t *testing.T) {
	ofStore := []string{
		"Accounts", "Folders", "Messages", "Purgeable", "Unreferenced", "Dangling", "Duplicated", "BrokenBodies", "InterruptedBlobs",
		"CounterDrift",
	}
	for _, common := range []bool{false, true} {
		sources := segments(t, 2)
		var audits [2]results.Audit
		for i := range audits {
			s, a := sources[i].Run, &audits[i]
			a.Model, a.Engine, a.Trial, a.Segment = "james", "cassandra", 1, i+1
			v := reflect.ValueOf(a).Elem()
			for n, f := range reflect.VisibleFields(v.Type()) {
				if f.Type.Kind() == reflect.Int64 {
					v.FieldByIndex(f.Index).SetInt(int64(1+n) << (10 * i))
				}
			}
			a.Interrupted, a.Notes = i == 1, []string{fmt.Sprint("note ", i)}
			s.Audits = []results.Audit{*a}
			load := s.Cells[0]
			load.Kind, load.Phase, load.Ops, load.Streams = results.KindLoad, "load", nil, nil
			load.Evidence = &results.Evidence{InProcess: !common}
			s.Cells = append(s.Cells, load)
		}
		merged, err := merge.Merge(sources)
		if err != nil {
			t.Fatal(err)
		}
		if len(merged.Run.Audits) != 1 {
			t.Fatalf("%+v", merged.Run.Audits)
		}
		got := reflect.ValueOf(merged.Run.Audits[0])
		for i, f := range reflect.VisibleFields(got.Type()) {
			if f.Type.Kind() != reflect.Int64 {
				continue
			}
			want := int64(1+i) + int64(1+i)<<10
			if common && slices.Contains(ofStore, f.Name) {
				want = int64(1+i) << 10
			}
			if n := got.FieldByIndex(f.Index).Int(); n != want {
				t.Errorf("one store: %v: %s is %d, want %d", common, f.Name, n, want)
			}
		}
		if a := merged.Run.Audits[0]; !a.Interrupted || !slices.Equal(a.Notes, []string{"note 0", "note 1"}) {
			t.Errorf("%+v", a)
		}
	}
}

// The audits of the segments add up trial by trial, also where a segment has none.
func TestAudits(t *testing.T) {
	sources := segments(t, 2)
	sources[0].Run.Audits = []results.Audit{{Trial: 1, Segment: 1, Verified: 3}, {Trial: 2, Segment: 1, Verified: 40}}
	sources[1].Run.Audits = []results.Audit{{Trial: 2, Segment: 2, Verified: 2}}
	merged, err := merge.Merge(sources)
	if err != nil {
		t.Fatal(err)
	}
	want := []results.Audit{{Trial: 1, Segment: 1, Verified: 3}, {Trial: 2, Segment: 1, Verified: 42}}
	if d := cmp.Diff(want, merged.Run.Audits); d != "" {
		t.Error(d)
	}
}
