package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mailbench/mailbench/drivers"
	estimates "github.com/mailbench/mailbench/workloads/estimate"
	"github.com/mailbench/mailbench/workloads/messages"
)

// ErrDisk says that a run does not fit on the disk.
var ErrDisk = errors.New("the disk is too small")

// disk is how much the run needs at once on the disk of the data folder, in bytes. Each
// store is removed before the next one, unless the data is kept.
func (c *Config) disk(ctx context.Context, e *estimates.Estimate, source messages.Source, each func(model, engine string, bytes float64)) (float64, error) {
	sum, largest := 0.0, 0.0
	for _, engine := range c.Engines {
		for _, m := range c.Models {
			bytes, ok, err := e.Disk(ctx, c.Workload, source, m, engine)
			if err != nil {
				return 0, err
			}
			if ok {
				sum += bytes * float64(max(1, c.Trials))
				largest = max(largest, bytes)
				each(m.Name, engine.Name, bytes)
			}
		}
	}
	if c.DataDir != "" {
		return sum, nil
	}
	return largest, nil
}

// fits refuses a run that does not fit on the disk. A data set that is there already
// is not counted again.
func (c *Config) fits(ctx context.Context, points []point, dir string, free float64) error {
	if c.Audit == AuditOnly || c.kept(dir, points[0].number) {
		return nil
	}
	most := 0.0
	for i := range points {
		p := &points[i]
		e := estimates.Of(p.workload, p.census, p.source)
		if err := c.at(p).fitElsewhere(ctx, e, p.source, freeBytes); err != nil {
			return err
		}
		most += e.AtMost() * float64(len(c.Models)*max(1, c.Trials))
	}
	if free <= 0 || most < free {
		return nil // far from the bound: there is no need to look closer
	}
	need, err := c.atOnce(ctx, points, func(*point, string, string, float64) {})
	if err != nil || need <= free {
		return err
	}
	return fmt.Errorf("%w: the run needs about %s in %s, which has %s free; make the population smaller, or name another folder (--data, or TMPDIR)",
		ErrDisk, estimates.Size(need), dir, estimates.Size(free))
}

// kept reports whether the folder has data of one of the stores already, which is known to
// fit.
func (c *Config) kept(dir string, number int) bool {
	for _, m := range c.Models {
		for _, engine := range c.Engines {
			if _, err := os.Stat((&dataDir{path: dir}).cellDir(m.Name, engine.Name, 1, number)); err == nil {
				return true
			}
		}
	}
	return false
}

// elsewhere is the folder in which a remote engine keeps its data, if that is on this
// machine and known, and how much is free there; else "".
func (c *Config) elsewhere(engine drivers.Engine, freeIn func(dir string) float64) (dir string, free float64) {
	if c.EngineDir == nil || !engine.Remote {
		return "", 0
	}
	var contact []string
	if e := c.Workload.Engines[engine.Name]; e != nil {
		contact = e.Contact
	}
	if dir = c.EngineDir(engine.Name, contact); dir != "" {
		free = freeIn(dir)
	}
	if free <= 0 {
		return "", 0
	}
	return dir, free
}

// least is how much the run takes at least of a remote engine's disk at once, in bytes.
func (c *Config) least(ctx context.Context, e *estimates.Estimate, source messages.Source, engine drivers.Engine) (float64, error) {
	sum, largest := 0.0, 0.0
	for _, m := range c.Models {
		bytes, ok, err := e.Least(ctx, c.Workload, source, m, engine)
		if err != nil {
			return 0, err
		}
		if ok {
			sum, largest = sum+bytes*float64(max(1, c.Trials)), max(largest, bytes)
		}
	}
	if c.DataDir != "" {
		return sum, nil
	}
	return largest, nil
}

// fitElsewhere refuses a run that does not fit on the disk of a remote engine whose data is
// on this machine.
func (c *Config) fitElsewhere(ctx context.Context, e *estimates.Estimate, source messages.Source, freeIn func(dir string) float64) error {
	for _, engine := range c.Engines {
		dir, free := c.elsewhere(engine, freeIn)
		if dir == "" || e.AtMost()*float64(len(c.Models)*max(1, c.Trials)) < free {
			continue
		}
		need, err := c.least(ctx, e, source, engine)
		if err != nil {
			return err
		}
		if need > free {
			return fmt.Errorf("%w: %s needs at least %s in %s, where its nodes keep their data, which has %s free; make the population smaller, or free space there",
				ErrDisk, engine.Name, estimates.Size(need), dir, estimates.Size(free))
		}
	}
	return nil
}

// atOnce is how much disk the run needs at once at all of its points: that of the largest, or of all if the data
// is kept.
func (c *Config) atOnce(ctx context.Context, points []point, each func(p *point, model, engine string, bytes float64)) (need float64, err error) {
	for i := range points {
		p := &points[i]
		e := estimates.Of(p.workload, p.census, p.source)
		one, err := c.at(p).disk(ctx, e, p.source, func(model, engine string, bytes float64) { each(p, model, engine, bytes) })
		if err != nil {
			return 0, err
		}
		if c.DataDir != "" {
			need += one
		} else {
			need = max(need, one)
		}
	}
	return need, nil
}

// DryRun prints what a run would do, and touches no engine.
func DryRun(ctx context.Context, c Config, out io.Writer) error {
	if err := cmp.Or(c.CheckSweep(), c.checkShard()); err != nil {
		return err
	}
	points, err := c.points(ctx)
	if err != nil {
		return err
	}
	dir := c.DataDir
	if dir == "" {
		dir = os.TempDir()
	}
	cells := len(c.Models) * len(c.Engines) * max(1, c.Trials)
	fmt.Fprintf(out, "Workload %s: %d models, %d engines, %d trials. For each of %d combinations:\n\n",
		c.Workload.Name, len(c.Models), len(c.Engines), max(1, c.Trials), cells*len(points))
	var took time.Duration
	for i := range points {
		p := &points[i]
		e := estimates.Of(p.workload, p.census, p.source)
		if p.number > 0 {
			fmt.Fprintf(out, "With %s=%s: ", c.Workload.Sweep.Path, p.value)
		}
		if err := e.WriteText(out); err != nil {
			return err
		}
		if took += e.Time(); i < len(points)-1 {
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintf(out, "\nTime: about %v in all, and what engines take to settle.\n", (took * time.Duration(cells)).Round(time.Second))
	fmt.Fprintln(out, "\nDisk, with room for compaction, uncompressed:")
	need, err := c.atOnce(ctx, points, func(p *point, model, engine string, bytes float64) {
		name := model + " " + engine
		if p.number > 0 {
			name += " at " + p.value
		}
		fmt.Fprintf(out, "  %-24s %s\n", name, estimates.Size(bytes))
	})
	if err != nil {
		return err
	}
	for _, engine := range c.Engines {
		if !engine.Remote {
			continue
		}
		if dir, free := c.elsewhere(engine, freeBytes); dir != "" {
			last := &points[len(points)-1] // of a sweep, the largest
			e := estimates.Of(last.workload, last.census, last.source)
			need, err := c.at(last).least(ctx, e, last.source, engine)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %s: at least %s in %s, which has %s free\n", engine.Name, estimates.Size(need), dir, estimates.Size(free))
			continue
		}
		fmt.Fprintf(out, "  %s: how much its nodes have free is not known; %q says what it takes\n", engine.Name, "mailbench schema forecast")
	}
	free := freeBytes(existing(dir))
	fmt.Fprintf(out, "  needed at once: %s in %s", estimates.Size(need), dir)
	if free > 0 {
		fmt.Fprintf(out, ", which has %s free", estimates.Size(free))
	}
	fmt.Fprintln(out)
	return c.fits(ctx, points, dir, free)
}
