package subject

import (
	"context"
	"os"
	"runtime/debug"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/models"
)

// Budget bounds the bytes of large messages that operations hold at a time. An operation
// that needs more than Most takes all of it.
type Budget struct {
	*semaphore.Weighted
	Most int64
}

// NewBudget returns a budget of most bytes.
func NewBudget(most int64) Budget { return Budget{semaphore.NewWeighted(most), most} }

// Take waits until n bytes may be in memory. It returns how many of them the caller must
// release, 0 if n is small, and whether it had to wait.
func (b *Budget) Take(ctx context.Context, n int64) (held int64, waited bool, err error) {
	if n = min(n, b.Most); n <= models.LargeMessage {
		return 0, false, nil
	}
	if b.TryAcquire(n) {
		return n, false, nil
	}
	if err := b.Acquire(ctx, n); err != nil {
		return 0, true, err
	}
	return n, true, nil
}

// largeLeast is the budget unless the user allows more memory: with it, 32 clients with any
// mail take less than 300 MB.
const largeLeast = 32 << 20

// largeAtOnce is the budget in bytes: a third of GOMEMLIMIT if the user sets it, since an
// engine makes copies of its own while it writes.
func largeAtOnce() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		return largeLeast
	}
	return max(largeLeast, debug.SetMemoryLimit(-1)/3)
}

// LargestRow is the most bytes that a call holds of one row of the folder. It is 0 if they
// are few or not known. It does not fall when messages go.
func (f *FolderSet) LargestRow() int64 { return f.largestRow.Load() }

// SomeLarge reports whether calls on some message held many bytes.
func (l *Live) SomeLarge() bool { return l.someLarge.Load() }

// Holding returns how many bytes calls on a message hold. It is zero if they are few or not
// known, as with older ledgers.
func (l *Live) Holding(h models.Handle) models.Holding {
	if !l.SomeLarge() {
		return models.Holding{}
	}
	l.holding.RLock()
	defer l.holding.RUnlock()
	return l.held[h]
}
