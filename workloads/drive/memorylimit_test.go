package drive

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The limit rises with what lives, so that the collector does not work without end, and
// one that is off stays off.
func TestMemoryLimitFollowsTheHeap(t *testing.T) {
	before := debug.SetMemoryLimit(32 << 20)
	defer debug.SetMemoryLimit(before)
	live := make([]byte, 256<<20)
	runtime.GC()
	m := memoryLimit{least: 32 << 20, now: 32 << 20}
	m.follow()
	runtime.KeepAlive(live)
	if got := debug.SetMemoryLimit(-1); got < 2*256<<20 {
		t.Errorf("the limit is %d bytes with %d bytes alive", got, len(live))
	}
	debug.SetMemoryLimit(1 << 40)
	off := memoryLimit{}
	off.follow()
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("a limit that should be left alone became %d", got)
	}
}
