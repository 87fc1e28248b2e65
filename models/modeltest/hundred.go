package modeltest

import (
	"testing"

	"github.com/mailbench/mailbench/models"
)

// testHundred moves and deletes 100 messages at once. No engine may refuse so many small ones:
// documents ask for one or more messages in a call.
func testHundred(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	for n := range 102 {
		diff.deliver(sample(n).Message(), in)
	}
	moved, err := diff.move(in, work, diff.live(in)[1:101]...)
	if err != nil {
		t.Fatalf("move 100 messages: %v", err)
	}
	diff.checkFolder(in, 25)
	diff.checkFolder(work, 100)
	if err := diff.delete(work, moved...); err != nil {
		t.Fatalf("delete 100 messages: %v", err)
	}
	diff.check()
}
