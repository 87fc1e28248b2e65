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
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Format is the version of the JSON of a History. Within a version fields are only added.
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

	times int // timed figures
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
	compare.Operation
	Name string `json:"figure"`
	// Values has a value for each run of the series, null if the run has none. Times are
	// nanoseconds.
	Values  []*float64 `json:"values"`
	Changes []Change   `json:"changes"`
	// Uncertainties says how far the highest rate of each run may be off: half of the bracket that
	// a search ended with. Other figures have none.
	Uncertainties []float64 `json:"uncertainties,omitempty"`

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
	return f.Subject.String() + " " + f.Operation.String() + "." + f.Name
}

// series puts runs into the series that they can be compared with, the oldest first, and finds the changes of the
// figures that are selected for. It is an error if none is selected by a gate.
func (h *History) series(runs []Run, selected []compare.Gate) error {
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), a.began.Compare(b.began), cmp.Compare(a.Folder, b.Folder))
	})
	side := func(r *Run) compare.Side { return compare.Side{Name: r.Folder, Runs: []*results.Run{r.run}} }
	for _, r := range runs {
		var differs []string // from the first series
		at := 0
		for ; at < len(h.Series); at++ {
			d, _ := compare.Differences(side(&h.Series[at].Runs[0]), side(&r), false)
			if len(d) == 0 {
				break
			}
			if at == 0 {
				differs = d
			}
		}
		if at == len(h.Series) {
			h.Series = append(h.Series, Series{Number: at + 1, Differs: differs})
		}
		h.Series[at].Runs = append(h.Series[at].Runs, r)
	}
	var names []string
	for i := range h.Series {
		s := &h.Series[i]
		var runs []*results.Run
		for k := range s.Runs {
			runs = append(runs, s.Runs[k].run)
		}
		s.Figures = slices.DeleteFunc(FiguresOf(runs, false), func(f *Figure) bool {
			name := compare.NameOf(f.Subject, f.Operation, f.Name)
			names = append(names, name)
			holds := func(g compare.Gate) bool { return g.Holds(name) }
			return len(selected) > 0 && !slices.ContainsFunc(selected, holds)
		})
		s.counted()
		s.timed()
	}
	for _, g := range selected {
		if err := g.Unknown(names); err != nil {
			return fmt.Errorf("--metric %s: no run in %s has this metric in a phase with the verdict ok: %w", g, h.Folder, err)
		}
	}
	return nil
}

// FiguresOf are the figures that some of the runs have, in the order in which runs have them. With force they are also
// those of trials that are not valid.
func FiguresOf(runs []*results.Run, force bool) []*Figure {
	type key struct {
		compare.Subject
		compare.Operation
		name string
	}
	all, known := []*Figure{}, map[key]*Figure{}
	for i, r := range runs {
		for _, c := range compare.Cells(r, force) {
			for _, v := range c.Figures {
				if v.Base == nil {
					continue
				}
				k := key{c.Subject, v.Operation, v.Name}
				if known[k] == nil {
					known[k] = &Figure{
						Subject: c.Subject, Operation: v.Operation, Name: v.Name,
						Values: make([]*float64, len(runs)), Changes: []Change{}, Measure: v.Measure,
					}
					all = append(all, known[k])
				}
				f := known[k]
				if f.Values[i] = v.Base; v.BaseUncertainty != nil && *v.BaseUncertainty > 0 {
					if f.Uncertainties == nil {
						f.Uncertainties = make([]float64, len(runs))
					}
					f.Uncertainties[i] = *v.BaseUncertainty
				}
			}
		}
	}
	return all
}

// Shown is the value of a run as one reads it, with its uncertainty.
func (f *Figure) Shown(run int) string {
	if f.Values[run] == nil {
		return "-"
	}
	text := f.Measure.Text(*f.Values[run])
	if f.Uncertainties != nil && f.Uncertainties[run] > 0 {
		text += " ± " + f.Measure.Text(f.Uncertainties[run])
	}
	return text
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

// Build names the version of a run, with its commit.
func (r *Run) Build() string {
	const enough = 10 // characters of a commit
	s := r.Version
	if r.Commit != "" {
		s += " " + r.Commit[:min(enough, len(r.Commit))]
	}
	if r.Dirty {
		s += "+"
	}
	return s
}

// Why says how certain the change is.
func (c *Change) Why() string {
	switch {
	case c.Exact:
		return string(c.Says) + ", exact"
	case c.P == 0:
		return string(c.Says) + ", significant"
	case c.Before > 0:
		return fmt.Sprintf("%s, %+.0f%%, p≤%.1g", c.Says, 100*(c.After/c.Before-1), c.P)
	}
	return fmt.Sprintf("%s, p≤%.1g", c.Says, c.P)
}

// Untested says how many timed figures have too few runs to look for changes. It is empty if
// all have enough.
func (s *Series) Untested() string {
	const rule = "A change of a time is found from %d runs on when %d timed metrics are searched"
	switch {
	case s.times == s.Tested:
		return ""
	case s.Tested == 0:
		return fmt.Sprintf(rule+"; use --metric to search fewer metrics in fewer runs", s.Least, s.times)
	}
	return fmt.Sprintf(rule+": %d of them have too few runs", s.Least, s.times, s.times-s.Tested)
}

const (
	// falseAlarms is the share of series in which a timed figure may be said to change although
	// only chance divides the runs.
	falseAlarms = 0.05
	// window is how many of a series' last runs are searched. The search takes time with the
	// square of it.
	window = 100
)

// counted finds the runs at which counters changed. Each run is compared with the run
// at which the counter changed last, so that small steps add up.
func (s *Series) counted() {
	differ := map[[2]int]map[compare.Subject][]compare.Figure{} // by two runs
	for _, f := range s.Figures {
		was := -1
		for run, v := range f.Values {
			if v == nil || f.Measure.Timed() {
				continue
			}
			if was < 0 {
				was = run
			}
			k := [2]int{was, run}
			if differ[k] == nil && was < run {
				differ[k] = compare.Counted(s.Runs[was].run, s.Runs[run].run)
			}
			for _, c := range differ[k][f.Subject] {
				if f.Operation == c.Operation && f.Name == c.Name {
					f.Changes = append(f.Changes, Change{Run: run, Before: *c.Base, After: *c.New, Says: c.Verdict, Exact: c.Exact})
					was = run
				}
			}
		}
	}
}

// timed finds where timed figures changed.
func (s *Series) timed() {
	timed := slices.DeleteFunc(slices.Clone(s.Figures), func(f *Figure) bool { return !f.Measure.Timed() })
	if s.times = len(timed); s.times == 0 {
		return
	}
	level := falseAlarms / float64(len(timed))
	s.Least = significance.LeastValues(level)
	for _, f := range timed {
		if f.search(level) {
			s.Tested++
		}
	}
}

// search finds the changes of the figure that are unlikely to be chance and larger than its limit. It returns false if
// too few runs have the figure.
func (f *Figure) search(level float64) bool {
	var at []int // the runs that have it
	var logs []float64
	for run, v := range f.Values {
		if v != nil && *v > 0 {
			at, logs = append(at, run), append(logs, math.Log(*v))
		}
	}
	first := max(0, len(at)-window)
	if at, logs = at[first:], logs[first:]; len(at) < significance.LeastValues(level) {
		return false
	}
	for _, step := range significance.Steps(logs, level, math.Log1p(f.Measure.Limit)) {
		c := Change{Run: at[step.At], Before: math.Exp(step.Before), After: math.Exp(step.After), P: step.P}
		c.Says = f.Measure.Verdict(c.Before, c.After)
		f.Changes = append(f.Changes, c)
	}
	return true
}

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
