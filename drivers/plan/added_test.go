package plan

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestBytesAdded: of a row or of arguments count the columns that are additions, an element of such a
// map, and all of a pattern that is one.
func TestBytesAdded(t *testing.T) {
	for of, want := range map[[2]string]int64{
		{"oracle", "message"}:         3, // isRead, size, attachmentSizes
		{"oracle", "attachment"}:      1,
		{"oracle", "set_read"}:        5, // its key too
		{"oracle", "put_message"}:     4, // attachments too
		{"oracle", "folders"}:         0,
		{"elasticinbox", "size_put"}:  4,
		{"elasticinbox", "block_put"}: 0, // in a form of ours
	} {
		s, err := schemas.Bundled(of[0])
		if err != nil {
			t.Fatal(err)
		}
		name := of[1]
		p := s.Pattern(name)
		n, of := len(p.Args()), Of(p)
		if p.Kind.Reads() {
			n = max(len(p.Columns), 1)
		}
		values := make([]drivers.Value, n)
		for i := range values {
			values[i] = drivers.Text("x")
		}
		if _, got := of.sizes(values); got != want {
			t.Errorf("%s: %d of %d values are additions, want %d", name, got, n, want)
		}
	}
}
