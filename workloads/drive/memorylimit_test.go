package drive

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The limit rises with what lives, so that the collector does not work without end, falls
// when that is gone, and one that is off stays off.
func TestMemoryLimitFollowsTheHeap(t *testing.T) {
	const least = 128 << 20
	before := debug.SetMemoryLimit(least)
	defer debug.SetMemoryLimit(before)
	m := memoryLimit{least: least, now: least}
	follow := func() int64 {
		runtime.GC()
		m.follow()
		m.follow() // only what lives for some time counts
		return debug.SetMemoryLimit(-1)
	}
	pointers := make([]*byte, 64<<17)
	if got := follow(); got < 2*64<<20+headroom {
		t.Errorf("the limit is %d bytes with %d bytes of pointers alive", got, 8*len(pointers))
	}
	bytes := make([]byte, 256<<20)
	if got := follow(); got < 2*64<<20+256<<20+headroom || got > 2*(64+256)<<20 {
		t.Errorf("the limit is %d bytes with %d bytes more alive", got, len(bytes))
	}
	passing := make([]byte, 256<<20)
	runtime.GC()
	unchanged := debug.SetMemoryLimit(-1)
	if m.follow(); debug.SetMemoryLimit(-1) != unchanged {
		t.Errorf("the limit is %d bytes when 256 MB have just come, want %d as before", debug.SetMemoryLimit(-1), unchanged)
	}
	tunedMemory = least
	EndRun()
	if got := debug.SetMemoryLimit(unchanged); got != least {
		t.Errorf("the limit is %d bytes at the end of a run, want that of Tune, %d", got, least)
	}
	tunedMemory = 0
	runtime.KeepAlive(passing)
	runtime.KeepAlive(pointers)
	runtime.KeepAlive(bytes)
	if got := follow(); got > least+least/10 {
		t.Errorf("the limit stays at %d bytes when that is gone", got)
	}
	debug.SetMemoryLimit(1 << 40)
	m = memoryLimit{}
	if got := follow(); got != 1<<40 {
		t.Errorf("a limit that should be left alone became %d", got)
	}
}
