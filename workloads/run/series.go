package run

import (
	"os"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	estimates "github.com/mailbench/mailbench/workloads/estimate"
	"github.com/mailbench/mailbench/workloads/subject"
)

// series is one data set and the points that are carried out on it. The data set grows from
// each point to the next.
type series struct {
	points []*point
	dir    string
	loaded bool // by an earlier trial, which has left its store to this one
}

// series are the data sets of a model on an engine in one trial. If the population is swept,
// one data set grows from point to point. In every second trial each point has a data set of
// its own, and the last point comes first, so that a machine that becomes slower or faster
// does not look like growth ([decision 13]).
//
// Trials that reuse a store have one data set in common.
//
// A kept data set may be larger than some points. Each of these gets one of its own, too.
//
// [decision 13]: docs/decisions/0013-sweep.md
func (c *Config) series(points []point, data *dataDir, m models.Model, e drivers.Engine, trial int) ([]series, error) {
	if c.reuses() {
		return []series{{[]*point{&points[0]}, data.dir(m.Name, e.Name, 1, 0), trial > 1}}, nil
	}
	alone := func(p *point) series {
		return series{points: []*point{p}, dir: data.dir(m.Name, e.Name, trial, p.number)}
	}
	var all []series
	if down := trial%2 == 0; down || c.Workload.Sweep == nil || !c.Workload.Sweep.Grows() {
		for i := range points {
			all = append(all, alone(&points[i]))
		}
		if down {
			slices.Reverse(all)
		}
		return all, nil
	}
	grows := series{dir: data.dir(m.Name, e.Name, trial, 0)}
	has, err := subject.ReadDataset(grows.dir)
	if err != nil {
		return nil, err
	}
	for i := range points {
		p, last := &points[i], len(grows.points)-1
		if has != nil && !has.Within(p.census) || last >= 0 && !p.census.Covers(grows.points[last].census) {
			all = append(all, alone(p))
			continue
		}
		grows.points = append(grows.points, p)
	}
	if len(grows.points) > 0 {
		all = append(all, grows)
	}
	return all, nil
}

// estimates are what each point of a series will do: the load of the first is what its data set lacks.
func (s *series) estimates(data *dataDir) ([]*estimates.Estimate, error) {
	has, err := data.delivered(s.dir)
	if err != nil {
		return nil, err
	}
	var all []*estimates.Estimate
	if s.loaded {
		has = int64(s.points[0].census.Messages())
	}
	for _, p := range s.points {
		e := estimates.Of(p.workload, p.census, p.source)
		e.Has(int(has))
		has = int64(p.census.Messages())
		all = append(all, e)
	}
	return all, nil
}

// delivered is how many messages loads have delivered to the data set in a folder.
func (d *dataDir) delivered(dir string) (int64, error) {
	if d.temporary {
		return 0, nil
	}
	return subject.Delivered(dir)
}

// numbers are 1 to n.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// combinations calls each with every model on every engine in every one of the trials, in the order of the run. Each
// trial goes through them in the opposite order of the trial before (A B C, C B A, A B C), so that a machine that
// becomes slower or faster favours none. An error of each ends that.
func (c *Config) combinations(trials []int, each func(m models.Model, e drivers.Engine, trial int) error) error {
	n := len(c.Engines) * len(c.Models)
	for _, trial := range trials {
		for i := range n {
			if trial%2 == 0 {
				i = n - 1 - i
			}
			if err := each(c.Models[i%len(c.Models)], c.Engines[i/len(c.Models)], trial); err != nil {
				return err
			}
		}
	}
	return nil
}

// estimates calls each with what every point of every combination will do, in the order of the run.
func (c *Config) estimates(points []point, data *dataDir, each func(*estimates.Estimate)) error {
	return c.combinations(numbers(c.trials()), func(m models.Model, e drivers.Engine, trial int) error {
		all, err := c.series(points, data, m, e, trial)
		if err != nil {
			return err
		}
		for _, s := range all {
			ofPoints, err := s.estimates(data)
			if err != nil {
				return err
			}
			for _, e := range ofPoints {
				each(e)
			}
		}
		return nil
	})
}

// weights are about how many seconds each point of each combination takes, for the estimate of
// the time left; nil if there is one point and each trial loads it, because combinations are then alike.
func (r *runner) weights() (all []float64, err error) {
	if len(r.points) < 2 && !r.config.reuses() {
		return nil, nil
	}
	err = r.config.estimates(r.points, r.data, func(e *estimates.Estimate) { all = append(all, 1+e.Time().Seconds()) })
	return all, err
}

// time is how long the phases of all combinations are expected to take.
func (c *Config) time(points []point, dir string) (all time.Duration, err error) {
	data := &dataDir{path: dir, temporary: c.DataDir == ""}
	err = c.estimates(points, data, func(e *estimates.Estimate) { all += e.Time() })
	return all, err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
