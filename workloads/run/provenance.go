package run

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/replay"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// provenance is the result before anything was measured: all that it takes to
// repeat the run. The only error is that of ctx.
func (r *runner) provenance(ctx context.Context, started time.Time) (*results.Run, error) {
	c := r.config
	run := &results.Run{
		Format: results.Format, Seed: c.Workload.Seed, Started: started.UTC().Format(time.RFC3339),
		Command: append([]string{}, c.Command...), // none is no null
		Workload: results.Workload{
			Name: c.Workload.Name, Text: string(c.Workload.Source), SHA256: subject.Digest(c.Workload.Source),
			Overrides: c.Overrides,
		},
		Segment: results.Segment{Index: 1, Of: 1}, Environment: Environment(r.data.path),
		Config: results.Config{
			Trials: c.trials(), Durability: c.EngineOptions.Durability.String(),
			CacheBytes: c.EngineOptions.CacheBytes, Workers: c.Workers, MaxWait: c.maxWait().Seconds(),
			Audit: c.Audit.String(), Data: c.DataDir != "", FindMax: c.FindMax,
		},
		Settings: c.settings(), Schemas: []results.Schema{}, Phases: []results.Phase{}, Cells: []results.Cell{},
	}
	if s := c.Segment; s.Divides() {
		run.Segment = results.Segment{Index: s.Index, Of: s.Of, Start: c.Start.UTC().Format(time.RFC3339Nano)}
	}
	run.Machine.Name, _ = os.Hostname()
	if id, err := host.HostID(); err == nil && id != "" { // machine-id(5) wants a keyed hash of it
		run.Machine.ID = subject.Digest([]byte("mailbench " + id))[:16]
	}
	run.Config.Models, run.Config.Engines = c.names()
	if c.Mail != nil {
		run.Config.MailFile, run.Config.MailLimit = c.Mail.Info().File, c.MailLimit
	}
	if c.Audit == AuditOnly {
		return run, nil
	}
	for i := range r.points {
		phases, err := r.phases(ctx, &r.points[i])
		if err != nil {
			return nil, err
		}
		run.Phases = append(run.Phases, phases...)
	}
	run.Objectives, run.Answer = c.Workload.Expect, c.Workload.Answer.Says
	if c.FindMax != nil && len(run.Objectives) == 0 {
		run.Objectives = defaultObjectives
	}
	return run, nil
}

// phases are the phases at a point, with the digest of each trial's plan.
func (r *runner) phases(ctx context.Context, at *point) (all []results.Phase, err error) {
	c := r.config
	for i := range at.workload.Phases {
		p := &at.workload.Phases[i]
		phase := results.Phase{Name: p.Name, Kind: p.Kind.String(), Point: at.value}
		if p.Replay != nil {
			phase.Trace = p.Replay.Source.(*replay.Trace).SHA256
		}
		if p.Runs() {
			for trial := range c.trials() {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				drawn := at.workload.OfTrial(*p, trial+1)
				sum, digested := plan.PlanDigest(at.workload, &drawn, at.census)
				if trial == 0 {
					phase.SHA256, phase.Digested = sum, digested
				}
				phase.Trials = append(phase.Trials, sum)
			}
		}
		all = append(all, phase)
	}
	return all, nil
}

// addSchema notes the schema that a model ran with, once, without the parameters that a sweep changes.
func (r *runner) addSchema(s *schemas.Schema) {
	if slices.ContainsFunc(r.result.Schemas, func(have results.Schema) bool { return have.Model == s.Name }) {
		return
	}
	schema := results.Schema{
		Model: s.Name, Text: string(s.Source), SHA256: subject.Digest(s.Source), Parameters: s.Values(),
		Words: map[string]string{},
	}
	sweep := cmp.Or(r.config.Workload.Sweep, &workloads.Sweep{})
	for _, q := range s.Parameters {
		own, ofBase := "models."+s.Name+"."+q.Name, "models."+schemas.BaseOf(s.Name)+"."+q.Name
		if slices.Contains(sweep.Paths, own) || slices.Contains(sweep.Paths, ofBase) || len(q.Words) > 0 {
			delete(schema.Parameters, q.Name)
		}
		if len(q.Words) > 0 {
			schema.Words[q.Name] = q.Text(q.Value)
		}
	}
	r.result.Schemas = append(r.result.Schemas, schema)
}

// settings are what the workload sets for the engines' clients, by ENGINE.SETTING.
func (c *Config) settings() map[string]string {
	s := map[string]string{}
	for _, e := range c.Engines {
		config := c.Workload.Engines[e.Name]
		if config == nil {
			continue
		}
		if len(config.Contact) > 0 {
			s[e.Name+".contact"] = strings.Join(config.Contact, ",")
		}
		for k, v := range config.Settings {
			s[e.Name+"."+k] = v
		}
	}
	return s
}

// Environment describes this process and machine; dir is a folder on the disk
// that the stores are on.
func Environment(dir string) results.Environment {
	e := results.Environment{
		Version:  Version,
		Go:       runtime.Version(),
		GOGC:     cmp.Or(os.Getenv("GOGC"), "100"),
		MaxProcs: runtime.GOMAXPROCS(0),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				e.Commit = s.Value
			case "vcs.modified":
				e.Dirty = s.Value == "true"
			}
		}
		e.Version = version(info, e.Commit)
	}
	// Facts that the system does not report stay empty.
	e.Kernel, _ = host.KernelVersion()
	if cpus, err := cpu.Info(); err == nil && len(cpus) > 0 {
		e.CPU = cpus[0].ModelName
	}
	if memory, err := mem.VirtualMemory(); err == nil {
		e.Memory = int64(memory.Total)
	}
	if usage, err := disk.Usage(dir); err == nil {
		e.Disk = usage.Fstype
	}
	return e
}

// freeBytes is how much can be written on the disk of a folder, which need not exist yet; 0: not known.
func freeBytes(dir string) float64 {
	usage, err := disk.Usage(dir)
	for err != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		usage, err = disk.Usage(dir)
	}
	if err != nil {
		return 0
	}
	return float64(usage.Free)
}

// Version is the version of mailbench, also in a build that knows no commit.
const Version = "0.2.0-dev"

// version is that of a release, in a build from its module or its tag. A build from another version
// of the module adds that to Version. One from a clone has a commit, which results give in a field of
// its own.
func version(info *debug.BuildInfo, commit string) string {
	v := info.Main.Version
	switch number, release := strings.CutPrefix(v, "v"); {
	case release && !strings.ContainsAny(v, "-+"):
		return number
	case commit == "" && v != "" && v != "(devel)":
		return Version + "+" + v
	}
	return Version
}
