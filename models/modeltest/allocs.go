package modeltest

import (
	"errors"
	"testing"

	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
)

// testAllocations checks that no operation of the model allocates. It uses the null engine,
// which stores nothing, so all allocations are the model's.
func testAllocations(t *testing.T, m models.Model) {
	const warm, runs = 100, 200
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			x := open(t, m, null.Engine(), nil)
			messages := mailOf(8<<10, 4)
			var hs []models.Handle
			for i := range warm + runs + 1 {
				hs = append(hs, x.deliver(messages[i%len(messages)]))
			}
			var err error
			i := 0
			next := func() {
				if e := op.run(x, i, hs, messages); e != nil {
					err = e
				}
				i++
			}
			for range warm { // until buffers have grown
				next()
			}
			if op.name == "raw" && errors.Is(err, models.ErrNotOffered) {
				return // the model has no whole messages
			}
			if n := testing.AllocsPerRun(runs, next); n != 0 || err != nil {
				t.Errorf("%v allocations, error %v; want none", n, err)
			}
		})
	}
}
