package cmd

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/keyspace"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

// repeat takes the workload, models, engines and settings from the saved run that --from names. Flags that were
// given stay as they are. It returns the registry with the models of that run, and the run; nil without --from.
func (f *runFlags) repeat(known registry, flags *pflag.FlagSet, args []string) (registry, *results.Run, error) {
	if f.from == "" {
		return known, nil, nil
	}
	if len(args) > 0 {
		return known, nil, usagef("--from %s repeats the workload of that run: leave %q out, or leave --from out",
			f.from, args[0])
	}
	r, err := results.Open(f.from)
	if err != nil {
		return known, nil, usage(err)
	}
	if r.Workload.Text == "" {
		return known, nil, usagef("%s is the result of a verification, which has no workload to repeat", f.from)
	}
	c := r.Config
	if !flags.Changed("model") {
		if at := slices.IndexFunc(c.Models, isFile); at >= 0 {
			return known, nil, usagef("%s names the file %s as a model, and files that results name are not opened: name the model with -m",
				f.from, c.Models[at])
		}
	}
	seconds := func(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }
	saved := map[string]string{
		"model": strings.Join(c.Models, ","), "engine": strings.Join(c.Engines, ","), "durability": c.Durability,
		"verify": c.Audit, "mail": c.MailFile, "no-overhead": strconv.FormatBool(c.NoFloor),
		"trials": strconv.Itoa(c.Trials), "concurrency": strconv.Itoa(c.Workers), "max-wait": seconds(c.MaxWait),
		"cache": strconv.FormatInt(c.CacheBytes, 10), "max-mail-size": strconv.FormatInt(c.MailLimit, 10),
	}
	if m := c.FindMax; m != nil {
		saved["find-max"] = "true"
		saved["step-time"], saved["precision"] = seconds(m.Step), strconv.FormatFloat(100*m.Precision, 'g', 12, 64)
		for name, rate := range map[string]float64{"from-rate": m.From, "max-rate": m.Max} {
			if rate > 0 {
				saved[name] = fmt.Sprintf("%f/s", rate)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		text := saved[name]
		if flags.Changed(name) || text == "" || text == "0" || text == "0s" { // older runs lack some
			continue
		}
		if err := flags.Lookup(name).Value.Set(text); err != nil { // the file may have anything
			return known, nil, usagef("%s has %s as --%s: %w", filepath.Join(f.from, results.RunFile), text, name, err)
		}
	}
	f.text, f.textName = []byte(r.Workload.Text), filepath.Join(f.from, results.RunFile)
	if known, err = known.withSaved(r); err == nil {
		known, err = f.withKeyspace(known, r)
	}
	return known, r, err
}

// withSaved returns the registry with those variants of a saved run that were schema files. The
// run has their text.
func (r registry) withSaved(was *results.Run) (registry, error) {
	names := r.modelNames()
	for _, s := range was.Schemas {
		if slices.Contains(names, s.Model) || !r.isModel(schemas.BaseOf(s.Model)) {
			continue
		}
		v, err := r.variantOf(func() (*schemas.Schema, error) {
			return schemas.ParseStored("schema of "+s.Model, []byte(s.Text))
		})
		if err != nil {
			return r, fmt.Errorf("saved schema of %s: %w", s.Model, err)
		}
		r.variants = append(slices.Clone(r.variants), v)
	}
	return r, nil
}

func seedOverride(seed uint64) string { return "seed=" + strconv.FormatUint(seed, 10) }

// schemaOf is the schema file whose access patterns the command runs, or "".
func (f *runFlags) schemaOf(args []string) (string, error) {
	if f.schema != "" || f.from != "" || len(args) == 0 || !isFile(args[0]) {
		return f.schema, nil
	}
	src, err := plainfile.Read(args[0], mostText)
	if err != nil {
		return "", missing(fmt.Errorf("read workload: %w", err))
	}
	if keys := strict.Keys(src); !slices.Contains(keys, "schema") || slices.Contains(keys, "extends") {
		return "", nil
	}
	return args[0], nil
}

// ofSchema lets the run be one of a schema's access patterns: the only model is that of the schema. Without a
// workload file, the workload follows from the schema.
func (f *runFlags) ofSchema(cmd *cobra.Command, known registry, file string, args []string) (registry, error) {
	for _, flag := range []string{"model", "mail", "verify", "data", "shard"} {
		if cmd.Flags().Changed(flag) {
			return known, usagef("--%s is for mail, and %s is a schema: leave the flag out", flag, file)
		}
	}
	s, err := known.schemaFile(file)
	if err == nil {
		known, err = f.onlyModel(known, s)
	}
	if err != nil {
		return known, err
	}
	k := f.keyspace
	for _, note := range k.Notes {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: %s: %s\n", s.File, note)
		}
	}
	sets := []string{k.Kinds(f.prove)}
	switch own := len(args) == 0 || args[0] == file; {
	case f.prove:
		text, err := k.ProofWorkload(f.sweep)
		if err != nil {
			return known, usagef("--sweep %w", err)
		}
		f.text, f.textName, f.sweep = []byte(text), file, ""
	case own:
		f.text, f.textName = []byte(k.Workload()), file
	default:
		if src, err := plainfile.Read(args[0], mostText); err == nil && !slices.Contains(strict.Keys(src), "population") {
			sets = append(sets, fmt.Sprintf("population={rows: %d}", k.Rows))
		}
	}
	f.set, f.models = append(sets, f.set...), []string{k.Schema.Name}
	return known, nil
}

// onlyModel returns the registry with the keyspace of a schema as its only model.
func (f *runFlags) onlyModel(r registry, s *schemas.Schema) (_ registry, err error) {
	if f.keyspace, err = keyspace.Of(s, r.engines); err != nil {
		return r, usage(err)
	}
	r.models = []models.Model{f.keyspace.Model()}
	return r, nil
}

// withKeyspace returns the registry with the keyspace of a saved run as its only model, if the run was of one.
func (f *runFlags) withKeyspace(r registry, was *results.Run) (registry, error) {
	if !slices.Contains(strict.Keys([]byte(was.Workload.Text)), "patterns") || len(was.Schemas) != 1 {
		return r, nil
	}
	if f.prove && len(was.Findings) == 0 {
		return r, usagef("--prove: that run was made without --prove; name the schema in place of --from %s", f.from)
	}
	f.prove = len(was.Findings) > 0
	s, err := schemas.ParseStored("schema of "+was.Schemas[0].Model, []byte(was.Schemas[0].Text))
	if err != nil {
		return r, usage(err)
	}
	return f.onlyModel(r, s)
}

// fitsSchema checks what a workload says of a schema. A workload for mail says nothing.
func (f *runFlags) fitsSchema(c *run.Config, file string) error {
	if len(c.Workload.Patterns) == 0 {
		return nil
	}
	if f.keyspace == nil {
		return usagef("workload %s is for the access patterns of a schema; name its file with --schema FILE", c.Workload.Name)
	}
	return usage(keyspace.Check(f.keyspace.Schema, c.Workload, cmp.Or(f.textName, file)))
}
