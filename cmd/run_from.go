package cmd

import (
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
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/keyspace"
	"github.com/mailbench/mailbench/workloads/results"
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
	known, err = known.withSaved(r)
	return known, r, err
}

// withSaved returns the registry with those variants of a saved run that were schema files. The
// run has their text.
func (r registry) withSaved(was *results.Run) (registry, error) {
	for _, s := range was.Schemas {
		if index(r.variants, s.Model) >= 0 || index(r.models, schemas.BaseOf(s.Model)) < 0 {
			continue
		}
		v, err := r.variantOf(func() (*schemas.Schema, error) {
			return schemas.ParseStored("schema of "+s.Model, []byte(s.Text))
		})
		if err != nil {
			return r, fmt.Errorf("saved schema of %s: %w", s.Model, err)
		}
		r.variants = with(r.variants, v)
	}
	return r, nil
}

func seedOverride(seed uint64) string { return "seed=" + strconv.FormatUint(seed, 10) }

// schemaOf is the schema whose access patterns the command runs, or nil: that of a file, or of the saved run. It reads
// the file of the workload, too, since only the text of a file says which it is.
func (f *runFlags) schemaOf(known registry, args []string, was *results.Run) (*schemas.Schema, error) {
	file := f.schema
	if len(args) > 0 && isFile(args[0]) {
		text, err := readText("workload", args[0], noWorkload)
		if err != nil {
			return nil, err
		}
		keys := strict.Keys(text)
		cql := strings.EqualFold(filepath.Ext(args[0]), ".cql") // schemaFile says what to do with it
		if file == "" && (cql || slices.Contains(keys, "schema") && !slices.Contains(keys, "extends")) {
			file = args[0]
		} else {
			f.text, f.textName = text, args[0]
		}
	}
	switch {
	case file != "":
		return known.schemaFile(file)
	case was == nil || len(was.Schemas) != 1 || !slices.Contains(strict.Keys([]byte(was.Workload.Text)), "patterns"):
		return nil, nil
	}
	s, err := schemas.ParseStored("schema of "+was.Schemas[0].Model, []byte(was.Schemas[0].Text))
	return s, usage(err)
}

// ofSchema lets the run be one of a schema's access patterns, if it names one: the only model is that of the schema.
// Without a workload file, the workload follows from the schema.
func (f *runFlags) ofSchema(cmd *cobra.Command, known registry, args []string, was *results.Run) (registry, error) {
	s, err := f.schemaOf(known, args, was)
	own := len(args) == 0 || s != nil && args[0] == s.File
	switch {
	case err != nil:
		return known, err
	case f.prove && (s == nil || !own):
		return known, usagef("--prove measures what lint finds in a schema: name the schema, and no workload")
	case f.prove && was != nil && len(was.Findings) == 0:
		return known, usagef("--prove: that run was made without --prove; name the schema in place of --from %s", f.from)
	case s == nil:
		return known, nil
	}
	for _, flag := range []string{"model", "mail", "verify", "data", "shard"} {
		if cmd.Flags().Changed(flag) {
			return known, usagef("--%s is for mail, and %s is a schema: leave the flag out", flag, s.File)
		}
	}
	k, err := keyspace.Of(s, known.engines)
	if err != nil {
		return known, usage(err)
	}
	f.c.Keyspace, known.models, f.models = k, []models.Model{k.For(&workloads.Workload{}, k.Rows)}, []string{s.Name}
	if was != nil {
		f.prove = len(was.Findings) > 0
		return known, nil
	}
	for _, note := range k.Notes {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: %s: %s\n", s.File, note)
		}
	}
	sets := []string{k.Kinds(f.prove)}
	switch {
	case f.prove:
		text, err := k.ProofWorkload(f.sweep)
		if err != nil {
			return known, usagef("--sweep %w", err)
		}
		f.text, f.textName, f.sweep = []byte(text), s.File, ""
	case own:
		f.text, f.textName = []byte(k.Workload()), s.File
	case f.text != nil && !slices.Contains(strict.Keys(f.text), "population"):
		sets = append(sets, fmt.Sprintf("population={rows: %d}", k.Rows))
	}
	f.set = append(sets, f.set...)
	return known, nil
}
