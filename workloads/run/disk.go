package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas/words"
	estimates "github.com/mailbench/mailbench/workloads/estimate"
)

// ErrDisk says that a run does not fit on the disk.
var ErrDisk = errors.New("the disk is too small")

// diskUse is how much disk a model takes on an engine, in bytes, if that is known.
type diskUse func(ctx context.Context, e *estimates.Estimate, p *point, m models.Model,
	engine drivers.Engine) (bytes float64, ok bool, err error)

// files is how much an embedded engine's files take in the data folder.
func files(
	ctx context.Context, e *estimates.Estimate, p *point, m models.Model, engine drivers.Engine,
) (float64, bool, error) {
	return e.Disk(ctx, p.workload, p.source, m, engine)
}

// least is how much a model takes at least on a remote engine's disks.
func least(
	ctx context.Context, e *estimates.Estimate, p *point, m models.Model, engine drivers.Engine,
) (float64, bool, error) {
	return e.Least(ctx, p.workload, p.source, m, engine)
}

// need is how much disk the run needs at once on engines, in bytes, beside what is there
// already. Each store is removed before the next one, unless its data stays. Need calls each
// once for every point, with the size of its data set, if takes knows it.
func (c *Config) need(
	ctx context.Context, points []point, dir string, engines []drivers.Engine, takes diskUse, each func(p *point, model,
		engine string, bytes float64),
) (need float64, err error) {
	for _, engine := range engines {
		for _, m := range c.Models {
			one, err := c.needOf(ctx, points, dir, m, engine, takes, each)
			if err != nil {
				return 0, err
			}
			if c.stays() {
				need += one
			} else {
				need = max(need, one)
			}
		}
	}
	return need, nil
}

// needOf is need for a model on an engine.
func (c *Config) needOf(
	ctx context.Context, points []point, dir string, m models.Model, engine drivers.Engine, takes diskUse,
	each func(p *point, model, engine string, bytes float64),
) (need float64, err error) {
	data := &dataDir{path: dir, temporary: c.DataDir == ""}
	whole := map[*point]float64{}
	for trial := 1; trial <= c.trials(); trial++ {
		all, err := c.series(points, data, m, engine, trial)
		if err != nil {
			return 0, err
		}
		for _, s := range all {
			ofPoints, err := s.estimates(data)
			if err != nil {
				return 0, err
			}
			one := 0.0
			for i, p := range s.points {
				if _, ok := whole[p]; !ok {
					bytes, ok, err := takes(ctx, ofPoints[i], p, m, engine)
					if err != nil {
						return 0, err
					}
					if whole[p] = bytes; ok {
						each(p, m.Name, engine.Name, bytes)
					}
				}
				one += whole[p] * ofPoints[i].Added()
			}
			if c.stays() {
				need += one
			} else {
				need = max(need, one)
			}
		}
	}
	return need, nil
}

// noEach is for callers of need that want no sizes of points.
func noEach(*point, string, string, float64) {}

// fits refuses a run that does not fit on the disk. Messages of kept data sets are not counted.
func (c *Config) fits(ctx context.Context, points []point, dir string, free float64) error {
	if c.Audit == AuditOnly {
		return nil
	}
	if err := c.fitElsewhere(ctx, points, dir, freeBytes); err != nil {
		return err
	}
	if free <= 0 || c.atMost(points) < free {
		return nil // atMost is quicker to compute than need
	}
	need, err := c.need(ctx, points, dir, c.Engines, files, noEach)
	if err != nil || need <= free {
		return err
	}
	return fmt.Errorf("%w: the run needs about %s in %s, which has %s free; make the population smaller, or name "+
		"another folder (--data, or TMPDIR)",
		ErrDisk, words.Size(need), dir, words.Size(free))
}

// atMost is an upper bound of what the run takes on one engine, in bytes.
func (c *Config) atMost(points []point) (bytes float64) {
	for i := range points {
		p := &points[i]
		bytes += estimates.Of(p.workload, p.census, p.source).AtMost() * float64(len(c.Models)*c.trials())
	}
	return bytes
}

// contact is the addresses of a remote engine's nodes, or nil for its default.
func (c *Config) contact(engine drivers.Engine) []string {
	if e := c.Workload.Engines[engine.Name]; e != nil {
		return e.Contact
	}
	return nil
}

// elsewhere is the folder in which a remote engine keeps its data, if that is on this
// machine and known, and how much is free there; else "".
func (c *Config) elsewhere(engine drivers.Engine, freeIn func(dir string) float64) (dir string, free float64) {
	if c.EngineDir == nil || !engine.Remote {
		return "", 0
	}
	if dir = c.EngineDir(engine.Name, c.contact(engine)); dir != "" {
		free = freeIn(dir)
	}
	if free <= 0 {
		return "", 0
	}
	return dir, free
}

// fitElsewhere refuses a run that does not fit on the disk of a remote engine whose data is
// on this machine.
func (c *Config) fitElsewhere(ctx context.Context, points []point, dir string, freeIn func(dir string) float64) error {
	for _, engine := range c.Engines {
		theirs, free := c.elsewhere(engine, freeIn)
		if theirs == "" || c.atMost(points) < free {
			continue
		}
		need, err := c.need(ctx, points, dir, []drivers.Engine{engine}, least, noEach)
		if err != nil {
			return err
		}
		if need > free {
			return fmt.Errorf("%w: %s needs at least %s in %s, where its nodes keep their data, which has %s free; make the "+
				"population smaller, or free space there",
				ErrDisk, engine.Name, words.Size(need), theirs, words.Size(free))
		}
	}
	return nil
}
