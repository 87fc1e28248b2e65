package run

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// A run of two combinations is planned to load for 20 s and measure for 79 s, with 1 s to open and close the store of
// each.
func TestTimeLeft(t *testing.T) {
	e := &Estimate{Phases: []PlanPhase{{Name: "load", Seconds: 20}, {Name: "settle"}, {Name: "measure", Seconds: 79}}, seconds: 99}
	l := timeLeft{each: []*Estimate{e, e}}
	for _, step := range []struct {
		at       int // seconds since the run began
		cell     int
		phase    string
		fraction float64
		left     int // seconds; 0: not known
	}{
		{0, 0, "waits for segment 1", 0, 0}, // before the first combination
		{0, 1, "open", -1, 0},
		{10, 1, "load", 0.5, 190},
		{40, 1, "load", 1, 360}, // twice as slow as planned
		{40, 1, "settle", -1, 360},
		{99, 1, "measure", 1, 100},
		{100, 1, "measure, step 2 at 500/s", 0.1, 102}, // a search does not go back
		{110, 1, "close", -1, 112},
		{120, 2, "load", 1, 80},
		{198, 2, "measure", 1, 1},
	} {
		p := Progress{Combination: step.cell, Combinations: 2, Phase: step.phase, Progress: drive.Progress{Fraction: step.fraction}}
		l.note(&p, time.Duration(step.at)*time.Second)
		if got := int(p.Left.Seconds()); got < step.left-1 || got > step.left+1 {
			t.Errorf("at %d s, %s of %d: %d s left, want %d", step.at, step.phase, step.cell, got, step.left)
		}
	}
}

// A few messages of the load, of which some are large by chance, say little about those of the phases.
func TestDisk(t *testing.T) {
	c := config(t, newFake(), `
  - measure: {rate: 1000/s, operations: 1000, mix: {deliver: {weight: 1, size: 1KB}, list: 1}}
`)
	c.Workload.Mail.Attachments.Share, c.Workload.Mail.Attachments.Size = 0.15, random.Pareto{Low: 20e3, Alpha: 1.2, High: 5e6}
	c.Mail = messages.NewGenerator(c.Workload)
	c.Models, c.Engines = []models.Model{oracle.Model()}, []drivers.Engine{embedded()}
	points, err := c.points(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := c.estimate(&points[0], 0)
	if want := 500 * 1e3; e.delivered < 0.9*want || e.delivered > 1.1*want {
		t.Errorf("the phases deliver %.0f bytes, want %.0f", e.delivered, want)
	}
	p, err := DryRun(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if mail := e.Bytes + e.delivered; p.Need < mail || p.Need > 3*mail {
		t.Errorf("%.0f bytes of mail need %.0f", mail, p.Need)
	}
	c.FindMax = &results.FindMax{Max: 100}
	if e, want := c.estimate(&points[0], 0), 100*searchSeconds*500.0; e.delivered < 0.9*want || e.delivered > 1.1*want {
		t.Errorf("a search delivers %.0f bytes, want %.0f", e.delivered, want)
	}
}

// A schema in the result has the values of its parameters, but for those that the sweep changes.
func TestSchemaOfSweep(t *testing.T) {
	for path, left := range map[string]bool{
		"models.oracle.blob_threshold": true, "models.elasticinbox.blob_threshold": false,
	} {
		s, err := elasticinbox.Model().Schema()
		if err != nil {
			t.Fatal(err)
		}
		r := runner{result: &results.Run{}, config: &Config{Workload: &workloads.Workload{}}}
		r.config.Workload.Sweep = &workloads.Sweep{Paths: []string{"population.users", path}}
		r.addSchema(s)
		if _, has := r.result.Schemas[0].Parameters["blob_threshold"]; has != left {
			t.Errorf("swept %s: parameters %v", path, r.result.Schemas[0].Parameters)
		}
	}
}
