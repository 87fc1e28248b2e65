package subject

import (
	"sync"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// A message that another worker removes as soon as it is live is not kept for reading its
// attachment.
func TestRemovedIsNotAttached(t *testing.T) {
	l := Live{keepAttached: true}
	m := mail.Message{Attachments: []mail.Part{{Name: "a"}}}
	const each = 5000
	var f FolderSet
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range each {
				l.Add(&f, handle(w*each+n), &m, models.Holding{})
				for removed := false; !removed; {
					_, removed = f.Remove(0)
				}
			}
		})
	}
	wg.Wait()
	if h, _, ok := f.ReadAttached(0); ok {
		t.Errorf("%x is read after it was removed", h)
	}
}
