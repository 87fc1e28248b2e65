package history

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/workloads/results"
)

// Listing takes longer from one night on: that is found, and nothing else.
func TestTimesChange(t *testing.T) {
	h := historyOf(t, nights(t, 30), nil)
	if len(h.Series) != 1 || len(h.Series[0].Runs) != 30 || len(h.Skipped) != 0 {
		t.Fatalf("%d series, skipped %v", len(h.Series), h.Skipped)
	}
	want := fmt.Sprintf("james/embedded/measure whole load.typical run %[1]d regression\njames/embedded/measure list.p50 run %[1]d regression\njames/embedded/measure list.p99 run %[1]d regression", slowedAt)
	if got := changes(&h.Series[0]); got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}

// A change in one stream is reported for that stream.
func TestStreamsChange(t *testing.T) {
	dir := t.TempDir()
	for night := range 4 {
		r := nightly(night)
		c := &r.Cells[0]
		c.Streams = []results.Stream{
			{Name: "readers", Arrivals: "poisson", Ops: map[string]results.Op{"list": c.Ops["list"]}},
			{Name: "crawler", Arrivals: "poisson", Ops: map[string]results.Op{"list": c.Ops["list"], "open": c.Ops["open"]}},
		}
		if night >= 2 {
			o := c.Streams[0].Ops["list"]
			o.Store.Requests = 3
			c.Streams[0].Ops["list"] = o
		}
		put(t, dir, fmt.Sprint(night), r)
	}
	s := historyOf(t, dir, nil).Series[0]
	if got, want := changes(&s), "james/embedded/measure:readers list.requests run 2 regression exact"; got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}

// Few runs detect no change of a latency, and the series says how many are needed; one metric needs fewer.
func TestFewRuns(t *testing.T) {
	few := historyOf(t, nights(t, 6), nil).Series[0]
	said := fmt.Sprint(few.verdict(1).Says)
	if few.Tested != 0 || few.Least <= 6 || !strings.Contains(said, fmt.Sprintf("from %d runs on", few.Least)) {
		t.Errorf("tested %d, least %d: %q", few.Tested, few.Least, said)
	}
	gates, err := compare.ParseGates("list.p99")
	if err != nil {
		t.Fatal(err)
	}
	one := historyOf(t, nights(t, 6), gates).Series[0]
	if len(one.Figures) != 1 || one.Figures[0].String() != "james/embedded/measure list.p99" || one.Least >= few.Least {
		t.Errorf("%d figures, %d runs at least; of all figures %d", len(one.Figures), one.Least, few.Least)
	}
}

// Counters are compared from one run to the next, and small steps add up.
// TestRunsOfOneSecond: the cells of runs say which of them began first. Text has them in another order.
func TestRunsOfOneSecond(t *testing.T) {
	dir := t.TempDir()
	for name, fraction := range map[string]string{"a": ".5", "b": ".25", "c": ".0625", "d": ""} {
		r := nightly(1)
		r.Cells[0].Started = strings.TrimSuffix(r.Started, "Z") + fraction + "Z"
		r.Seconds = float64(len(fraction))
		put(t, dir, name, r)
	}
	var order string
	for _, r := range historyOf(t, dir, nil).Series[0].Runs {
		order += r.Folder
	}
	if order != "dcba" {
		t.Errorf("runs in the order %s, want dcba", order)
	}
}

func TestCountsChange(t *testing.T) {
	dir := t.TempDir()
	for night := range 7 {
		r := nightly(night)
		if night >= 2 {
			change(r, "list", func(o *results.Op) { o.Store.Requests = 3 })
		}
		if night >= 5 {
			change(r, "list", func(o *results.Op) { o.Store.Requests = 2 })
		}
		// 7 bytes more each night are within chance, until they are 28: six standard errors.
		change(r, "open", func(o *results.Op) { o.Store.BytesRead += 7 * float64(night) })
		put(t, dir, fmt.Sprint(night), r)
	}
	h := historyOf(t, dir, nil)
	want := `james/embedded/measure list.requests run 2 regression exact
james/embedded/measure open.bytes run 4 regression
james/embedded/measure list.requests run 5 improvement exact`
	if got := changes(&h.Series[0]); got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
}

// Runs that cannot be compared are apart, and each folder that cannot be used has one line. Nothing is written.
func TestApartAndSkipped(t *testing.T) {
	dir := t.TempDir()
	for night := range 4 {
		r := nightly(night)
		if night%2 == 1 {
			r.Seed = 9
		}
		put(t, dir, fmt.Sprintf("2026/%d", night), r)
	}
	put(t, dir, "2026/0-again", nightly(0))
	interrupted, segment, running := nightly(5), nightly(6), nightly(7)
	interrupted.Interrupted, running.Interrupted, segment.Segment = true, true, results.Segment{Index: 1, Of: 2}
	put(t, dir, "interrupted", interrupted)
	put(t, dir, "segment", segment)
	put(t, dir, "running.partial", running)
	putText(t, dir, "damaged", `{"format": "mailbench.run/2", "cells": [`)
	putText(t, dir, "older", `{"format": "mailbench.run/1"}`)
	putText(t, dir, "newer", `{"format": "mailbench.run/9"}`)
	putText(t, dir, "other", `{"format": "k6"}`)
	for _, name := range []string{"notes/of/mine", ".git/objects"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, dir)
	h := historyOf(t, dir, nil)
	if len(h.Series) != 2 || len(h.Series[0].Runs) != 2 || len(h.Series[1].Runs) != 2 {
		t.Fatalf("series: %+v", h.Series)
	}
	if got := strings.Join(h.Series[1].Differs, "; "); !strings.HasPrefix(got, "seed: 1 in 2026/0, 9 in 2026/1") {
		t.Errorf("series 2 differs in %q", got)
	}
	want := map[string]string{
		"2026/0-again": "it is a copy of the run in 2026/0", "interrupted": "it was interrupted", "segment": "it is segment 1 of 2",
		"running.partial": "it was interrupted, or is not finished", "damaged": "it is damaged: incomplete JSON", "older": "its format is ",
		"newer": "its format is ", "other": "its format is ",
	}
	for _, s := range h.Skipped {
		if !strings.Contains(s.Why, want[s.Folder]) || want[s.Folder] == "" || strings.Contains(s.Why, "\n") {
			t.Errorf("skipped %s: %q", s.Folder, s.Why)
		}
		delete(want, s.Folder)
	}
	if len(want) > 0 {
		t.Errorf("not skipped: %v", want)
	}
	if after := files(t, dir); after != before {
		t.Errorf("the folder changed:\n%s", after)
	}
}

// files lists what is in a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintln(&all, path, info.Size(), info.ModTime())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// The highest rate that a run found is a value with its uncertainty, and a change of it is found.
func TestMaxRateChanges(t *testing.T) {
	dir := t.TempDir()
	for night := range 12 {
		r := nightly(night)
		r.Config.FindMax = &results.FindMax{Max: 1e6, Precision: 0.05, Step: 5}
		rate := 2000 + 20*float64(night%3)
		if night >= 6 {
			rate *= 0.7
		}
		found := results.SearchResult{Limit: results.LimitStore, Rate: rate - 50, Low: rate - 50, High: rate + 50}
		if night == 3 {
			found.Limit = results.LimitClient
		}
		r.Searches = []results.Search{{Key: r.Cells[0].Key, Found: &found}}
		put(t, dir, fmt.Sprintf("night-%02d", night), r)
	}
	s := historyOf(t, dir, nil).Series[0]
	if got, want := changes(&s), "james/embedded/measure whole load.max-rate run 6 regression"; got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
	f := s.Figures[0]
	if f.Name != "max-rate" || f.Values[3] != nil || f.shown(3) != "-" || f.shown(0) != "2000/s" {
		t.Errorf("%s: %s, %s", f, f.shown(0), f.shown(3))
	}
}
