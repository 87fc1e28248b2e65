package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/replay"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
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

// noteDifferences compares a repetition with the saved run. It notes schemas that this mailbench
// has changed, and refuses another mail file or trace.
func noteDifferences(ctx context.Context, w io.Writer, was *results.Run, c *run.Config) error {
	for _, m := range c.Models {
		own, err := schemaOf(m)
		if err != nil {
			return err
		}
		for _, s := range was.Schemas {
			if s.Model == m.Name && s.Text != string(own.Source) {
				fmt.Fprintf(w, "mailbench: the schema of %s differs from the saved run: do not compare their values\n", m.Name)
			}
		}
	}
	if was.Mail != nil && c.Mail != nil {
		// The file may be one that only the results name, so no more is said of it.
		if info := c.Mail.Info(); info.SHA256 != was.Mail.SHA256 {
			return usagef("--mail %s is not the file of that run: its SHA-256 is another; name that file", info.File)
		}
	}
	return sameTraces(ctx, was, c)
}

// noteSame notes variants that do not differ from their model on an engine of the run.
func noteSame(w io.Writer, c *run.Config) error {
	for _, m := range c.Models {
		base := slices.IndexFunc(c.Models, func(b models.Model) bool { return b.Name == schemas.BaseOf(m.Name) })
		if base < 0 {
			continue
		}
		variant, err := schemaOf(m)
		if err != nil {
			return err
		}
		of, err := schemaOf(c.Models[base])
		if err != nil {
			return err
		}
		for _, e := range c.Engines {
			if schemas.SameOn(e.Name, of, variant) {
				fmt.Fprintf(w, "mailbench: %s differs from %s in options of other engines only: on %s a difference is noise\n",
					m.Name, of.Name, e.Name)
			}
		}
	}
	return nil
}

// sameTraces refuses a trace that is not the file that the run replayed.
func sameTraces(ctx context.Context, was *results.Run, c *run.Config) error {
	at := map[string]*workloads.Workload{"": c.Workload} // workload by point of a sweep
	if s := c.Workload.Sweep; s != nil {
		for _, p := range s.Points {
			at[p.Value] = p.Workload
		}
	}
	for _, point := range slices.Sorted(maps.Keys(at)) {
		w := at[point]
		for i := range w.Phases {
			p := &w.Phases[i]
			if p.Replay == nil {
				continue
			}
			t, err := replay.Open(ctx, p.Replay.Trace)
			if err != nil {
				return fmt.Errorf("phase %s: %w", p.Name, discreet(err, p.Replay.Trace))
			}
			for _, b := range was.Phases {
				if b.Point == point && b.Name == p.Name && b.Trace != "" && b.Trace != t.SHA256 {
					return usagef("phase %s: trace %s is not the file of that run: its SHA-256 is another; put that file there",
						p.Name, p.Replay.Trace)
				}
			}
		}
	}
	return nil
}

// discreet is the error for a trace that saved results name, and that cannot be read. It says nothing
// of what is in the file: the results may be those of a stranger.
func discreet(err error, name string) error {
	var path *fs.PathError
	if errors.As(err, &path) || errors.Is(err, plainfile.ErrNotPlain) || errors.Is(err, context.Canceled) {
		return missing(err)
	}
	return usagef("%s, which the saved run names, is no trace", name)
}

func seedOverride(seed uint64) string { return "seed=" + strconv.FormatUint(seed, 10) }
