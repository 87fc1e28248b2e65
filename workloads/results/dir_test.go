package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mailbench/mailbench/workloads/scratch"
)

// left lists what is in a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func create(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Create(dir, Report{benchFile, said}, Report{htmlFile, said})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(d.LatencyLog(), sampleLog(t)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCommit(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a new folder in new folders": func(string) error { return nil },
		"an empty folder":             func(dir string) error { return os.MkdirAll(dir, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results", "first")
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			d := create(t, dir)
			if _, err := os.Stat(filepath.Join(dir, RunFile)); err == nil {
				t.Error("results have their name before they are complete")
			}
			want := sample()
			if err := d.Commit(want); err != nil {
				t.Fatal(err)
			}
			if err := d.Abort(); err != nil {
				t.Error(err)
			}
			if got := left(t, filepath.Dir(dir)); !slices.Equal(got, []string{"first"}) {
				t.Errorf("beside the results is %q", got)
			}
			if got := left(t, dir); !slices.Equal(got, []string{benchFile, LatencyFile, htmlFile, RunFile}) {
				t.Errorf("results are %q", got)
			}
			got, err := Open(dir)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("read back: %v, %+v", err, got)
			}
			log, err := os.ReadFile(filepath.Join(dir, LatencyFile))
			if err != nil || string(log) != sampleLog(t).String() {
				t.Errorf("the latency log is not what was written: %v", err)
			}
			page, err := os.ReadFile(filepath.Join(dir, htmlFile))
			if err != nil || string(page) != fmt.Sprintf("%s: %d results", dir, len(want.Cells)) {
				t.Errorf("the page is %q: %v", page, err)
			}
		})
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	for _, dir := range []string{"results", "results/run"} {
		if err := create(t, filepath.Join(parent, dir)).Abort(); err != nil {
			t.Fatal(err)
		}
		if got := left(t, parent); len(got) > 0 {
			t.Errorf("%q is left of %s", got, dir)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(root, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "something"), 0o755); err != nil {
		t.Fatal(err)
	}
	twice := filepath.Join(root, "twice")
	other := create(t, twice)
	defer other.Abort() // without a use the garbage collector would give up its lock
	before := left(t, root)
	for dir, want := range map[string]string{
		taken:                        "is not empty; remove it, or choose another run directory",
		file:                         "create run directory: ",
		filepath.Join(file, "below"): "create run directory: ",
		twice:                        "another run is writing it; choose another run directory",
	} {
		if _, err := Create(dir, Report{benchFile, said}, Report{htmlFile, said}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Create(%s) = %v, want one line with %q", dir, err, want)
		}
	}
	if got := left(t, root); !slices.Equal(got, before) {
		t.Errorf("left are %q, before were %q", got, before)
	}
}

// A report that cannot be written costs none of the results.
func TestCommitWithoutAReport(t *testing.T) {
	parent := t.TempDir()
	d := create(t, filepath.Join(parent, "results"))
	// A folder in the way of a file fails for every user, also for root.
	if err := os.Mkdir(filepath.Join(d.temp, htmlFile), 0o755); err != nil {
		t.Fatal(err)
	}
	err := d.Commit(sample())
	if err == nil || !strings.HasPrefix(err.Error(), "write results: ") || !strings.HasSuffix(err.Error(), "all else is in "+filepath.Join(parent, "results")) {
		t.Errorf("Commit = %v", err)
	}
	if got := left(t, d.temp); !slices.Equal(got, []string{benchFile, LatencyFile, htmlFile, RunFile}) {
		t.Errorf("results are %q", got)
	}
	got, err := Open(filepath.Join(parent, "results"))
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	if want.LatencyLog = got.LatencyLog; want.LatencyLog == nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back: %+v", got)
	}
}

// When run.json cannot be written at the end, what an earlier Save wrote stays.
func TestFailedCommitKeepsWhatWasSaved(t *testing.T) {
	parent := t.TempDir()
	d := create(t, filepath.Join(parent, "results"))
	early := sample()
	early.Cells, early.Interrupted = early.Cells[:1], true
	if err := d.Save(early); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.temp, RunFile+".new"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := d.Commit(sample())
	if err == nil || !strings.HasPrefix(err.Error(), "write results: ") || !strings.HasSuffix(err.Error(), "; saved files are in "+d.temp) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("Commit = %v, want one line", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if got, err := Open(filepath.Join(parent, "results"+partial)); err != nil || !reflect.DeepEqual(got, early) {
		t.Errorf("read back: %v, %+v", err, got)
	}
	_, err = Create(filepath.Join(parent, "results"))
	if err == nil || !strings.Contains(err.Error(), "a killed run may have left it; move or remove it, or choose another run directory") {
		t.Errorf("Create = %v", err)
	}
}

// Whenever a process is killed, the directory contains what was saved last, and only
// the user removes it.
func TestSave(t *testing.T) {
	parent := t.TempDir()
	d := create(t, filepath.Join(parent, "results"))
	if found, err := scratch.Find(parent, PartialPattern); err != nil || len(found) > 0 {
		t.Errorf("in use, and found as left: %v, %v", found, err)
	}
	for n := range sample().Cells {
		r := sample()
		r.Cells = r.Cells[:n+1]
		if err := d.Save(r); err != nil {
			t.Fatal(err)
		}
		if _, err := d.LatencyLog().Write([]byte("Tag=torn,")); err != nil { // the first part of the next phase's line
			t.Fatal(err)
		}
		got, err := Open(d.temp)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("after cell %d: %v, %+v", n, err, got)
		}
		whole := sample()
		whole.Interrupted, whole.LatencyLog = true, r.LatencyLog
		saved, err := OpenLog(d.temp, whole)
		if err != nil {
			t.Errorf("after cell %d: %v", n, err)
		}
		saved.Close()
		if err := d.log.file.Truncate(d.log.safe.Bytes); err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(d.log.file.Name())
		if err != nil {
			t.Fatal(err)
		}
		d.log.sum.Reset()
		d.log.sum.Write(log)
		if d.log.size, err = d.log.file.Seek(d.log.safe.Bytes, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.scratch.Close(); err != nil { // as when the process is killed
		t.Fatal(err)
	}
	if found, err := scratch.Find(parent, PartialPattern); err != nil || len(found) > 0 {
		t.Errorf("results were found as what may be removed: %v, %v", found, err)
	}
}

// A full disk costs what does not fit on it, and nothing more.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Log("this system has no /dev/full; the log's file is closed instead, which fails as well")
	} else if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "results")
	d := create(t, dir)
	if err := d.Save(sample()); err != nil {
		t.Fatal(err)
	}
	if err := d.log.file.Close(); err != nil {
		t.Fatal(err)
	}
	if full != nil {
		d.log.file = full
	}
	for range 2 {
		if _, err := io.WriteString(d.LatencyLog(), "a line"); err == nil {
			t.Error("written to a full disk")
		}
	}
	err = d.Commit(sample())
	if err == nil || !strings.HasPrefix(err.Error(), "write results: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("Commit = %v, want one line", err)
	}
	if full != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Commit = %v, want %v", err, syscall.ENOSPC)
	}
	if got := left(t, dir); !slices.Equal(got, []string{benchFile, LatencyFile, htmlFile, RunFile}) {
		t.Errorf("results are %q", got)
	}
	if log, err := os.ReadFile(filepath.Join(dir, LatencyFile)); err != nil || string(log) != sampleLog(t).String() {
		t.Errorf("the latency log is not what was saved: %v", err)
	}
}

// A log that does not fit on the disk is cut off before run.json is saved, which may need that space.
func TestFullDiskOfLog(t *testing.T) {
	d := create(t, filepath.Join(t.TempDir(), "results"))
	if err := d.Save(sample()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(d.LatencyLog(), "Tag=torn,"); err != nil {
		t.Fatal(err)
	}
	d.log.err = syscall.ENOSPC
	if err := d.Save(sample()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Save = %v, want %v", err, syscall.ENOSPC)
	}
	if log, err := os.ReadFile(d.log.file.Name()); err != nil || string(log) != sampleLog(t).String() {
		t.Errorf("the latency log is not what was saved: %v", err)
	}
}

// Results that are complete are not thrown away because another run took the
// name.
func TestNameTakenMeanwhile(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "results")
	d := create(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(sample()); err == nil || !strings.Contains(err.Error(), "complete, but in "+d.temp) {
		t.Errorf("Commit = %v", err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir + partial); err != nil {
		t.Errorf("the results are not where the error said: %v", err)
	}
}

// Results that are damaged, foreign, older or newer, and folders without results, give one
// line each that says which.
func TestOpenRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "run.json: it is damaged: incomplete JSON",
		`{"format": "mailbench.run/2", "see`: "run.json: it is damaged: incomplete JSON",
		"\x00\x00\x00\x00":                   "run.json: it is damaged: incomplete JSON",
		"[]":                                 "run.json: it is not of mailbench: its JSON has another form",
		"null":                               `run.json: its format is "", and this mailbench reads "mailbench.run/3"; use the one that wrote it`,
		`{"name": "an app", "scripts": {}}`:  `run.json: its format is "", and this mailbench reads "mailbench.run/3"; use the one that wrote it`,
		`{"format": "other.run/2"}`:          `run.json: its format is "other.run/2"`,
		`{"format": "mailbench.run/x"}`:      `run.json: its format is "mailbench.run/x"`,
		`{"format": "mailbench.run/1"}`:      `run.json: its format is "mailbench.run/1", and this mailbench reads "mailbench.run/3"; use the one that wrote it`,
		`{"format": "mailbench.run/4"}`:      `run.json: its format is "mailbench.run/4"`,
		`{"format": "mailbench.run/2", "seed": "x"}`:                                 "run.json: it is damaged: seed must be a whole number, found a text",
		`{"format": "mailbench.run/2", "cells": [{"ops": {"list": {"count": -1}}}]}`: "run.json: it is damaged: result ",

		`{"format": "mailbench.run/2", "cells": [{}` + strings.Repeat(",{}", 1<<16) + `]}`:       "run.json: it is damaged: it has 65538 objects in ",
		`{"format": "mailbench.run/2", "audits": [null` + strings.Repeat(", null", 1<<16) + `]}`: "run.json: it is damaged: it has 65538 objects in ",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, RunFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if err == nil || !strings.HasPrefix(err.Error(), "read results: "+dir) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open of %q = %v, want one line with %q", text, err, want)
		}
		before, after := text, ""
		if _, err := Create(dir, Report{benchFile, said}, Report{htmlFile, said}); err == nil || !strings.Contains(err.Error(), "is not empty; remove it, or choose another run directory") {
			t.Errorf("Create over %q = %v", text, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, RunFile)); err == nil {
			after = string(b)
		}
		if got := left(t, filepath.Dir(dir)); after != before || slices.Contains(got, filepath.Base(dir)+partial) {
			t.Errorf("%q became %q, and beside it is %q", before, after, got)
		}
	}
	parent := t.TempDir()
	running, file := create(t, filepath.Join(parent, "run")), filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		t.TempDir():                   " is not a run directory: it has no run.json",
		running.temp:                  " has no results yet: its run is not finished",
		file:                          " is not a run directory: it has no run.json",
		filepath.Join(parent, "none"): " is not a run directory: it has no run.json",
	} {
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open of %s = %v, want %q", dir, err, want)
		}
	}
	if err := running.scratch.Close(); err != nil { // as when the process is killed
		t.Fatal(err)
	}
	if _, err := Open(running.temp); err == nil || !strings.Contains(err.Error(), "its run was killed before its first phase had ended") {
		t.Errorf("Open of what a killed run left = %v", err)
	}
}

// Reports of these tests.
const (
	benchFile = "bench.txt"
	htmlFile  = "report.html"
)

// said is a report that says what it was given.
func said(w io.Writer, name string, r *Run) error {
	_, err := fmt.Fprintf(w, "%s: %d results", name, len(r.Cells))
	return err
}

// TestNamesAreDurable: run.json is whole under its name when Save and Commit sync the folder, and so is
// the folder under its own when they sync the one above. A power failure after that loses nothing.
func TestNamesAreDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	d, err := Create(dir, Report{htmlFile, said})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	d.syncDir = func(name string) error {
		r, err := Open(d.temp)
		if err != nil {
			t.Errorf("when %s was synced: %v", name, err)
			return syncDir(name)
		}
		seen = append(seen, fmt.Sprintf("%s with %s of seed %d", filepath.Base(name), filepath.Base(d.temp), r.Seed))
		return syncDir(name)
	}
	r := sample()
	for r.Seed = range uint64(2) {
		if err := d.Save(r); err != nil {
			t.Fatal(err)
		}
	}
	r.Seed = 2
	if err := d.Commit(r); err != nil {
		t.Fatal(err)
	}
	above := filepath.Base(filepath.Dir(dir))
	want := []string{
		"results.partial with results.partial of seed 0", "results.partial with results.partial of seed 1",
		"results.partial with results.partial of seed 2", "results.partial with results.partial of seed 2", // with the reports
		above + " with results of seed 2",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("synced:\n%s\nwant:\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}
