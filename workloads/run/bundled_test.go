package run

import (
	"maps"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// Every bundled workload with every model, or those of its answer, scaled down: each phase
// measures something, and nothing fails.
func TestBundledWorkloads(t *testing.T) {
	for _, name := range workloads.BundledNames() {
		for _, m := range bundledModels() {
			w, err := workloads.Bundled(name)
			if err != nil {
				t.Fatal(err)
			}
			if asked := w.Answer.Models; len(asked) > 0 && !slices.Contains(asked, m.Name) {
				continue // the others may offer none of its operations
			}
			t.Run(name+"/"+m.Name, func(t *testing.T) {
				t.Parallel()
				scaleDown(w)
				r := runOK(t, Config{
					Workload: w, Workers: 4, Models: []models.Model{m}, Engines: []drivers.Engine{embedded()}, Audit: AuditAfter,
				})
				checkMeasured(t, r)
			})
		}
	}
}

// Each bundled schema is of a model that these tests run.
func TestBundledModels(t *testing.T) {
	var names []string
	for _, m := range bundledModels() {
		names = append(names, m.Name)
	}
	if want := schemas.BundledVariants(""); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(want))) {
		t.Errorf("models %v, bundled schemas %v", names, want)
	}
}

// scaleDown keeps the kinds of a workload, its operations and models, and makes
// everything small.
func scaleDown(w *workloads.Workload) {
	w.Population.Users = min(w.Population.Users, 6)
	w.Population.Messages = random.Constant{Value: 8}
	w.Mail.Attachments.Size = random.Constant{Value: 2000}
	if w.Sweep != nil {
		w.Sweep.Points = w.Sweep.Points[:2]
		for _, p := range w.Sweep.Points {
			scaleDown(p.Workload)
		}
	}
	for i := range w.Phases {
		p := &w.Phases[i]
		p.Messages = min(p.Messages, 2)
		if p.Runs() {
			p.Duration, p.Operations = 0, 40
		}
		if p.Kind == workloads.Measure {
			p.Operations = 200
			mix := p.PerSecond()
			if mix.Has(workloads.Delete) && !mix.Has(workloads.Deliver) { // as much as its phases delete
				w.Population.Messages, p.Operations = random.Constant{Value: 60}, 60
			}
		}
		few := func(h *workloads.How) {
			if h.Messages != nil {
				h.Messages = random.Constant{Value: 2}
			}
			if h.Size != nil {
				h.Size = random.Constant{Value: 2000}
			}
		}
		for op := range p.How {
			few(&p.How[op])
		}
		for _, s := range append(p.Streams, *p) {
			if s.Session != nil {
				for i := range s.Session.Steps {
					few(&s.Session.Steps[i].How)
				}
			}
		}
		if p.Rate.Count > 0 {
			p.Rate, p.Shape = workloads.Rate{Count: 2000, Per: 1e9}, nil
		}
		for i := range p.Streams {
			s := &p.Streams[i]
			s.Rate, s.Shape, s.Think = workloads.Rate{Count: 100, Per: 1e9}, nil, random.Constant{Value: 1e6}
		}
	}
}

// checkMeasured fails the test for a phase that measured nothing, or in which
// something failed, and for a store that was not audited.
func checkMeasured(t *testing.T, r *results.Run) {
	t.Helper()
	measured, loaded := 0, false
	for _, c := range r.Cells {
		if c.Verdict == results.Failed {
			t.Errorf("phase %s: %s", c.Phase, why(c))
		}
		if c.Reason != nil && c.Reason.Code == "not-offered" {
			t.Logf("phase %s: %s", c.Phase, why(c))
			measured++
			continue
		}
		offered := func(o results.Op) bool { return o.Support != results.NotOffered }
		if ops := slices.Collect(maps.Values(c.Ops)); len(ops) > 0 && !slices.ContainsFunc(ops, offered) {
			t.Logf("phase %s: %s", c.Phase, why(c)) // raw, of models that keep no raw message
			continue
		}
		var ok int64
		for name, o := range c.Ops {
			if n := o.NotFound + o.Failed + o.Unknown + o.TooLarge; n > 0 {
				t.Errorf("phase %s: %d of %s were not ok: %v", c.Phase, n, name, o.Errors)
			}
			ok += o.Count
		}
		loaded = loaded || ok > 0
		if (len(c.Ops) > 0 || c.Kind == results.KindLoad) && ok == 0 {
			t.Errorf("phase %s: no operation succeeded", c.Phase)
		}
		if c.Kind == results.KindMeasure {
			measured++
			if ok < 20 {
				t.Errorf("phase %s measured %d operations", c.Phase, ok)
			}
		}
	}
	if measured == 0 {
		t.Error("nothing was measured")
	}
	if loaded && len(r.Audits) == 0 {
		t.Error("no audit was made")
	}
	for _, a := range r.Audits {
		if a.Wrong() {
			t.Errorf("audit %+v", a)
		}
	}
}
