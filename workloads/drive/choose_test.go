package drive

import (
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/target"
)

// TestLabelled: after a label operation a message is free again, except while it has
// two labels, or nobody knows how many. A message with two labels can lose one.
func TestLabelled(t *testing.T) {
	for _, c := range []struct {
		off     bool
		out     latency.Outcome
		free    bool // other operations may choose the message
		doubled bool // it has two labels
	}{
		{false, latency.OK, false, true},
		{false, latency.Failed, true, false},
		{false, latency.NotFound, true, false},
		{false, latency.Unknown, false, false},
		{true, latency.OK, true, false},
		{true, latency.Failed, false, true},
		{true, latency.TooLarge, false, true},
		{true, latency.NotFound, false, false},
		{true, latency.Unknown, false, false},
	} {
		w := &worker{target: &target.Target{}}
		folder := &target.FolderSet{}
		h := models.Handle{1}
		folder.Add(h)
		folder.Own(0)
		w.task.from, w.task.to = target.Folder{FolderSet: folder}, target.Folder{FolderSet: &target.FolderSet{}}
		w.task.handle, w.task.off = h, c.off
		if err := w.labelled(c.out); err != nil {
			t.Fatal(err)
		}
		if _, free := folder.Own(0); free != c.free {
			t.Errorf("off %t, outcome %v: free %t, want %t", c.off, c.out, free, c.free)
		}
		for range 15 { // the oldest of 16 messages with two labels is the next to lose one
			folder.Label(target.DoubleLabelled{})
		}
		if l, ok := folder.Unlabel(); ok != c.doubled || ok && l.Handle != h {
			t.Errorf("off %t, outcome %v: two labels %t, want %t", c.off, c.out, ok, c.doubled)
		}
	}
}
