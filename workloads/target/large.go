package target

import (
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/models"
)

// large remembers what calls on large messages hold. Most data sets have none.
type large struct {
	some atomic.Bool
	mu   sync.RWMutex
	held map[models.Handle]models.Holding
}

// add remembers a message if a call on it holds much. Two folders may have messages of the
// same handle: what the larger one holds counts.
func (l *large) add(h models.Handle, held models.Holding) {
	if held.Reading() <= LargeMessage {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[models.Handle]models.Holding)
	}
	if old := l.held[h]; old.Reading() < held.Reading() {
		l.held[h] = held
	}
	l.some.Store(true)
}

// LargestRow is the most that a call holds of a row of the folder: nothing if that is little,
// or not known. It does not fall when messages go.
func (f *FolderSet) LargestRow() int64 { return f.largestRow.Load() }

func (f *FolderSet) noteRow(n int64) {
	for n > LargeMessage {
		if old := f.largestRow.Load(); n <= old || f.largestRow.CompareAndSwap(old, n) {
			return
		}
	}
}

// SomeLarge reports whether there was a message on which calls hold much.
func (l *Live) SomeLarge() bool { return l.large.some.Load() }

// Holding returns what calls on a message hold: nothing if that is little, or not known
// since an earlier run delivered the message.
func (l *Live) Holding(h models.Handle) models.Holding {
	if !l.SomeLarge() {
		return models.Holding{}
	}
	l.large.mu.RLock()
	defer l.large.mu.RUnlock()
	return l.large.held[h]
}
