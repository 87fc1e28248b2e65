package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

// PlanFormat is the version of the JSON of a Plan. Within a version fields are only added.
const PlanFormat = "mailbench.plan/1"

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
	Disk         []PlanDisk  `json:"disk"`
	Remote       []PlanNodes `json:"remote,omitempty"`
	Folder       string      `json:"folder"`                 // where embedded engines keep their data
	Need         float64     `json:"needed_bytes"`           // the most that Folder must hold at a time
	Search       float64     `json:"search_bytes,omitempty"` // expected deliveries of a search, not in Need, since its rates are a guess
	Free         float64     `json:"free_bytes"`             // what is free in Folder; 0: not known
	Fits         bool        `json:"fits"`                   // the disks are large enough, or their free space is not known
	Why          string      `json:"why,omitempty"`          // the error, if Fits is false

	tasks   []task
	weights []float64 // about how many seconds each task takes, with one to open and close its store
}

// PlanDisk is how much disk a model takes on an engine, in bytes, uncompressed and with room for compaction.
type PlanDisk struct {
	Model  string  `json:"model"`
	Engine string  `json:"engine"`
	Point  string  `json:"point,omitempty"`
	Bytes  float64 `json:"bytes"`
}

// PlanNodes is what the nodes of an engine over the network need, if their data is on this machine.
type PlanNodes struct {
	Engine string  `json:"engine"`
	Folder string  `json:"folder,omitempty"` // empty: it is not known how much is free
	Least  float64 `json:"least_bytes,omitempty"`
	Free   float64 `json:"free_bytes,omitempty"`
}

// DryRun says what a run would do, and touches no engine. If a disk is too small for the run,
// it returns both the plan and the error.
func DryRun(ctx context.Context, c Config) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	points, err := c.points(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.plan(ctx, points, cmp.Or(c.DataDir, os.TempDir()), freeBytes)
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

// plan is what the run does at the points, how long it takes, and how much disk it needs at once, next to what is there
// already. A data set that cannot be read counts as empty: then there are both a plan and an error.
func (c *Config) plan(
	ctx context.Context, points []point, dir string, freeIn func(dir string) float64,
) (*Plan, error) {
	p := &Plan{
		Format: PlanFormat, Workload: c.Workload.Name, Trials: c.trials(), Reuses: c.reuses(), Folder: dir,
		Free: max(0, freeIn(dir)), Disk: []PlanDisk{},
	}
	p.Models, p.Engines = c.names()
	for _, e := range c.Engines {
		if e.Remote {
			p.Remote = append(p.Remote, c.nodes(e, freeIn))
		}
	}
	if c.Workload.Sweep != nil && len(points) > 1 {
		p.Sweep = c.Workload.Sweep.Name()
	}
	for i := range points {
		p.Points = append(p.Points, c.estimate(&points[i], c.remote(), 0))
		p.Points[i].round()
	}
	data, has := &dataDir{path: dir, temporary: c.DataDir == ""}, map[string]int64{}
	disks := disks{Plan: p, kept: c.DataDir != "" || c.reuses(), whole: map[[3]string]float64{}, in: map[string]float64{}}
	tasks, err := c.walk(points, data)
	if err != nil {
		return nil, err
	}
	p.tasks, p.Combinations = tasks, len(tasks)
	var took time.Duration
	var unread error
	for i := range tasks {
		one := &tasks[i]
		n, known := has[one.dir]
		if !known { // the first load of a data set is what that lacks
			n, err = data.delivered(one.dir)
			unread = cmp.Or(unread, err)
		}
		has[one.dir] = int64(one.at.census.Messages())
		e := c.estimate(one.at, one.engine.Remote, int(n))
		took += e.time()
		p.weights = append(p.weights, 1+e.time().Seconds())
		if err := disks.add(ctx, one, e); err != nil {
			return nil, err
		}
	}
	p.Seconds = took.Seconds()
	return p, unread
}

// disks adds up how much the tasks of a plan need. Each store is removed before the next one, unless its data is kept.
type disks struct {
	*Plan
	kept  bool
	whole map[[3]string]float64 // size of a data set at its end, by model, engine and point
	in    map[string]float64    // what the tasks so far have added to a data set, by its folder
}

// add adds a task. A cluster whose disks are known is held to the least that it can take.
func (d *disks) add(ctx context.Context, t *task, e *Estimate) error {
	need := &d.Need
	if t.engine.Remote {
		n := &d.Remote[slices.IndexFunc(d.Remote, func(n PlanNodes) bool { return n.Engine == t.engine.Name })]
		if n.Folder == "" {
			return nil
		}
		need = &n.Least
	}
	of := [...]string{t.model.Name, t.engine.Name, t.at.value}
	whole, known := d.whole[of]
	if !known {
		bytes, ok, err := e.disk(ctx, t.model, t.engine)
		if err != nil {
			return err
		}
		if ok && !t.engine.Remote {
			d.Disk = append(d.Disk, PlanDisk{t.model.Name, t.engine.Name, t.at.value, math.Round(bytes)})
		}
		d.whole[of], whole = bytes, bytes
	}
	more, searched := whole*e.added(), 0.0
	if !t.engine.Remote {
		searched = whole * e.Searched / max(1, float64(e.Messages)+e.Delivered)
	}
	if d.in[t.dir] += more; d.kept {
		*need, d.Search = *need+more, d.Search+searched
	} else {
		*need, d.Search = max(*need, d.in[t.dir]), max(d.Search, searched)
	}
	return nil
}

// nodes is where the nodes of an engine keep their data, and how much is free there, if that is known.
func (c *Config) nodes(e drivers.Engine, freeIn func(dir string) float64) PlanNodes {
	n, folder := PlanNodes{Engine: e.Name}, ""
	if c.Local != nil {
		folder, _ = c.Local(e.Name, c.contact(e.Name))
	}
	if folder != "" && freeIn(folder) > 0 {
		n.Folder, n.Free = folder, freeIn(folder)
	}
	return n
}

// WriteText prints the plan for people.
func (p *Plan) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "Workload %s: %s, %s, %s. For each of %s:\n\n", p.Workload, words.Plural(len(p.Models), "model"),
		words.Plural(len(p.Engines), "engine"), words.Plural(p.Trials, "trial"), words.Plural(p.Combinations, "combination"))
	for i, one := range p.Points {
		if one.Value != "" {
			fmt.Fprintf(out, "With %s=%s: ", p.Sweep, one.Value)
		}
		fmt.Fprint(out, one.text())
		if i < len(p.Points)-1 {
			fmt.Fprintln(out)
		}
	}
	if p.Reuses {
		fmt.Fprintln(out, "\nTrials after the first use the store that is there: they run all phases but the load.")
	}
	fmt.Fprintf(out, "\nTime: about %v in all, plus the time that engines take to settle.\n",
		time.Duration(p.Seconds*1e9).Round(time.Second))
	fmt.Fprintln(out, "\nDisk, with room for compaction, uncompressed:")
	for _, d := range p.Disk {
		name := d.Model + " " + d.Engine
		if d.Point != "" {
			name += " at " + d.Point
		}
		fmt.Fprintf(out, "  %-24s %s\n", name, words.Size(d.Bytes))
	}
	for _, n := range p.Remote {
		if n.Folder != "" {
			fmt.Fprintf(out, "  %s: at least %s in %s, which has %s free\n", n.Engine, words.Size(n.Least),
				n.Folder, words.Size(n.Free))
			continue
		}
		fmt.Fprintf(out, "  %s: the free space of its nodes is unknown; %q estimates the size\n",
			n.Engine, "mailbench schema forecast")
	}
	fmt.Fprintf(out, "  needed in total: %s in %s", words.Size(p.Need), p.Folder)
	if p.Free > 0 {
		fmt.Fprintf(out, ", which has %s free", words.Size(p.Free))
	}
	if p.Search > 0 {
		fmt.Fprintf(out, "; the search may deliver as much as %s more", words.Size(p.Search))
	}
	_, err := fmt.Fprintln(out)
	return err
}

// timeLeft is how long a run still takes. A combination takes as long as those before
// it did. In the first one, phases take what the workload says or what their own
// progress promises.
type timeLeft struct {
	now     func() time.Time
	phases  []PlanPhase
	weights []float64 // seconds that each combination is expected to take, in order; nil: all alike

	started, began, phaseBegan time.Time // when the run, this combination and this phase began
	combination                int
	phase                      string
	took                       time.Duration // time of all combinations that have ended
}

// is reports whether the phase is the named one, or the one of which it is a step.
func (p *PlanPhase) is(phase string) bool {
	return phase == p.Name || strings.HasPrefix(phase, p.Name+stepOf)
}

func newTimeLeft(phases []PlanPhase, now func() time.Time) *timeLeft {
	return &timeLeft{now: now, started: now(), phases: phases}
}

// note adds to p how much of the run is done and how long the rest takes.
func (e *timeLeft) note(p *Progress) {
	now := e.now()
	if p.Combination != e.combination {
		if e.combination > 0 {
			e.took += now.Sub(e.began)
		}
		e.combination, e.began, e.phase = p.Combination, now, ""
	}
	if p.Phase != e.phase {
		e.phase, e.phaseBegan = p.Phase, now
	}
	if p.Combination == 0 { // segments meet before the first combination
		return
	}
	left, known := e.rest(p, now)
	whole := now.Sub(e.began) + left
	this := e.weight(p.Combination-1, p.Combination)
	if ended := e.weight(0, p.Combination-1); ended > 0 {
		whole, known = time.Duration(float64(e.took)*this/ended), true
		left = max(left, whole-now.Sub(e.began))
	}
	if known {
		p.Left = left + time.Duration(float64(whole)*e.weight(p.Combination, p.Combinations)/this)
		elapsed := now.Sub(e.started)
		p.Done = float64(elapsed) / float64(max(elapsed+p.Left, 1))
	}
}

// weight adds up the weights of the combinations from..to-1, numbered from 0.
func (e *timeLeft) weight(from, to int) (sum float64) {
	for i := from; i < to; i++ {
		if i < len(e.weights) {
			sum += e.weights[i]
		} else {
			sum++
		}
	}
	return sum
}

// rest is how long this combination still takes by its phases. It returns false while the store is opened or closed,
// and if the load does not say how far it is.
func (e *timeLeft) rest(p *Progress, now time.Time) (left time.Duration, known bool) {
	at := slices.IndexFunc(e.phases, func(x PlanPhase) bool { return x.is(p.Phase) })
	if at < 0 {
		return 0, false
	}
	switch x := &e.phases[at]; {
	case p.ETA > 0:
		left = p.ETA
	case x.Kind != workloads.Load.String():
		left = max(0, x.Time-now.Sub(e.phaseBegan))
	case !p.Finished:
		return 0, false
	}
	for _, x := range e.phases[at+1:] {
		left += x.Time
	}
	return left, true
}
