package workloads_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Whatever is read is either refused with a place, or can be run.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "population.users=1")
	}
	for _, name := range workloads.BundledNames() {
		src, _ := os.ReadFile(name + ".yaml")
		f.Add(src, "phases.measure.rate=1/s")
	}
	f.Add([]byte("a: &a [*a]\nphases: *a"), "a.b=*a")
	f.Fuzz(func(t *testing.T, src []byte, override string) {
		for _, o := range [][]string{nil, {override}} {
			w, err := workloads.Parse("fuzz.yaml", src, o...)
			if err != nil {
				var faults strict.Errors
				if !errors.As(err, &faults) || len(faults) == 0 {
					t.Fatalf("error %T", err)
				}
				for _, e := range faults {
					if e.Pos.Line < 1 || e.Pos.Column < 1 || e.Msg == "" {
						t.Fatalf("a fault has no place: %v", e)
					}
				}
				continue
			}
			// A workload that was read can be run.
			if w.Population.Users > 100 || w.Population.Folders.Mean() > 10 || w.Population.Messages.Mean() > 1000 {
				continue
			}
			c, err := plan.NewCensus(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			for i := range w.Phases {
				if !w.Phases[i].Runs() {
					continue
				}
				var op plan.Operation
				if w.Phases[i].Replay != nil {
					continue
				}
				p := plan.StreamOf(w, &w.Phases[i], c)
				for range 20 {
					if _, ok := p.Next(0, &op); !ok {
						break
					}
					if op.User < 0 || op.User >= c.Users() || op.Folder < 0 || op.Folder >= c.FolderCount(op.User) || op.To >= c.FolderCount(op.User) || !w.Phases[i].Mix.Has(op.Op) {
						t.Fatalf("operation %+v", op)
					}
				}
			}
		}
	})
}
