package modeltest_test

import (
	"testing"

	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
)

// TestAllocations shows on the engine that stores nothing that no operation of
// a model allocates anything of its own.
func TestAllocations(t *testing.T) {
	const warm, runs = 100, 200
	for _, m := range allModels() {
		for _, op := range operations {
			if op.name == "raw" && !keepsRaw[m.Name] {
				continue
			}
			t.Run(m.Name+"/"+op.name, func(t *testing.T) {
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
				if n := testing.AllocsPerRun(runs, next); n != 0 || err != nil {
					t.Errorf("%v allocations, error %v; want none", n, err)
				}
			})
		}
	}
}
