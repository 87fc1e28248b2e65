package drive

import (
	"context"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
)

// reserve waits until an operation may keep so many bytes of large messages in memory. It waits
// before the clock is read, so the wait is the client's own time and no service time. It
// returns how many bytes to release.
func (w *worker) reserve(ctx context.Context, size int64) (held int64, err error) {
	held, waited, err := w.target.Large.Take(ctx, size)
	if waited {
		w.stats.largeWaits++
	}
	return held, err
}

// bytes is how many bytes of messages the operation may keep in memory.
func (t *task) bytes() (n int64) {
	if t.op.Op == workloads.Deliver {
		return t.memoryNeeds().Deliver
	}
	if !t.live.SomeLarge() {
		return 0
	}
	switch t.op.Op {
	case workloads.Open:
		n = t.live.Holding(t.handle).Open
	case workloads.Attachment:
		n = t.live.Holding(t.handle).Attachment
	case workloads.Move:
		for _, h := range t.many { // a model may read all of them before it writes
			n += t.live.Holding(h).Move
		}
	case workloads.Flag, workloads.Delete:
		for _, h := range t.many {
			n = max(n, t.live.Holding(h).Row)
		}
	case workloads.Seen, workloads.SeenBy:
		n = t.live.Holding(t.handle).Row
	case workloads.List, workloads.SearchSender, workloads.Slice, workloads.Counters, workloads.SearchAll:
		n = t.from.LargestRow()
	case workloads.Folders, workloads.AllMail:
		for _, f := range t.account.Folders {
			n = max(n, f.LargestRow())
		}
	}
	return n
}

// memoryNeeds is how many bytes of the message each kind of call keeps in memory.
func (t *task) memoryNeeds() models.Holding {
	if h, ok := t.mb.(models.Holder); ok {
		return h.Holds(&t.message)
	}
	return models.Holding{}
}
