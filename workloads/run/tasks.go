package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/keyspace"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/replay"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/scratch"
	"github.com/mailbench/mailbench/workloads/subject"
)

// task is what a run does at one point: a model on an engine in one trial, with the workload at one value of a
// sweep. A run, a dry run, and estimates of time and disk go over the same tasks.
type task struct {
	model  models.Model
	engine drivers.Engine
	trial  int
	at     *point
	dir    string // folder of the data set
	more   bool   // a later task works on the same data set
}

// tasks are those of every model on every engine, at every point and in every trial, in the order of the run. Each
// trial goes through them in the opposite order of the trial before (A B C, C B A, A B C), so that a machine that
// becomes slower or faster favors none, and does not look like growth along a sweep ([decision 13]). Trials of one
// combination lie apart: a disturbance of the machine does not hit all.
//
// Each has a data set of its own, but for trials that reuse a store.
//
// [decision 13]: docs/internals/decisions/0013-sweep.md
func (c *Config) tasks(points []point, data *dataDir) (all []task) {
	for trial := 1; trial <= c.trials(); trial++ {
		first := len(all)
		for _, t := range c.pairs() {
			for i := range points {
				t.at, t.trial = &points[i], trial
				if t.dir = data.dir(t.model, t.engine, t.at.number, trial); c.reuses() {
					t.dir, t.more = data.dir(t.model, t.engine, t.at.number, 1), trial < c.trials()
				}
				all = append(all, t)
			}
		}
		if trial%2 == 0 {
			slices.Reverse(all[first:])
		}
	}
	return all
}

// pairs are every model on every engine.
func (c *Config) pairs() (all []task) {
	for _, e := range c.Engines {
		for _, m := range c.Models {
			all = append(all, task{model: m, engine: e})
		}
	}
	return all
}

// point is the workload at one value of a sweep. A run without a sweep has one, whose value
// is empty.
type point struct {
	value    string
	number   int // from 1; 0: there is no sweep
	workload *workloads.Workload
	census   *plan.Census
	source   messages.Source
	keyspace *keyspace.Keyspace // of a schema that is not for mail, or nil

	population *forecast.Population // for forecasts; nil until one needs it
}

// model is a model with what the workload says of its schema.
func (at *point) model(m models.Model) models.Model {
	if at.keyspace != nil {
		return at.keyspace.For(at.workload, at.census.Messages())
	}
	return m.With(at.workload.ValuesOf(m.Name))
}

// points are the workloads to execute, in the order of the sweep.
func (c *Config) points(ctx context.Context) ([]point, error) {
	all := []point{{workload: c.Workload}}
	if s := c.Workload.Sweep; s != nil && c.Audit != AuditOnly {
		all = nil
		for i, p := range s.Points {
			all = append(all, point{value: p.Value, number: i + 1, workload: p.Workload})
		}
	}
	for i := range all {
		p := &all[i]
		p.keyspace = c.Keyspace
		for n := range p.workload.Phases {
			phase := &p.workload.Phases[n]
			if phase.Replay == nil {
				continue
			}
			t, err := replay.Open(ctx, phase.Replay.Trace)
			if err == nil {
				err = t.Prepare(p.workload, phase)
			}
			if err != nil {
				return nil, fmt.Errorf("phase %s: %w", phase.Name, err)
			}
		}
		census, err := plan.NewCensus(ctx, p.workload)
		if err != nil {
			return nil, err
		}
		p.census, p.source = census.OfSegment(c.Segment), c.Mail
		if p.source == nil {
			p.source = messages.NewGenerator(p.workload)
		}
	}
	return all, nil
}

// suffix is what dataDir.dir has appended to the names of a model and an engine.
var suffix = regexp.MustCompile(`^(?:-point(\d{1,6}))?(?:-trial(\d{1,6}))?$`)

// leftover are the tasks of an audit: the data sets that earlier runs have left, at any point and in any trial.
func (r *runner) leftover() (all []task, err error) {
	entries, err := os.ReadDir(r.data.path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	for _, t := range r.config.pairs() {
		for _, e := range entries {
			rest, own := strings.CutPrefix(e.Name(), t.model.Name+"-"+t.engine.Name)
			numbers := suffix.FindStringSubmatch(rest)
			if !own || numbers == nil {
				continue
			}
			p := r.points[0]
			if p.number, _ = strconv.Atoi(numbers[1]); p.number > 0 {
				p.value = fmt.Sprintf("point %d", p.number)
			}
			trial, _ := strconv.Atoi(numbers[2])
			t.at, t.trial, t.dir = &p, max(1, trial), filepath.Join(r.data.path, e.Name())
			all = append(all, t)
		}
	}
	return all, nil
}

// sweep enters the sweep into the result, before anything is measured.
func (r *runner) sweep(ctx context.Context) error {
	s := r.config.Workload.Sweep
	if s == nil || r.config.Audit == AuditOnly {
		return nil
	}
	r.result.Sweep = &results.Sweep{Path: s.Name(), Points: []results.SweepPoint{}}
	for i := range r.points {
		p := &r.points[i]
		one := results.SweepPoint{
			Value: p.value, Size: s.Points[i].Size, SHA256: subject.Digest(p.workload.Source),
			Users: p.census.Users(), Folders: p.census.Folders(), Messages: p.census.Messages(),
		}
		for _, t := range r.config.pairs() {
			report, err := p.forecast(ctx, t.model, t.engine)
			if err != nil {
				return err
			}
			if report == nil { // the format of the engine's files is not known
				continue
			}
			largest := results.Partition{Model: t.model.Name, Engine: t.engine.Name, Files: report.Space.Files[0]}
			for _, g := range report.Partitions {
				if len(g.Largest) > 0 && g.Largest[0].Bytes > largest.Bytes {
					largest.Table, largest.Bytes = g.Table, g.Largest[0].Bytes
				}
			}
			if largest.Bytes > 0 {
				one.Partitions = append(one.Partitions, largest)
			}
		}
		r.result.Sweep.Points = append(r.result.Sweep.Points, one)
	}
	return nil
}

// A data folder and all in it are their user's only (package private). It holds one
// folder for each model and engine:
//
//	DIR/mailbench-data              the mark: mailbench may write here
//	DIR/lock                        held while a run uses the folder
//	DIR/james-embedded/dataset.json what was loaded, and where on a shared engine
//	DIR/james-embedded/ledger       what was acknowledged
//	DIR/james-embedded/store/       the embedded engine's files
//	DIR/james-embedded-point2/      the same at a point of a sweep
type dataDir struct {
	path      string
	temporary bool
	close     func() error // unlocks the folder, or removes it if it is temporary
}

const (
	markFile = "mailbench-data"
	lockFile = "lock"
)

// openDataDir makes and locks a data folder; an empty path makes a temporary one.
func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		tmp, err := scratch.Temporary()
		if err != nil {
			return nil, err
		}
		return &dataDir{path: tmp.Path, temporary: true, close: tmp.Remove}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := private.Make(path); err != nil {
		if errors.As(err, new(*os.PathError)) {
			err = fmt.Errorf("%w; name a folder that you may write with --data DIR", err)
		}
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	for _, f := range files {
		// Another run that began at the same moment, or was killed in it, may have made these.
		made := f.Name() == lockFile || strings.HasPrefix(f.Name(), markFile)
		if !made && !marked(path) {
			return nil, fmt.Errorf("data folder %s contains %s and was %w; name an empty or new folder",
				path, f.Name(), drivers.ErrForeign)
		}
	}
	if err := private.Restrict(path); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	unlock, err := private.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w; wait for the other run, or name another folder", path, err)
	}
	if !marked(path) {
		const text = "Data of mailbench runs. Remove the folder when it is no longer needed.\n"
		if err := private.WriteFile(filepath.Join(path, markFile), []byte(text)); err != nil {
			return nil, errors.Join(fmt.Errorf("mark data folder: %w", err), unlock())
		}
	}
	return &dataDir{path: path, close: unlock}, nil
}

// marked reports whether a run has claimed a folder for its data.
func marked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, markFile))
	return err == nil && info.Mode().IsRegular()
}

// dir is the folder of a data set; trials after the first have their own, and so has each point of a sweep, from 1.
func (d *dataDir) dir(m models.Model, e drivers.Engine, point, trial int) string {
	name := m.Name + "-" + e.Name
	if point > 0 {
		name += fmt.Sprintf("-point%d", point)
	}
	if trial > 1 {
		name += fmt.Sprintf("-trial%d", trial)
	}
	return filepath.Join(d.path, name)
}
