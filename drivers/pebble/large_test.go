package pebble

import (
	"strings"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestLargeBatches: of what several sessions write in large batches, one at a time waits to be
// flushed, and a session keeps nothing of it.
func TestLargeBatches(t *testing.T) {
	const size = memTableSize * 3 / 2
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	put, large := e.stmt("put"), strings.Repeat("x", size)
	var wg sync.WaitGroup
	for i := range 3 {
		s := e.session()
		wg.Go(func() {
			for j := range 3 {
				_, err := s.Write(t.Context(), put, values([]any{"u", "f", i, j, large, 5, true}))
				if err != nil {
					t.Error(err)
				}
				if queued := e.store.db.Metrics().MemTable.Size; queued > size+memTables*memTableSize+1<<20 {
					t.Errorf("%d MB wait to be flushed, after a batch of %d MB", queued>>20, size>>20)
				}
				if kept := len(s.(*session).batch.Repr()); kept > keepBatch {
					t.Errorf("the session keeps %d bytes of its batch", kept)
				}
			}
		})
	}
	wg.Wait()
	e.want("u f 2 2 - "+large+" 5 1", "get", "u", "f", 2, 2)
}
