package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfirm checks that only what both rounds found is a regression, and that the notes
// report the rest.
func TestConfirm(t *testing.T) {
	first := &Comparison{Regressions: []string{"a/e/m list.p50", "a/e/m open.requests", "b/e/m: new is overloaded: 12% dropped"}}
	c := &Comparison{Notes: []string{}, Regressions: []string{"a/e/m open.requests", "a/e/m flag.p99", "b/e/m: new is overloaded: 14% dropped"}}
	c.Confirm(first)
	want := []string{"a/e/m open.requests", "b/e/m: new is overloaded: 14% dropped"}
	if diff := cmp.Diff(want, c.Regressions); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, part := range []string{
		"it confirms 2 of 3 regressions", "only one of two rounds found it: a/e/m flag.p99, a/e/m list.p50",
	} {
		if !strings.Contains(notes, part) {
			t.Errorf("no %q in the notes:\n%s", part, notes)
		}
	}
	c = &Comparison{Regressions: []string{}}
	if c.Confirm(first); c.Regressions == nil || len(c.Regressions) > 0 || len(c.Notes) != 1 {
		t.Errorf("nothing confirmed: %q, %q", c.Regressions, c.Notes)
	}
}
