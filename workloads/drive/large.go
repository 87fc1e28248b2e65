package drive

import (
	"context"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
)

// acquireMemory waits until an operation may keep so many bytes of large messages in memory. It
// returns how many bytes to release.
func (w *worker) acquireMemory(ctx context.Context, size int64) (held int64, err error) {
	held, waited, err := w.target.Large.Take(ctx, size)
	if waited {
		w.stats.largeWaits++
	}
	return held, err
}

func (w *worker) release(held int64) { w.target.Large.Release(held) }

// reserve waits until the operation's messages may be in memory. It waits before the clock
// is read, so the wait is the client's own time and no service time.
func (w *worker) reserve(ctx context.Context) (held int64, err error) {
	if w.op.Op == workloads.Deliver {
		return w.acquireMemory(ctx, w.memoryNeeds().Deliver)
	}
	if !w.live.SomeLarge() {
		return 0, nil
	}
	t, n := &w.task, int64(0)
	switch w.op.Op {
	case workloads.Open:
		n = w.live.Holding(t.handle).Open
	case workloads.Attachment:
		n = w.live.Holding(t.handle).Attachment
	case workloads.Move:
		for _, h := range t.many { // a model may read all of them before it writes
			n += w.live.Holding(h).Move
		}
	case workloads.Flag, workloads.Delete:
		for _, h := range t.many {
			n = max(n, w.live.Holding(h).Row)
		}
	case workloads.Seen:
		n = w.live.Holding(t.handle).Row
	case workloads.List, workloads.SearchSender, workloads.Slice, workloads.Counters:
		n = t.from.LargestRow()
	case workloads.Folders:
		for _, f := range t.account.Folders {
			n = max(n, f.LargestRow())
		}
	}
	return w.acquireMemory(ctx, n)
}

// memoryNeeds is how many bytes of the message each kind of call keeps in memory.
func (w *worker) memoryNeeds() models.Holding {
	if h, ok := w.mb.(models.Holder); ok {
		return h.Holds(&w.message)
	}
	return models.Holding{}
}
