package cmd

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/run"
)

// repeat takes everything from a saved run that no flag says otherwise: workload,
// models, engines and settings. It returns the run.
func (f *runFlags) repeat(flags *pflag.FlagSet, args []string) (*reports.Run, error) {
	if len(args) > 0 {
		return nil, usagef("--from %s repeats a run with its own workload: leave %q out, or leave --from out", f.from, args[0])
	}
	r, err := reports.Open(f.from)
	if err != nil {
		return nil, usage(err)
	}
	if r.Workload.Text == "" {
		return nil, usagef("%s holds an audit, which has no workload to repeat", f.from)
	}
	c := r.Config
	for name, take := range map[string]func(){
		"model":      func() { f.models = c.Models },
		"engine":     func() { f.engines = c.Engines },
		"trials":     func() { f.trials = c.Trials },
		"durability": func() { f.durability = c.Durability },
		"cache":      func() { f.cache = random.Size(c.CacheBytes) },
		"workers":    func() { f.workers = c.Workers },
		"max-lag":    func() { f.maxLag = time.Duration(c.MaxLag * float64(time.Second)) },
		"audit":      func() { f.audit = c.Audit },
		"mail":       func() { f.mail = c.MailFile },
		"mail-limit": func() { f.mailLimit = random.Size(cmp.Or(c.MailLimit, int64(f.mailLimit))) }, // older results have none
	} {
		if !flags.Changed(name) {
			take()
		}
	}
	f.findMax.repeat(flags, c.FindMax)
	f.text, f.textName = []byte(r.Workload.Text), filepath.Join(f.from, reports.RunFile)
	return r, nil
}

// withSaved returns the registry with the variants of a saved run that were schema
// files: their text is in the run.
func (r registry) withSaved(was *reports.Run) (registry, error) {
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
		v, err := of[0].Variant(func() (*schemas.Schema, error) { return schemas.Parse("schema of "+s.Model, []byte(s.Text)) })
		if err != nil {
			return r, fmt.Errorf("saved schema of %s: %w", s.Model, err)
		}
		r.variants = append(slices.Clone(r.variants), v)
	}
	return r, nil
}

// tellDifferences says what of a repetition is not as it was: the schemas that
// this mailbench has, and the mail file.
func tellDifferences(w io.Writer, was *reports.Run, c *run.Config) error {
	for _, s := range was.Schemas {
		for _, m := range c.Models {
			if m.Name == s.Model {
				same, err := sameSchema(m, s)
				if err != nil {
					return err
				}
				if !same {
					fmt.Fprintf(w, "mailbench: the schema of %s is not the one of that run; the figures are of another model\n", m.Name)
				}
			}
		}
	}
	if was.Mail != nil && c.Mail != nil {
		if info := c.Mail.Info(); info.SHA256 != was.Mail.SHA256 {
			return usagef("--mail %s is not the file of that run: its SHA-256 is %s, not %s", info.File, info.SHA256, was.Mail.SHA256)
		}
	}
	return nil
}

func sameSchema(m models.Model, s reports.Schema) (bool, error) {
	own, err := m.Schema()
	if err != nil {
		return false, fmt.Errorf("schema of model %s: %w", m.Name, err)
	}
	return string(own.Source) == s.Text, nil
}

// seedOverride is the override that --seed means.
func seedOverride(seed uint64) string { return "seed=" + strconv.FormatUint(seed, 10) }
