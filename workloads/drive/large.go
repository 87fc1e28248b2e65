package drive

import (
	"context"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/target"
)

// bound waits until an operation may hold so many bytes of large messages.
func (w *worker) bound(ctx context.Context, size int64) (free func(), err error) {
	n := min(size, target.MaxLarge)
	if n <= target.LargeMessage {
		return nothing, nil
	}
	return func() { w.target.Large.Release(n) }, w.target.Large.Acquire(ctx, n)
}

// reserve waits until the message that is to be delivered, read or moved may be in memory.
// That comes before the clock is read, so it is the client's own time and no service time.
func (w *worker) reserve(ctx context.Context) (free func(), err error) {
	n := int64(0)
	switch w.op.Op {
	case workloads.Deliver:
		n = w.holds().Deliver
	case workloads.Open:
		n = w.live.Holding(w.task.handle).Open
	case workloads.Attachment:
		n = w.live.Holding(w.task.handle).Attachment
	case workloads.Move:
		for _, h := range w.task.many {
			n += w.live.Holding(h).Move
		}
	}
	return w.bound(ctx, n)
}

// holds says what calls on the message that is being delivered hold.
func (w *worker) holds() models.Holding {
	if h, ok := w.mb.(models.Holder); ok {
		return h.Holds(&w.message)
	}
	return models.Holding{}
}

func nothing() {}
