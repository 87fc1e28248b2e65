package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
)

// Run carries out the workload with each model on each engine and returns what
// was found. A cell that fails is in the result with its reason, and the others
// go on. When ctx ends, what was measured until then is returned, marked as
// interrupted. The error is of what stands before all cells: a data folder that
// cannot be used, an engine that cannot be reached, a mail file that cannot be
// read, a log that cannot be written.
func Run(ctx context.Context, c Config) (result *reports.Run, err error) {
	if c.Audit == AuditOnly && c.DataDir == "" {
		return nil, errors.New("an audit by itself needs the data folder of an earlier run")
	}
	data, err := openDataDir(c.DataDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, data.close()) }()
	census, err := c.Workload.Census(ctx)
	if err != nil {
		return nil, err
	}
	r := runner{config: &c, data: data, census: census, source: c.Mail}
	if r.source == nil {
		r.source = messages.NewGenerator(c.Workload)
	}
	started := time.Now()
	r.result = &reports.Run{
		Format: reports.Format, Workload: c.Workload.Name, Seed: c.Workload.Seed,
		Started:     started.UTC().Format(time.RFC3339),
		Environment: Environment(data.path),
		Settings:    c.settings(),
		Digests:     map[string]string{"workload": digest(c.Workload.Source)},
		Cells:       []reports.Cell{},
	}
	if c.LatencyLog != nil && c.Audit != AuditOnly {
		if r.log, err = latency.NewLog(c.LatencyLog, started); err != nil {
			return nil, err
		}
	}
	if err := r.reach(ctx); err != nil {
		return nil, err
	}
	if err := r.cells(ctx); err != nil {
		return nil, err
	}
	if info := r.source.Info(); info.File != "" {
		r.result.Mail = &reports.MailInfo{File: info.File, Messages: info.Messages, Bytes: info.Bytes, Malformed: info.Malformed}
		r.result.Digests["mail"] = info.SHA256
	}
	r.result.Seconds = time.Since(started).Seconds()
	r.result.Interrupted = ctx.Err() != nil
	if r.log != nil {
		err = r.log.Flush()
	}
	return r.result, err
}

// runner is one run.
type runner struct {
	config *Config
	data   *dataDir
	census *workloads.Census
	source messages.Source
	log    *latency.Log
	result *reports.Run
	at     Progress // the cell under way
}

// cells runs all cells, trial by trial so that trials of one cell lie apart:
// what disturbs the machine for a while does not disturb all trials of one.
func (r *runner) cells(ctx context.Context) error {
	c := r.config
	trials := max(1, c.Trials)
	r.at.Cells = trials * len(c.Engines) * len(c.Models)
	for trial := 1; trial <= trials; trial++ {
		for _, e := range c.Engines {
			for _, m := range c.Models {
				if ctx.Err() != nil {
					return nil
				}
				r.at = Progress{Model: m.Name, Engine: e.Name, Trial: trial, Cell: r.at.Cell + 1, Cells: r.at.Cells}
				cell := &cell{
					config: c, model: m, engine: e, trial: trial, path: r.data.cellDir(m.Name, e.Name, trial),
					source: r.source, census: r.census, log: r.log, progress: r.progress,
					large: semaphore.NewWeighted(largeAtOnce),
				}
				if err := r.cell(ctx, cell); err != nil {
					return err
				}
			}
		}
	}
	if c.Audit == AuditOnly && len(r.result.Audits)+len(r.result.Cells) == 0 && ctx.Err() == nil {
		return fmt.Errorf("nothing to audit in %s: no data set of these models and engines", r.data.path)
	}
	r.floor(ctx)
	return nil
}

func (r *runner) cell(ctx context.Context, c *cell) error {
	if r.config.Audit == AuditOnly {
		// A run that was killed had not come to all of its models.
		if d, err := readDataset(c.path); d == nil && err == nil {
			return nil
		}
		c.auditOnly(ctx)
	} else {
		c.run(ctx)
	}
	if r.config.Trials <= 1 {
		for i := range c.cells {
			c.cells[i].Trial = 0
		}
	}
	r.result.Cells = append(r.result.Cells, c.cells...)
	if c.left != "" {
		r.result.Left = append(r.result.Left, c.left)
	}
	if c.audit != nil {
		r.result.Audits = append(r.result.Audits, *c.audit)
	}
	if c.schema != nil {
		r.result.Digests["schema "+c.schema.Name] = digest(c.schema.Source)
	}
	if r.data.temporary {
		if err := os.RemoveAll(c.path); err != nil {
			return fmt.Errorf("remove temporary data: %w", err)
		}
	}
	return nil
}

// progress completes what a cell tells and hands it on.
func (r *runner) progress(p Progress) {
	if r.config.Progress != nil {
		p.Model, p.Engine, p.Trial, p.Cell, p.Cells = r.at.Model, r.at.Engine, r.at.Trial, r.at.Cell, r.at.Cells
		r.config.Progress(p)
	}
}

func (c *Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return DefaultWorkers
}

func (c *Config) maxLag() time.Duration {
	if c.MaxLag > 0 {
		return c.MaxLag
	}
	return DefaultMaxLag
}

// settings are what shapes a figure besides workload, schema and engine.
func (c *Config) settings() map[string]string {
	s := map[string]string{
		"durability": c.Durability.String(),
		"workers":    strconv.Itoa(c.workers()),
		"max-lag":    c.maxLag().String(),
		"trials":     strconv.Itoa(max(1, c.Trials)),
		"cache":      strconv.FormatInt(c.CacheBytes, 10),
		"audit":      c.Audit.String(),
	}
	for _, e := range c.Engines {
		said := c.Workload.Engines[e.Name]
		if said == nil {
			continue
		}
		if len(said.Contact) > 0 {
			s[e.Name+".contact"] = strings.Join(said.Contact, ",")
		}
		for k, v := range said.Settings {
			s[e.Name+"."+k] = v
		}
	}
	return s
}
