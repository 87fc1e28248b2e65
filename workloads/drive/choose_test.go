package drive

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/subject"
)

// TestLabeled: after a label operation a message is free again, except while it has
// two labels, or an unknown number. A message with two labels can lose one.
func TestLabeled(t *testing.T) {
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
		w := &task{target: &subject.Target{}}
		folder := &subject.FolderSet{}
		h := models.Handle{1}
		folder.Add(h)
		folder.Own(0)
		w.from, w.to = subject.Folder{FolderSet: folder}, subject.Folder{FolderSet: &subject.FolderSet{}}
		w.handle, w.off = h, c.off
		if err := w.labeled(c.out); err != nil {
			t.Fatal(err)
		}
		if _, free := folder.Own(0); free != c.free {
			t.Errorf("off %t, outcome %v: free %t, want %t", c.off, c.out, free, c.free)
		}
		for range 15 { // the oldest of 16 messages with two labels is the next to lose one
			folder.Label(subject.DoubleLabeled{})
		}
		if l, ok := folder.Unlabel(); ok != c.doubled || ok && l.Handle != h {
			t.Errorf("off %t, outcome %v: two labels %t, want %t", c.off, c.out, ok, c.doubled)
		}
	}
}

// numbered is a mailbox whose handles are UIDs.
type numbered struct {
	models.Mailbox
	models.UIDs
}

func (numbered) UID(h models.Handle) uint64 { return uint64(h[0]) }

// TestExpungeTakesARange: an expunge takes messages whose UIDs follow each other, and none that another operation reads.
func TestExpungeTakesARange(t *testing.T) {
	for _, c := range []struct {
		uids []byte // the last is the newest
		read int    // rank of a message that is being read; -1: none
		want []byte
	}{
		{[]byte{1, 2, 3, 4}, -1, []byte{4, 3, 2}},
		{[]byte{1, 2, 4}, -1, []byte{4}},
		{[]byte{2, 3, 4}, 1, []byte{4}},
	} {
		folder := subject.Folder{FolderSet: &subject.FolderSet{}}
		for _, uid := range c.uids {
			folder.Add(models.Handle{uid})
		}
		if c.read >= 0 {
			folder.Read(c.read)
		}
		one := &task{mb: numbered{}}
		var got []byte
		for range 3 {
			h, ok := one.removeNext(folder.FolderSet, 0)
			if !ok {
				break
			}
			one.many, got = append(one.many, h), append(got, h[0])
		}
		if !slices.Equal(got, c.want) || folder.Len() != len(c.uids)-len(got) {
			t.Errorf("of %v, rank %d being read: %v; want %v", c.uids, c.read, got, c.want)
		}
	}
}
