package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// checkResults DIR OPERATIONS [MODEL/ENGINE...] checks a run directory: its files,
// run.json against its JSON Schema, and that each model on each engine has
// executed OPERATIONS in phase measure.
func checkResults(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: results DIR OPERATIONS [MODEL/ENGINE...]")
	}
	dir := ts.MkAbs(args[0])
	operations, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	files, err := os.ReadDir(dir)
	ts.Check(err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := []string{reports.BenchFile, results.LatencyFile, page.HTMLFile, results.RunFile}; !slices.Equal(names, want) {
		ts.Fatalf("files %v, want %v", names, want)
	}
	ts.Check(fitsSchema(filepath.Join(dir, results.RunFile)))
	r, err := results.Open(dir)
	ts.Check(err)
	bench := ts.ReadFile(filepath.Join(dir, reports.BenchFile))
	html := ts.ReadFile(filepath.Join(dir, page.HTMLFile))
	for _, pair := range args[2:] {
		model, engine, _ := strings.Cut(pair, "/")
		at := slices.IndexFunc(r.Cells, func(c results.Cell) bool {
			return c.Model == model && c.Engine == engine && c.Phase == "measure"
		})
		if at < 0 {
			ts.Fatalf("no cell of %s, phase measure", pair)
		}
		checkCell(ts, &r.Cells[at], operations)
		if !benchHas(bench, model, engine) {
			ts.Fatalf("%s has no line of %s", reports.BenchFile, pair)
		}
		if !strings.Contains(html, model) {
			ts.Fatalf("%s does not name %s", page.HTMLFile, model)
		}
	}
	if len(args) > 2 {
		log, err := os.Open(filepath.Join(dir, results.LatencyFile))
		ts.Check(err)
		defer log.Close()
		times, err := latency.ReadLog(log, func(tag string) (string, bool) {
			pair, _, measured := strings.Cut(tag, "/measure/")
			return pair, measured
		})
		ts.Check(err)
		for _, pair := range args[2:] {
			if times[pair] == nil {
				ts.Fatalf("no times of %s in %s", pair, results.LatencyFile)
			}
		}
	}
}

// checkCell adds up what a cell says of its operations.
func checkCell(ts *testscript.TestScript, c *results.Cell, operations int64) {
	if c.Verdict == results.Failed {
		ts.Fatalf("%s on %s failed: %s", c.Model, c.Engine, c.Error)
	}
	var all int64
	for name, o := range c.Ops {
		all += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped + o.TooLarge + o.NoTarget
		l := o.Service
		switch {
		case o.Failed+o.Unknown > 0:
			ts.Fatalf("%s of %s on %s: %v", name, c.Model, c.Engine, o.Errors)
		case o.Support == results.Native && o.Count > 0 && o.Store.Requests <= 0:
			ts.Fatalf("%s of %s on %s made no store calls: %+v", name, c.Model, c.Engine, o)
		case o.Count > 0 && (l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max || l.Mean <= 0):
			ts.Fatalf("%s of %s on %s has the service times %+v", name, c.Model, c.Engine, l)
		}
	}
	if operations >= 0 && all != operations {
		ts.Fatalf("%s on %s: %d operations, want %d", c.Model, c.Engine, all, operations)
	}
}

// fitsSchema checks run.json against the schema that mailbench publishes for it.
func fitsSchema(name string) error {
	text, err := os.ReadFile("../workloads/results/run.schema.json")
	if err != nil {
		return err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("urn:mailbench:run:2", schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile("urn:mailbench:run:2")
	if err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	run, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return compiled.Validate(run)
}

// same A B checks that the runs in two directories have the same settings, and
// that operations counted the same: as a deterministic run does.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same A B")
	}
	a, err := results.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := results.Open(ts.MkAbs(args[1]))
	ts.Check(err)
	for _, pair := range [][2]any{
		{a.Workload.Text, b.Workload.Text}, {a.Config, b.Config}, {a.Phases, b.Phases}, {a.Schemas, b.Schemas}, {counted(a), counted(b)},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			ts.Fatalf("%s and %s differ: %s", args[0], args[1], diff)
		}
	}
	if len(a.Phases) == 0 || len(counted(a)) == 0 {
		ts.Fatalf("%s has no plan, or no operations", args[0])
	}
}

// counted has the counters of a run's operations, which do not depend on the machine.
func counted(r *results.Run) map[string]results.Op {
	all := map[string]results.Op{}
	for _, c := range r.Cells {
		for name, o := range c.Ops {
			o.Quantiles = nil
			o.Rate, o.Response, o.Service, o.Wait = 0, results.Latency{}, results.Latency{}, results.Latency{}
			o.Latency = nil
			o.Patterns = slices.Clone(o.Patterns)
			for i := range o.Patterns {
				o.Patterns[i].Service = nil
			}
			all[c.Key.String()+"/"+name] = o
		}
	}
	return all
}

// benchHas reports whether the model has a line where the engine and the measured phase
// are in force.
func benchHas(bench, model, engine string) bool {
	config := map[string]string{}
	for line := range strings.Lines(bench) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			config[key] = value
		} else if strings.HasPrefix(line, "BenchmarkMail/model="+model+"/op=") && config["engine"] == engine && config["phase"] == "measure" {
			return true
		}
	}
	return false
}
