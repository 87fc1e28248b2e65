package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// deepest is how far below the folder results are looked for.
const deepest = 4

// Read makes the history of the runs in and below a folder, and changes nothing. A folder that cannot be in a series is
// skipped, with the reason. The metrics are those that the user selected, or all.
func Read(dir string, selected []compare.Gate) (*History, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read results: %w; name a folder that contains results", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("read results: %w", &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR})
	}
	h := &History{Format: Format, Folder: dir, Series: []Series{}, Skipped: []Skipped{}}
	r := reader{History: h, seen: map[string]string{}}
	r.visit(dir, 0)
	return h, h.series(r.runs, selected)
}

type reader struct {
	*History
	runs []Run
	seen map[string]string // the folder of each run: a copy of a run must not count twice
}

// visit reads a folder that holds results, or the folders in it. It reports whether it found
// results of mailbench, or something that it could not read.
func (r *reader) visit(dir string, depth int) bool {
	_, err := os.Lstat(filepath.Join(dir, results.RunFile))
	if err == nil || unfinished(dir) {
		r.open(dir)
		return true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.skip(dir, err)
		return true
	}
	links := func(e fs.DirEntry) int { return int(e.Type() & fs.ModeSymlink) } // last: they are the copies
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(links(a), links(b)) })
	before, found := len(r.Skipped), false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // follows a link to a folder
		if strings.HasPrefix(e.Name(), ".") || err != nil || !info.IsDir() || depth == deepest {
			continue
		}
		found = r.visit(path, depth+1) || found
	}
	if !found && depth > 0 {
		// The folder is one line of the report, not one for each folder in it.
		r.Skipped = r.Skipped[:before]
		_, err := results.Open(dir)
		r.skip(dir, err)
	}
	return found
}

// unfinished reports whether a folder has the name of a folder that a run is writing.
func unfinished(dir string) bool {
	match, err := filepath.Match(results.PartialPattern, filepath.Base(dir))
	return match && err == nil
}

// skip notes why a folder is in no series. The folder's name comes before the reason.
func (r *reader) skip(dir string, err error) {
	why := strings.TrimPrefix(err.Error(), "read results: ")
	for _, name := range []string{filepath.Join(dir, results.RunFile), dir} {
		why = strings.TrimPrefix(strings.TrimPrefix(why, name+": "), name+" ")
	}
	r.Skipped = append(r.Skipped, Skipped{r.name(dir), words.OneLine(why)})
}

func (r *reader) name(dir string) string {
	name, err := filepath.Rel(r.Folder, dir)
	if err != nil {
		return dir
	}
	return name
}

// open adds the run of a folder, or skips the folder.
func (r *reader) open(dir string) {
	run, err := results.Open(dir)
	switch {
	case err != nil:
	case unfinished(dir): // saved as if it were interrupted
		err = errors.New("it is not finished: it has the values measured so far")
	case run.Interrupted:
		err = errors.New("it was interrupted: it has the values measured until then")
	case run.Segment.Of > 1:
		err = fmt.Errorf("it is segment %d of %d: only whole runs compare", run.Segment.Index, run.Segment.Of)
	}
	if err == nil {
		this := compare.Identity(run)
		if other, ok := r.seen[this]; ok {
			err = fmt.Errorf("it is a copy of the run in %s", other)
		}
		r.seen[this] = r.name(dir)
	}
	if err != nil {
		r.skip(dir, err)
		return
	}
	e := &run.Environment
	one := Run{
		Folder: r.name(dir), Started: run.Started, Version: e.Version, Commit: e.Commit, Dirty: e.Dirty,
		Workload: run.Workload.Name, run: run,
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Timeline = nil // it takes much memory and is not shown
		if i == 0 {
			one.began, _ = time.Parse(time.RFC3339Nano, c.Started)
		}
		if !c.Measured() {
			continue
		}
		one.Cells++
		if c.Verdict != results.OK {
			one.NotOK++
		}
		if c.Verdict.Severity() > one.Verdict.Severity() { // of none it is -1
			one.Verdict = c.Verdict
		}
	}
	r.runs = append(r.runs, one)
}
