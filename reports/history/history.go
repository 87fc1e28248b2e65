// Package history finds how the metrics of runs changed over time. A folder of results is one
// series of runs, or several if not all runs can be compared. Counted figures are compared from
// run to run. Changes of times are found by a test over the order of the runs.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Format is the version of the JSON of a History. CHANGELOG.md names the fields that were removed within a version.
const Format = "mailbench.history/2"

// History is the history of a folder of results.
type History struct {
	Format  string    `json:"format"`
	Folder  string    `json:"folder"`
	Series  []Series  `json:"series"` // the series of the first run is the first
	Skipped []Skipped `json:"skipped"`
}

// Skipped is a folder that is in no series.
type Skipped struct {
	Folder string `json:"folder"`
	Why    string `json:"why"` // one line
}

// Series are runs that differ in nothing but the build, the oldest first.
type Series struct {
	Number int `json:"number"` // from 1
	// Differs is what sets the series apart from the first.
	Differs []string  `json:"differs,omitempty"`
	Runs    []Run     `json:"runs"`
	Figures []*Figure `json:"figures"` // figures that were requested
	// Tested is how many timed figures have enough runs to look for changes. Least is how many
	// runs are enough.
	Tested int `json:"tested"`
	Least  int `json:"least_runs"`
}

// Run is one run of a series.
type Run struct {
	Folder   string          `json:"folder"` // path below the folder that was read
	Started  string          `json:"started"`
	Version  string          `json:"version"`
	Commit   string          `json:"commit,omitempty"`
	Dirty    bool            `json:"dirty,omitempty"`
	Workload string          `json:"workload"`
	Cells    int             `json:"cells"`   // cells that were measured
	Verdict  results.Verdict `json:"verdict"` // the worst of Cells; empty: nothing was measured
	NotOK    int             `json:"not_ok"`  // how many of Cells are not ok

	run   *results.Run
	began time.Time // of its first cell: Started has whole seconds
}

// Figure is one figure of one operation from run to run.
type Figure struct {
	compare.Subject
	Op   string `json:"op"`
	Name string `json:"figure"`
	// Values has a value for each run of the series, null if the run has none. Times are
	// nanoseconds.
	Values  []*float64 `json:"values"`
	Changes []Change   `json:"changes"`

	Measure *compare.Measure `json:"-"`
}

// Change is a run at which a figure changed. Before and After are the means of two runs if the
// figure is counted. Else Before is the median of the runs since the previous change, and After
// that of the runs until the next.
type Change struct {
	Run    int             `json:"run"` // the first run with the new value: an index of Runs
	Before float64         `json:"before"`
	After  float64         `json:"after"`
	Says   compare.Verdict `json:"verdict"` // regression or improvement
	Exact  bool            `json:"exact,omitempty"`
	// P is the share of random orders of the runs that divide as well as theirs. Counted figures
	// have none.
	P float64 `json:"p,omitempty"`
}

// String names the figure, such as james/embedded/measure list.p99.
func (f *Figure) String() string {
	return f.Subject.String() + " " + f.Op + "." + f.Name
}

// shown is the value of a run as one reads it.
func (f *Figure) shown(run int) string {
	if f.Values[run] == nil {
		return "-"
	}
	return f.Measure.Text(*f.Values[run])
}

// Changed yields each change with its figure.
func (s *Series) Changed(yield func(f *Figure, c *Change) bool) {
	for _, f := range s.Figures {
		for i := range f.Changes {
			if !yield(f, &f.Changes[i]) {
				return
			}
		}
	}
}

// build names the version of a run, with its commit.
func (r *Run) build() string {
	s := strings.TrimSpace(r.Version + " " + r.Commit[:min(10, len(r.Commit))])
	if r.Dirty {
		s += "+"
	}
	return s
}

// why says how certain the change is.
func (c *Change) why() string {
	switch {
	case c.Exact:
		return string(c.Says) + ", exact"
	case c.P == 0:
		return string(c.Says) + ", significant"
	}
	return fmt.Sprintf("%s, %+.0f%%, p≤%.1g", c.Says, 100*(c.After/c.Before-1), c.P)
}

// Read makes the history of the runs in a folder and up to four levels below it, and changes nothing. Results that
// cannot be in a series are skipped, with the reason. The metrics are those that the user selected, or all.
func Read(dir string, selected []compare.Gate) (*History, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, fmt.Errorf("read results: %w; name a folder that contains results", err)
	}
	h := &History{Format: Format, Folder: dir, Series: []Series{}, Skipped: []Skipped{}}
	var runs []Run
	seen := map[string]string{} // the folder of each run: a copy of a run must not count twice
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		folder := path.Dir(name)
		switch {
		case err != nil:
			h.Skipped = append(h.Skipped, Skipped{name, words.OneLine(err.Error())})
			return nil
		case e.Name() == results.RunFile:
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || strings.Count(name, "/") >= 4):
			return fs.SkipDir
		default:
			return nil
		}
		run, err := results.Open(filepath.Join(dir, folder))
		switch {
		case err != nil:
		case run.Interrupted: // or not yet finished: it is saved as if it were interrupted
			err = errors.New("it was interrupted, or is not finished: it has the values measured until then")
		case run.Segment.Of > 1:
			err = fmt.Errorf("it is segment %d of %d: only whole runs compare", run.Segment.Index, run.Segment.Of)
		case seen[compare.Identity(run)] != "":
			err = fmt.Errorf("it is a copy of the run in %s", seen[compare.Identity(run)])
		default:
			seen[compare.Identity(run)], runs = folder, append(runs, newRun(folder, run))
		}
		if err != nil {
			_, why, _ := strings.Cut(err.Error(), results.RunFile) // the folder's name comes before the reason
			h.Skipped = append(h.Skipped, Skipped{folder, words.OneLine(cmp.Or(strings.TrimLeft(why, ": "), err.Error()))})
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return h, h.series(runs, selected)
}

func newRun(folder string, r *results.Run) Run {
	e := &r.Environment
	one := Run{
		Folder: folder, Started: r.Started, Version: e.Version, Commit: e.Commit, Dirty: e.Dirty,
		Workload: r.Workload.Name, run: r,
	}
	for i := range r.Cells {
		c := &r.Cells[i]
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
	return one
}
