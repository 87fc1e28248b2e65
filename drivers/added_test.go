package drivers

import (
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// TestBytesAdded: of a row or of arguments count the columns that are additions, an element of such a
// map, and all of a pattern that is one.
func TestBytesAdded(t *testing.T) {
	s, err := schemas.Bundled("oracle")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"message":     3, // isRead, size, attachmentSizes
		"attachment":  1,
		"set_read":    5, // its key too
		"put_message": 4, // attachments too
		"folders":     0,
	} {
		p := s.Pattern(name)
		n, a := len(p.Args()), newAdditions(p)
		added := a.args
		if p.Kind.Reads() {
			n, added = max(len(p.Columns), 1), a.rows
		}
		values := make([]Value, n)
		for i := range values {
			values[i] = Text("x")
		}
		if got := a.of(added, values); got != want {
			t.Errorf("%s: %d of %d values are additions, want %d", name, got, n, want)
		}
	}
}
