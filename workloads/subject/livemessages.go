package subject

import (
	"slices"
	"sync"

	"github.com/mailbench/mailbench/models"
)

// liveMessages holds the live messages of one folder, oldest first. An operation pins
// the message that it works on, and takes out the one that it will remove, so
// that nothing fails because the workload itself deleted it.
//
// The handles are in chunks: removing one from a folder of millions moves at most one
// chunk, and a message costs the 32 bytes of its handle and little more.
type liveMessages struct {
	mu     sync.Mutex
	chunks [][]models.Handle // none is empty
	n      int
	pins   []pin // pins of the operations under way in this folder
}

// pin keeps a message from being taken. Any number of readers share it. At most one owner
// has it, besides readers.
type pin struct {
	handle  models.Handle
	readers int
	owned   bool
}

// chunkLen is 8 KB of handles, a size class of the allocator.
const chunkLen = 256

// Len returns how many messages are live and not taken.
func (t *liveMessages) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// Add puts in the newest message.
func (t *liveMessages) Add(h models.Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last]) == chunkLen {
		t.chunks = append(t.chunks, nil)
		last++
	}
	c := t.chunks[last]
	if len(c) == cap(c) {
		// Most folders are small: growing by an eighth leaves little unused.
		c = append(make([]models.Handle, 0, min(chunkLen, len(c)+max(4, len(c)/8))), c...)
	}
	t.chunks[last] = append(c, h)
}

// Read pins the message of that rank, 0 being the newest, for reading.
func (t *liveMessages) Read(rank int) (models.Handle, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		return models.Handle{}, false
	}
	c, i := t.at(rank % t.n)
	h := t.chunks[c][i]
	t.addReader(h)
	return h, true
}

// pin pins a live message for reading.
func (t *liveMessages) pin(h models.Handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.addReader(h)
}

func (t *liveMessages) addReader(h models.Handle) {
	if p := t.pinned(h); p >= 0 {
		t.pins[p].readers++
	} else {
		t.pins = append(t.pins, pin{handle: h, readers: 1})
	}
}

// Own pins the message of that rank, or the next older one that nobody has
// pinned, for changing it. The pin is exclusive but for readers that come later.
func (t *liveMessages) Own(rank int) (models.Handle, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, i, ok := t.free(rank)
	if !ok {
		return models.Handle{}, false
	}
	h := t.chunks[c][i]
	t.pins = append(t.pins, pin{handle: h, owned: true})
	return h, true
}

// take removes the message of that rank, or the next older one that nobody has
// pinned.
func (t *liveMessages) take(rank int) (models.Handle, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, i, ok := t.free(rank)
	if !ok {
		return models.Handle{}, false
	}
	h := t.chunks[c][i]
	t.n--
	t.chunks[c] = slices.Delete(t.chunks[c], i, i+1)
	t.join(max(1, c))
	t.join(c + 1)
	return h, true
}

// Disown ends an Own.
func (t *liveMessages) Disown(h models.Handle) { t.unpin(h, func(p *pin) { p.owned = false }) }

// Release ends a Read.
func (t *liveMessages) Release(h models.Handle) { t.unpin(h, func(p *pin) { p.readers-- }) }

func (t *liveMessages) unpin(h models.Handle, change func(*pin)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.pinned(h)
	if change(&t.pins[i]); t.pins[i].readers == 0 && !t.pins[i].owned {
		t.pins = slices.Delete(t.pins, i, i+1)
	}
}

// at finds the message of a rank, which must be below t.n.
func (t *liveMessages) at(rank int) (chunk, i int) {
	for c := len(t.chunks) - 1; ; c-- {
		if n := len(t.chunks[c]); rank < n {
			return c, n - 1 - rank
		} else {
			rank -= n
		}
	}
}

// free finds a message that nobody has pinned, beginning with that rank and going on to
// older ones. If there is one, it is among the first len(pins)+1.
func (t *liveMessages) free(rank int) (chunk, i int, ok bool) {
	for try := range min(t.n, len(t.pins)+1) {
		c, i := t.at((rank + try) % t.n)
		if t.pinned(t.chunks[c][i]) < 0 {
			return c, i, true
		}
	}
	return 0, 0, false
}

func (t *liveMessages) pinned(h models.Handle) int {
	return slices.IndexFunc(t.pins, func(p pin) bool { return p.handle == h })
}

// join puts a chunk together with its older neighbour if they fit into one, so
// that chunks are more than half full on average, however many were taken.
func (t *liveMessages) join(c int) {
	switch {
	case len(t.chunks) == 1 && len(t.chunks[0]) == 0:
		t.chunks = t.chunks[:0]
	case c < len(t.chunks) && len(t.chunks[c-1])+len(t.chunks[c]) <= chunkLen:
		t.chunks[c-1] = append(t.chunks[c-1], t.chunks[c]...)
		t.chunks = slices.Delete(t.chunks, c, c+1)
	}
}
