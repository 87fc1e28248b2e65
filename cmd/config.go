package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads/run"
)

// config turns the flags into the runner's configuration.
func (f *runFlags) config(known registry, name string, seeded bool) (*run.Config, error) {
	c := &run.Config{
		Trials: f.trials, DataDir: f.data, NoFloor: f.noFloor, Workers: f.workers,
		MaxLag: f.maxLag, EngineOptions: drivers.Options{CacheBytes: int64(f.cache)},
	}
	var err error
	if c.Models, err = known.pickModels(f.models); err != nil {
		return nil, err
	}
	if c.Engines, err = known.pickEngines(f.engines); err != nil {
		return nil, err
	}
	if c.EngineOptions.Durability, err = parseWord("durability", f.durability, drivers.DurabilityDefault, drivers.Memory,
		drivers.Process, drivers.Power); err != nil {
		return nil, err
	}
	if c.Audit, err = parseWord("audit", f.audit, run.NoAudit, run.AuditAfter, run.AuditOnly); err != nil {
		return nil, err
	}
	switch _, statErr := os.Stat(f.data); {
	case c.Audit == run.AuditOnly && f.data == "":
		return nil, usagef("--audit=only reads what an earlier run left: name its folder with --data DIR")
	case c.Audit == run.AuditOnly && statErr != nil:
		return nil, missing(fmt.Errorf("--audit=only reads what an earlier run left: %w", statErr))
	}
	if c.FindMax, err = f.findMax.config(); err != nil {
		return nil, err
	}
	if c.FindMax != nil && c.Audit == run.AuditOnly {
		return nil, usagef("--find-max measures, and --audit=only does not: leave one of them out")
	}
	if c.Shard, c.Start, err = f.shard.parse(); err != nil {
		return nil, err
	}
	c.ShardSilence = f.shard.timeout
	if c.Shard.Divides() && c.FindMax != nil {
		return nil, usagef("--find-max searches with one load generator: leave it out, or leave --shard out")
	}
	c.Null, c.EngineDir, c.EngineProcesses = &known.floor, engineDir, engineProcesses
	more, err := contactOverride(c.Engines, f.contact)
	if err != nil {
		return nil, err
	}
	if seeded { // seed 0 counts, too
		more = append(more, seedOverride(f.seed))
	}
	swept, err := sweepOverride(f.sweep)
	if err != nil {
		return nil, err
	}
	more = append(more, swept...)
	c.Overrides = slices.Concat(f.set, more)
	if c.Workload, err = f.workload(known.engines, name, more...); err != nil {
		return nil, blameSweep(err, f.sweep)
	}
	if err := known.checkModels(c.Workload); err != nil {
		return nil, blameSweep(err, f.sweep)
	}
	if own := c.Workload.Answer.Models; len(own) > 0 && !f.chosen {
		if c.Models, err = known.pickModels(own); err != nil {
			return nil, err
		}
	}
	if err := c.CheckSweep(); err != nil {
		return nil, usage(err)
	}
	if c.Trials == 0 {
		c.Trials = defaultTrials(c)
	}
	names := known.modelNames()
	for _, m := range c.Models { // models may be variants from files
		names = append(names, m.Name)
	}
	if err := c.Workload.CheckExpect(names, known.engineNames()); err != nil {
		return nil, usage(err)
	}
	if err := c.Shard.Check(c.Workload); err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// defaultTrials is how many trials a run has if no flag says. A number that counts on reuse of the store is
// not for sweeps and shards, which load in each trial.
func defaultTrials(c *run.Config) int {
	trials, sweeps := c.Workload.Trials, c.Workload.Sweep != nil
	switch {
	case c.FindMax != nil || c.Audit == run.AuditOnly:
		return 1
	case trials.Count > 0 && !(trials.Reuse && (sweeps || c.Shard.Divides())):
		return trials.Count
	case sweeps && c.DataDir == "":
		return 2 // up and down
	}
	return 1
}

// outputDir is where the results go. The workload's name may come from others' results, so
// it must not act as a path.
func (f *runFlags) outputDir(workload string) string {
	if f.output != "" {
		return f.output
	}
	if f.audit == run.AuditOnly.String() {
		workload = "audit" // any workload may have made the data set
	}
	return filepath.Join(resultsDir, filepath.Base(workload)+"-"+time.Now().Format("20060102-150405.000"))
}
