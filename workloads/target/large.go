package target

import (
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/models"
)

// LargeMessage is how many bytes an operation holds without asking for a part of the budget.
const LargeMessage = 1 << 20

// Budget bounds the bytes of large messages that operations hold at a time. An operation
// that needs more than Most takes all of it.
type Budget struct {
	*semaphore.Weighted
	Most int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(most int64) Budget { return Budget{semaphore.NewWeighted(most), most} }

// largeLeast is the budget unless the user allows more memory: with it, 32 clients with any
// mail take less than 300 MB.
const largeLeast = 32 << 20

// largeAtOnce is the budget in bytes: a third of GOMEMLIMIT where the user sets it, since an
// engine has copies of its own while it writes.
func largeAtOnce() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		return largeLeast
	}
	return max(largeLeast, debug.SetMemoryLimit(-1)/3)
}

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
