package faithful

import (
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// Document 001 names flags and properties, and says nothing of counts, dates or sizes.
func TestJamesMarksAdditions(t *testing.T) {
	s, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	for table, columns := range map[string][]string{
		"JAMES_MAILBOXES": {"message_count"}, "JAMES_MESSAGES": {"internal_date", "size"},
	} {
		for _, name := range columns {
			if c := s.Table(table).Column(name); c == nil || c.Addition == "" {
				t.Errorf("%s.%s is not marked as an addition", table, name)
			}
		}
	}
}
