package drive

import (
	"context"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/target"
)

// largeMessage is the size from which on messages are loaded a few at a time, and
// delivered a few at a time by a model that holds them in memory.
const largeMessage = 1 << 20

// bound waits until a message of that size may be under way.
func (w *worker) bound(ctx context.Context, size int64) (free func(), err error) {
	n := min(size, target.MaxLarge)
	if n <= largeMessage {
		return nothing, nil
	}
	return func() { w.target.Large.Release(n) }, w.target.Large.Acquire(ctx, n)
}

// reserve waits until the message that is to be delivered may be in memory. That comes
// before the clock is read, so it is the client's own time and no service time.
func (w *worker) reserve(ctx context.Context) (free func(), err error) {
	if w.op.Op != workloads.Deliver {
		return nothing, nil
	}
	h, ok := w.mb.(models.Holder)
	if !ok {
		return nothing, nil
	}
	return w.bound(ctx, h.Holds(&w.message))
}

func nothing() {}
