package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/replay"
	"github.com/mailbench/mailbench/workloads/results"
)

// Notes are what a user should know before the run. Was is the saved run that this one repeats, or nil: a schema that
// this mailbench has changed is noted, and another mail file or trace is an error.
func (c *Config) Notes(ctx context.Context, was *results.Run) (notes []string, err error) {
	for _, m := range c.Models {
		own, err := m.Schema()
		if err != nil {
			return nil, err
		}
		if was != nil && slices.ContainsFunc(was.Schemas, func(s results.Schema) bool {
			return s.Model == m.Name && s.Text != string(own.Source)
		}) {
			notes = append(notes, fmt.Sprintf("the schema of %s differs from the saved run: do not compare their values", m.Name))
		}
	}
	for _, m := range c.Models { // variants that do not differ from their model on an engine of the run
		base := slices.IndexFunc(c.Models, func(b models.Model) bool { return b.Name == schemas.BaseOf(m.Name) })
		if base < 0 {
			continue
		}
		variant, err := m.Schema()
		if err != nil {
			return nil, err
		}
		of, err := c.Models[base].Schema()
		if err != nil {
			return nil, err
		}
		for _, e := range c.Engines {
			if schemas.SameOn(e.Name, of, variant) {
				notes = append(notes, fmt.Sprintf("%s differs from %s in options of other engines only: on %s a difference is noise",
					m.Name, of.Name, e.Name))
			}
		}
	}
	if was == nil {
		return notes, nil
	}
	if was.Mail != nil && c.Mail != nil {
		// The file may be one that only the results name, so no more is said of it.
		if info := c.Mail.Info(); info.SHA256 != was.Mail.SHA256 {
			return notes, fmt.Errorf("--mail %s is not the file of that run: its SHA-256 is another; name that file", info.File)
		}
	}
	return notes, c.sameTraces(ctx, was)
}

// sameTraces refuses a trace that is not the file that the run replayed.
func (c *Config) sameTraces(ctx context.Context, was *results.Run) error {
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
					return fmt.Errorf("phase %s: trace %s is not the file of that run: its SHA-256 is another; put that file there",
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
		return err
	}
	return fmt.Errorf("%s, which the saved run names, is no trace", name)
}
