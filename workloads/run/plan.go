package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
)

// PlanFormat is the version of the JSON of a Plan. Within a version fields are only added.
const PlanFormat = "mailbench.plan/2"

// ErrDisk says that a run does not fit on the disk.
var ErrDisk = errors.New("the disk is too small")

// Plan is what a run would do.
type Plan struct {
	Format       string      `json:"format"`
	Workload     string      `json:"workload"`
	Models       []string    `json:"models"`
	Engines      []string    `json:"engines"`
	Trials       int         `json:"trials"`
	Reuses       bool        `json:"reuses,omitempty"` // trials after the first load nothing
	Combinations int         `json:"combinations"`     // of models, engines, trials and points of a sweep
	Sweep        string      `json:"sweep,omitempty"`  // the value that a sweep changes
	Points       []*Estimate `json:"points"`           // what each combination does; one, if there is no sweep
	Seconds      float64     `json:"seconds"`          // all combinations, without the time that engines take to settle
	Disk         []PlanDisk  `json:"disk"`             // of engines in this process
	Folder       string      `json:"folder"`           // where these keep their data
	Need         float64     `json:"needed_bytes"`     // the most that Folder must hold at a time
	Free         float64     `json:"free_bytes"`       // what is free in Folder; 0: not known
	Fits         bool        `json:"fits"`             // Folder has room, or its free space is not known
	Why          string      `json:"why,omitempty"`    // the error, if Fits is false

	tasks []task
	each  []*Estimate // what each task does
}

// passing is how many bytes of logs, and of files that are replaced but not yet removed, an embedded store has on top
// of the room for compaction, or else a second copy of its data. In a run of quick, du has found 10 to 100 MB a store.
const passing = 30e6

// PlanDisk is how much disk a model takes on an engine, in bytes, uncompressed and with room for compaction.
type PlanDisk struct {
	Model  string  `json:"model"`
	Engine string  `json:"engine"`
	Point  string  `json:"point,omitempty"`
	Bytes  float64 `json:"bytes"`
}

// DryRun says what a run would do, and touches no engine. If the disk is too small for the run,
// it returns both the plan and the error.
func DryRun(ctx context.Context, c Config) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	points, err := c.points(ctx)
	if err != nil {
		return nil, err
	}
	dir := cmp.Or(c.DataDir, os.TempDir())
	p, err := c.plan(ctx, points, dir, freeBytes(dir))
	if err != nil {
		return nil, err
	}
	if c.Audit != AuditOnly {
		err = p.check()
	}
	if p.Fits = err == nil; !p.Fits {
		p.Why = err.Error()
	}
	return p, err
}

// plan walks the tasks of the run and adds up how long they take, and how much disk they need in a folder next to the
// data that is there already.
func (c *Config) plan(ctx context.Context, points []point, dir string, free float64) (*Plan, error) {
	p := &Plan{
		Format: PlanFormat, Workload: c.Workload.Name, Trials: c.trials(), Reuses: c.reuses(), Disk: []PlanDisk{},
		Folder: dir, Free: free,
	}
	p.Models, p.Engines = c.names()
	if c.Workload.Sweep != nil && len(points) > 1 {
		p.Sweep = c.Workload.Sweep.Name()
	}
	for i := range points {
		p.Points = append(p.Points, c.estimate(&points[i], 0))
	}
	data := &dataDir{path: dir, temporary: c.DataDir == ""}
	tasks := c.tasks(points, data)
	p.tasks, p.Combinations = tasks, len(tasks)
	kept := c.DataDir != "" || p.Reuses // else each data set is removed before the next one
	has := map[string]int{}             // messages of each data set, by its folder
	disk := map[[3]string]float64{}     // size of each data set
	for i := range tasks {
		t := &tasks[i]
		if _, known := has[t.dir]; !known {
			has[t.dir] = data.delivered(t.dir)
		}
		e := c.estimate(t.at, has[t.dir])
		has[t.dir] = e.Messages
		p.each, p.Seconds = append(p.each, e), p.Seconds+e.seconds()
		of := [...]string{t.model.Name, t.engine.Name, t.at.value}
		bytes, known := disk[of]
		if !known {
			report, err := t.at.forecast(ctx, t.model, t.engine)
			if err != nil {
				return nil, err
			}
			if report != nil && !t.engine.Remote {
				bytes = report.Space.Disk[0] * e.grown(t.at.forecastSize())
				bytes = math.Round(bytes + min(bytes, passing))
				p.Disk = append(p.Disk, PlanDisk{t.model.Name, t.engine.Name, t.at.value, bytes})
			}
			disk[of] = bytes
		}
		if kept {
			p.Need += bytes * e.added()
		} else {
			p.Need = max(p.Need, bytes)
		}
	}
	return p, nil
}

// check refuses a run that does not fit on the disk.
func (p *Plan) check() error {
	if p.Free <= 0 || p.Need <= p.Free {
		return nil
	}
	return fmt.Errorf("%w: the run needs about %s in %s, which has %s free; make the population smaller, or name "+
		"another folder (--data, or TMPDIR)",
		ErrDisk, words.Size(p.Need), p.Folder, words.Size(p.Free))
}

// WriteText prints the plan for people.
func (p *Plan) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "Workload %s: %s, %s, %s. For each of %s:\n", p.Workload, words.Plural(len(p.Models), "model"),
		words.Plural(len(p.Engines), "engine"), words.Plural(p.Trials, "trial"), words.Plural(p.Combinations, "combination"))
	for _, e := range p.Points {
		fmt.Fprintln(out)
		if e.Value != "" {
			fmt.Fprintf(out, "With %s=%s: ", p.Sweep, e.Value)
		}
		e.writeText(out)
	}
	if p.Reuses {
		fmt.Fprintln(out, "\nTrials after the first use the store that is there: they run all phases but the load.")
	}
	fmt.Fprintf(out, "\nTime: about %v in all, plus the time that engines take to settle.\n",
		duration(p.Seconds).Round(time.Second))
	if len(p.Disk) == 0 { // no engine in this process
		return nil
	}
	fmt.Fprintln(out, "\nDisk, with room for compaction, uncompressed:")
	for _, d := range p.Disk {
		name := d.Model + " " + d.Engine
		if d.Point != "" {
			name += " at " + d.Point
		}
		fmt.Fprintf(out, "  %-24s %s\n", name, words.Size(d.Bytes))
	}
	fmt.Fprintf(out, "  needed in total: %s in %s", words.Size(p.Need), p.Folder)
	if p.Free > 0 {
		fmt.Fprintf(out, ", which has %s free", words.Size(p.Free))
	}
	_, err := fmt.Fprintln(out)
	return err
}
