package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
	estimates "github.com/mailbench/mailbench/workloads/estimate"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

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
				part, err := estimates.Partition(ctx, p.workload, p.source, m, e)
				if err != nil {
					return err
				}
				if part.Bytes > 0 {
					one.Partitions = append(one.Partitions, results.Partition{
						Model: m.Name, Engine: e.Name,
						Table: part.Table, Bytes: part.Bytes,
					})
				}
			}
		}
		r.result.Sweep.Points = append(r.result.Sweep.Points, one)
	}
	return nil
}
