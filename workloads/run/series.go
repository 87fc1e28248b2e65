package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
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
// [decision 13]: docs/internals/decisions/0013-sweep.md
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
func (s *series) estimates(data *dataDir) ([]*Estimate, error) {
	has, err := data.delivered(s.dir)
	if err != nil {
		return nil, err
	}
	var all []*Estimate
	if s.loaded {
		has = int64(s.points[0].census.Messages())
	}
	for _, p := range s.points {
		e := p.estimate()
		e.holds(int(has))
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

// walk calls each with every data set of the run, in the order of the run. A run, a dry run, and estimates of time
// and disk go the same way.
func (c *Config) walk(
	points []point, data *dataDir, each func(m models.Model, e drivers.Engine, s *series) error,
) error {
	return c.combinations(numbers(c.trials()), func(m models.Model, e drivers.Engine, trial int) error {
		all, err := c.series(points, data, m, e, trial)
		for i := 0; i < len(all) && err == nil; i++ {
			err = each(m, e, &all[i])
		}
		return err
	})
}

// times are how long each point of each combination is expected to take, in the order of the run.
func (c *Config) times(points []point, data *dataDir) (all []time.Duration, err error) {
	err = c.walk(points, data, func(_ models.Model, _ drivers.Engine, s *series) error {
		ofPoints, err := s.estimates(data)
		for _, e := range ofPoints {
			all = append(all, e.time())
		}
		return err
	})
	return all, err
}

// weights are about how many seconds each point of each combination takes, for the estimate of
// the time left; nil if there is one point and each trial loads it, because combinations are then alike.
func (r *runner) weights() (all []float64, err error) {
	if len(r.points) < 2 && !r.config.reuses() {
		return nil, nil
	}
	times, err := r.config.times(r.points, r.data)
	for _, t := range times {
		all = append(all, 1+t.Seconds())
	}
	return all, err
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// point is the workload at one value of a sweep. A run without a sweep has one, whose value
// is empty.
type point struct {
	value    string
	number   int // from 1; 0: there is no sweep
	workload *workloads.Workload
	census   *plan.Census
	source   messages.Source
}

// points are the workloads to carry out, in the order of the sweep.
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
		if err := openTraces(ctx, p.workload); err != nil {
			return nil, err
		}
		census, err := plan.NewCensus(ctx, p.workload)
		if err != nil {
			return nil, err
		}
		p.census, p.source = census.OfShard(c.Shard), c.Mail
		if p.source == nil {
			p.source = messages.NewGenerator(p.workload)
		}
	}
	return all, nil
}

// CheckSweep refuses a sweep together with a search for the highest rate or with shards.
func (c *Config) CheckSweep() error {
	switch {
	case c.Workload.Sweep == nil || c.Audit == AuditOnly:
		return nil
	case c.FindMax != nil:
		return errors.New("a search for the highest rate sets the rates itself and cannot be swept; leave one of them out " +
			"(--set sweep={} leaves a sweep out)")
	case c.Shard.Divides():
		return errors.New("a sweep cannot be divided among shards; leave one of them out (--set sweep={} leaves a sweep out)")
	}
	return nil
}

// left are the data sets that an earlier run left of a model on an engine.
func (r *runner) left(m models.Model, e drivers.Engine, trial int) []series {
	all := []series{{points: []*point{&r.points[0]}, dir: r.data.dir(m.Name, e.Name, trial, 0)}}
	add := func(n int, dir string) {
		p := r.points[0]
		p.number, p.value = n, fmt.Sprintf("point %d", n)
		all = append(all, series{points: []*point{&p}, dir: dir})
	}
	last := 0 // of the points that are there, from 1 on
	for dir := r.data.dir(m.Name, e.Name, trial, 1); exists(dir); dir = r.data.dir(m.Name, e.Name, trial, last+1) {
		last++
		add(last, dir)
	}
	for _, n := range r.data.points() {
		if dir := r.data.dir(m.Name, e.Name, trial, n); n > last && r.data.holds(dir) {
			add(n, dir)
		}
	}
	return all
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
		for _, e := range r.config.Engines {
			for _, m := range r.config.Models {
				part, err := p.partition(ctx, m, e)
				if err != nil {
					return err
				}
				if part.Bytes > 0 {
					one.Partitions = append(one.Partitions, part)
				}
			}
		}
		r.result.Sweep.Points = append(r.result.Sweep.Points, one)
	}
	return nil
}
