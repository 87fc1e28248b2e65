// Package history finds how the metrics of runs changed over time. A folder of results is one
// series of runs, or several if not all runs can be compared. Counted figures are compared from
// run to run. Changes of times are found by a test over the order of the runs.
package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/significance"
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

	changed []Change // of all figures, in the order of the runs
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

	of *Figure
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

// series puts runs into the series that they can be compared with, the oldest first, and finds the changes of the
// figures that are selected for. It is an error if none is selected by a gate.
func (h *History) series(runs []Run, selected []compare.Gate) error {
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), a.began.Compare(b.began), cmp.Compare(a.Folder, b.Folder))
	})
	side := func(r *Run) compare.Side { return compare.Side{Name: r.Folder, Runs: []*results.Run{r.run}} }
	for _, r := range runs {
		differ := func(s Series) []string {
			d, _ := compare.Differences(side(&s.Runs[0]), side(&r), false)
			return d
		}
		at := slices.IndexFunc(h.Series, func(s Series) bool { return len(differ(s)) == 0 })
		if at < 0 {
			at = len(h.Series)
			h.Series = append(h.Series, Series{Number: at + 1})
			if at > 0 {
				h.Series[at].Differs = differ(h.Series[0])
			}
		}
		h.Series[at].Runs = append(h.Series[at].Runs, r)
	}
	var all []*Figure
	var names []string
	for i := range h.Series {
		h.Series[i].Figures = figuresOf(h.Series[i].Runs)
		for _, f := range h.Series[i].Figures {
			all, names = append(all, f), append(names, compare.NameOf(f.Subject, f.Op, f.Name))
		}
	}
	chosen := map[*Figure]bool{}
	for _, g := range selected {
		at, err := g.Match(names)
		if err != nil {
			return fmt.Errorf("--metric %s: no run in %s has this metric in a phase with the verdict ok: %w", g, h.Folder, err)
		}
		for _, i := range at {
			chosen[all[i]] = true
		}
	}
	for i := range h.Series {
		s := &h.Series[i]
		s.Figures = slices.DeleteFunc(s.Figures, func(f *Figure) bool { return len(selected) > 0 && !chosen[f] })
		s.changes()
	}
	return nil
}

// figuresOf are the figures that some of the runs have, in the order in which runs have them.
func figuresOf(runs []Run) []*Figure {
	all, known := []*Figure{}, map[string]*Figure{}
	for i := range runs {
		for _, c := range compare.Cells(runs[i].run) {
			for _, v := range c.Figures {
				if v.Base == nil {
					continue
				}
				f := known[v.String()]
				if f == nil {
					f = &Figure{
						Subject: c.Subject, Op: v.Op, Name: v.Name,
						Values: make([]*float64, len(runs)), Changes: []Change{}, Measure: v.Measure,
					}
					all, known[v.String()] = append(all, f), f
				}
				f.Values[i] = v.Base
			}
		}
	}
	return all
}

// falseAlarms is the share of series in which a timed figure may be said to change although only chance divides the
// runs.
const falseAlarms = 0.05

// counted reports whether the figure is a counter.
func (f *Figure) counted() bool { return !f.Measure.Timed() }

// changes finds the runs at which figures changed. Each counter is compared with the run at which it changed last, so
// that small steps add up.
func (s *Series) changes() {
	timed := len(slices.DeleteFunc(slices.Clone(s.Figures), (*Figure).counted))
	level := falseAlarms / float64(timed)
	if timed > 0 {
		s.Least = significance.LeastValues(level)
	}
	differ := map[[2]int]map[string]compare.Figure{} // by two runs
	for _, f := range s.Figures {
		if !f.counted() {
			if f.search(level) {
				s.Tested++
			}
			continue
		}
		was := slices.IndexFunc(f.Values, func(v *float64) bool { return v != nil })
		for run := was + 1; run < len(f.Values); run++ {
			k := [2]int{was, run}
			if f.Values[run] == nil {
				continue
			}
			if differ[k] == nil {
				differ[k] = compare.Counted(s.Runs[was].run, s.Runs[run].run)
			}
			if c, ok := differ[k][f.String()]; ok {
				f.Changes = append(f.Changes, Change{
					Run: run, Before: *c.Base, After: *c.New, Says: c.Verdict, Exact: c.Exact, of: f,
				})
				was = run
			}
		}
	}
	for _, f := range s.Figures {
		s.changed = append(s.changed, f.Changes...)
	}
	slices.SortStableFunc(s.changed, func(a, b Change) int { return cmp.Compare(a.Run, b.Run) })
}

// search finds the changes of the figure that are unlikely to be chance and larger than its limit. The last 100 runs
// are searched, which bounds the time that it takes. It returns false if too few runs have the figure.
func (f *Figure) search(level float64) bool {
	var at []int // the runs that have it
	var logs []float64
	for run, v := range f.Values {
		if v != nil && *v > 0 {
			at, logs = append(at, run), append(logs, math.Log(*v))
		}
	}
	first := max(0, len(at)-100)
	if at, logs = at[first:], logs[first:]; len(at) < significance.LeastValues(level) {
		return false
	}
	for _, step := range significance.Steps(logs, level, math.Log1p(f.Measure.Limit)) {
		c := Change{Run: at[step.At], Before: math.Exp(step.Before), After: math.Exp(step.After), P: step.P, of: f}
		if c.Says = compare.Better; f.Measure.Worse(c.Before, c.After) {
			c.Says = compare.Worse
		}
		f.Changes = append(f.Changes, c)
	}
	return true
}
