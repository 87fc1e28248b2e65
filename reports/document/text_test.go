package document

import (
	"strings"
	"testing"
)

// A long lead is wrapped as its text is.
func TestLongLead(t *testing.T) {
	var b strings.Builder
	s := Section{ID: "verdict"}
	s.Say(Plain, strings.Repeat("long ", 15)+"lead", "elasticinbox, james.")
	s.Note(Plain, strings.Repeat("long ", 15)+"lead", "elasticinbox, james.")
	if err := (Terminal{Width: 40}).Write(&b, &Document{Sections: []Section{s}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 41 {
			t.Errorf("longer than 40: %q", line)
		}
	}
	if strings.Count(b.String(), "lead: elasticinbox,") != 2 {
		t.Errorf("got %q", b.String())
	}
}
