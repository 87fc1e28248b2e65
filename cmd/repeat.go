package cmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
)

// repeat takes the workload, models, engines and settings from a saved run. Flags that were
// given stay as they are. It returns the saved run.
func (f *runFlags) repeat(flags *pflag.FlagSet, args []string) (*results.Run, error) {
	if len(args) > 0 {
		return nil, usagef("--from %s repeats the workload of that run: leave %q out, or leave --from out",
			f.from, args[0])
	}
	r, err := results.Open(f.from)
	if err != nil {
		return nil, usage(err)
	}
	if r.Workload.Text == "" {
		return nil, usagef("%s is the result of a verification, which has no workload to repeat", f.from)
	}
	c := r.Config
	if !flags.Changed("model") {
		if at := slices.IndexFunc(c.Models, isFile); at >= 0 {
			return nil, usagef("%s names the file %s as a model, and files that results name are not opened: name the model with -m",
				f.from, c.Models[at])
		}
	}
	seconds := func(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }
	saved := map[string]string{
		"model": strings.Join(c.Models, ","), "engine": strings.Join(c.Engines, ","), "durability": c.Durability,
		"verify": c.Audit, "mail": c.MailFile, "no-floor": strconv.FormatBool(c.NoFloor),
		"trials": strconv.Itoa(c.Trials), "workers": strconv.Itoa(c.Workers), "max-wait": seconds(c.MaxWait),
		"cache": strconv.FormatInt(c.CacheBytes, 10), "mail-limit": strconv.FormatInt(c.MailLimit, 10),
	}
	if m := c.FindMax; m != nil {
		saved["find-max"], saved["max-rate"] = "true", fmt.Sprintf("%f/s", m.Max)
		saved["step"], saved["precision"] = seconds(m.Step), strconv.FormatFloat(100*m.Precision, 'g', 12, 64)
		if m.From > 0 {
			saved["from-rate"] = fmt.Sprintf("%f/s", m.From)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		text := saved[name]
		if flags.Changed(name) || text == "" || text == "0" || text == "0s" { // older runs lack some
			continue
		}
		if err := flags.Lookup(name).Value.Set(text); err != nil { // the file may have anything
			return nil, usagef("%s has %s as --%s: %w", filepath.Join(f.from, results.RunFile), text, name, err)
		}
	}
	f.text, f.textName = []byte(r.Workload.Text), filepath.Join(f.from, results.RunFile)
	return r, nil
}

// withSaved returns the registry with those variants of a saved run that were schema files. The
// run has their text.
func (r registry) withSaved(was *results.Run) (registry, error) {
	names := r.modelNames()
	for _, s := range was.Schemas {
		base := schemas.BaseOf(s.Model)
		if slices.Contains(names, s.Model) || !slices.Contains(names, base) {
			continue
		}
		of, err := r.pickModels([]string{base})
		if err != nil {
			return r, err
		}
		v, err := of[0].Variant(func() (*schemas.Schema, error) {
			return schemas.Parse("schema of "+s.Model, []byte(s.Text))
		})
		if err != nil {
			return r, fmt.Errorf("saved schema of %s: %w", s.Model, err)
		}
		r.variants = append(slices.Clone(r.variants), v)
	}
	return r, nil
}

func seedOverride(seed uint64) string { return "seed=" + strconv.FormatUint(seed, 10) }
