package subject

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/models"
)

func handle(n int) (h models.Handle) {
	binary.LittleEndian.PutUint64(h[:], uint64(n)+1)
	return h
}

// Against a plain slice: whatever is added and taken, ranks count from the newest.
func TestMessagesKeepOrder(t *testing.T) {
	var ts FolderSet
	var plain []models.Handle
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 20000 {
		if len(plain) == 0 || rnd.IntN(100) < 55 {
			ts.Add(handle(n))
			plain = append(plain, handle(n))
		} else {
			rank := rnd.IntN(len(plain))
			got, ok := ts.Remove(rank)
			at := len(plain) - 1 - rank
			if !ok || got != plain[at] {
				t.Fatalf("step %d: take(%d) = %x, want %x", n, rank, got, plain[at])
			}
			plain = slices.Delete(plain, at, at+1)
		}
		if ts.Len() != len(plain) {
			t.Fatalf("step %d: len = %d, want %d", n, ts.Len(), len(plain))
		}
	}
	for rank := range plain {
		h, _ := ts.Read(rank)
		ts.Release(h)
		if want := plain[len(plain)-1-rank]; h != want {
			t.Fatalf("read(%d) = %x, want %x", rank, h, want)
		}
	}
	for range plain {
		ts.Remove(0)
	}
	if _, ok := ts.Remove(0); ok || len(ts.chunks) != 0 {
		t.Errorf("an empty folder has messages, or %d chunks", len(ts.chunks))
	}
}

func TestPinnedIsNotTaken(t *testing.T) {
	var ts FolderSet
	for n := range 3 {
		ts.Add(handle(n))
	}
	read, _ := ts.Read(0) // 2
	if h, _ := ts.Remove(0); h != handle(1) {
		t.Errorf("take(0) = %x with the newest being read, want the next older", h)
	}
	owned, _ := ts.Own(0)
	if owned != handle(0) {
		t.Errorf("own(0) = %x with the newest being read, want the next older", owned)
	}
	if h, ok := ts.Remove(0); ok {
		t.Errorf("take(0) = %x although all are pinned", h)
	}
	again, _ := ts.Read(0)
	ts.Release(read)
	if _, ok := ts.Remove(0); ok {
		t.Error("taken while its second reader still reads")
	}
	ts.Release(again)
	if h, ok := ts.Own(1); ok && h == owned {
		t.Error("owned twice at once")
	}
	ts.Release(handle(2))
	ts.Release(owned)
	if len(ts.pins) != 0 || ts.Len() != 2 {
		t.Errorf("%d pins and %d messages are left, want 0 and 2", len(ts.pins), ts.Len())
	}
}

// Readers, owners and takers concurrently: none gets what another one took.
func TestMessagesConcurrently(t *testing.T) {
	var ts FolderSet
	for n := range 1000 {
		ts.Add(handle(n))
	}
	var mu sync.Mutex
	taken := map[models.Handle]bool{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 0))
			for n := range 2000 {
				switch rnd.IntN(4) {
				case 0:
					if h, ok := ts.Remove(rnd.IntN(10)); ok {
						mu.Lock()
						if taken[h] {
							t.Errorf("%x was taken twice", h)
						}
						taken[h] = true
						mu.Unlock()
					}
				case 1:
					ts.Add(handle(1000 + w*2000 + n))
				case 2:
					if h, ok := ts.Read(rnd.IntN(10)); ok {
						runtime.Gosched()
						mu.Lock()
						if taken[h] {
							t.Errorf("%x was taken while it was read", h)
						}
						mu.Unlock()
						ts.Release(h)
					}
				default:
					if h, ok := ts.Own(rnd.IntN(10)); ok {
						runtime.Gosched()
						mu.Lock()
						if taken[h] {
							t.Errorf("%x was taken while it was owned", h)
						}
						mu.Unlock()
						ts.Release(h)
					}
				}
			}
		})
	}
	wg.Wait()
	if len(ts.pins) != 0 {
		t.Errorf("%d pins are left", len(ts.pins))
	}
}

// A message costs its handle and little more, in large folders and small ones,
// also after half of all were deleted.
func TestMessagesMemory(t *testing.T) {
	for _, c := range []struct {
		name            string
		folders, each   int
		delete          bool
		bytesPerMessage float64
	}{
		{"large", 4, 100_000, false, 33},
		{"small", 4000, 100, false, 42.6}, // rounding to allocation sizes and the 128 bytes of a folder
		{"half deleted", 4, 100_000, true, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			fill := func() (folders []FolderSet, left int) {
				folders = make([]FolderSet, c.folders)
				for i := range folders {
					for n := range c.each {
						folders[i].Add(handle(n))
					}
					if c.delete {
						for n := range c.each / 2 {
							folders[i].Remove(n)
						}
					}
					left += folders[i].Len()
				}
				return folders, left
			}
			// Other allocations of the process only add to it, so the least counts.
			least := math.Inf(1)
			for range 3 {
				before := heap()
				folders, left := fill()
				least = min(least, float64(heap()-before)/float64(left))
				runtime.KeepAlive(folders)
			}
			if t.Logf("%.1f bytes a message", least); least > c.bytesPerMessage || least < 31 {
				t.Errorf("%.1f bytes a message, want 32 to %v", least, c.bytesPerMessage)
			}
		})
	}
}

// heap is how many bytes are in use, once unreachable memory is freed: the second
// collection frees what the first one handed to cleanups and pools.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkTargetsTakeAndAdd(b *testing.B) {
	var ts FolderSet
	for n := range 1_000_000 {
		ts.Add(handle(n))
	}
	for i := 0; b.Loop(); i++ {
		h, _ := ts.Remove((i * 7919) % 1_000_000)
		ts.Add(h)
	}
}
