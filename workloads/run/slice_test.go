package run

import (
	"math"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/workloads"
)

// TestSlice: a slice holds its share of a folder's messages, however fast these were loaded, and two
// runs of one plan hold the same.
func TestSlice(t *testing.T) {
	rows := func() float64 {
		c := config(t, newFake(), "  - measure: {clients: 1, operations: 400, mix: {slice: {weight: 1, range: 0.05, page: 1000}}}\n")
		w, err := workloads.Parse("slices.yaml", c.Workload.Source, "population={users: 1, folders: 1, messages: 2000}")
		if err != nil {
			t.Fatal(err)
		}
		c.Workload, c.Models, c.Engines = w, []models.Model{conversation.Model()}, []drivers.Engine{embedded()}
		r := runOK(t, c)
		allOK(t, r)
		return phaseOf(t, r, "measure").Ops["slice"].Store.RowsRead
	}
	first := rows()
	if want := 0.05 * 2000; math.Abs(first-want) > want/10 {
		t.Errorf("a slice of 5 %% returns %.1f of 2000 messages", first)
	}
	if again := rows(); again != first {
		t.Errorf("a slice returns %v rows, and in a run of the same plan %v", first, again)
	}
}
