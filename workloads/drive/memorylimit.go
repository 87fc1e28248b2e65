package drive

import (
	"runtime/debug"
	"runtime/metrics"
)

// memoryLimit raises the Go runtime's memory limit with what lives on its heap. Under a
// fixed limit the garbage collector works without end once the live messages of a large
// data set, or the stacks of many clients, fill it: the client is slow, and the store is
// blamed.
type memoryLimit struct {
	least, now int64 // bytes; least 0: the limit is left alone
	live       int64 // bytes that lived when follow was called last
}

// headroom is how many bytes may be allocated before the next collection if the heap is small.
const headroom = 24 << 20

// follow sets the limit for what lives now. The time of a collection is proportional to the
// memory with pointers. So the limit lets that part double, and memory without pointers, such
// as large messages, grow a little. The limit falls again when they are gone. It is changed
// only by a tenth or more, since a change stops the process for a moment.
//
// A collection counts all that is allocated while it runs as live. On a busy machine it runs long: up to 35 MB
// of large messages are allocated in the meantime, and the next collection frees them. So only memory that was
// live at the last call too raises the limit.
func (m *memoryLimit) follow() {
	if m.least == 0 {
		return
	}
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/heap:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/memory/classes/other:bytes"},
	}
	metrics.Read(s)
	now, scanned := int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())
	live := now // at the start of a phase nothing passes by
	if m.live > 0 {
		live = min(now, m.live)
	}
	m.live = now
	want := live + scanned + max(0, live-scanned)/16 + headroom
	for _, other := range s[2:] {
		want += int64(other.Value.Uint64())
	}
	if want = max(want, m.least); want > m.now+m.now/10 || want < m.now-m.now/10 {
		m.now = want
		debug.SetMemoryLimit(want)
	}
}
