package results

import (
	"fmt"
	"strings"
	"testing"
)

// Texts of the same error are counted together, and no more than five texts are kept.
func TestErrorCounts(t *testing.T) {
	var e []ErrorCount
	for i := range 30 {
		e = AddErrors(e, ErrorCount{fmt.Sprintf("node 10.0.0.%d: timed out after %d ms", i, i*i), 1})
	}
	for i := range 9 {
		e = AddErrors(e, ErrorCount{"refused: " + strings.Repeat("x", i), int64(1 + i)})
	}
	e = AddErrors(e, ErrorCount{"node 10.0.0.77: timed out after 3 ms", 5}, ErrorCount{"another", 50})
	got := fmt.Sprint(e)
	if want := "[{node 10.0.0.0: timed out after 0 ms 35} {refused: xxx 4} {refused: xx 3} {refused: x 2} {refused:  1} {other errors 85}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	few := AddErrors([]ErrorCount{{"refused", 1}, {OtherErrors, 3}}, ErrorCount{"timed out", 2}, ErrorCount{OtherErrors, 4})
	if got, want := fmt.Sprint(few), "[{timed out 2} {refused 1} {other errors 7}]"; got != want {
		t.Errorf("a text besides the other errors: got %s, want %s", got, want)
	}
	ann, bob := "list of ann@example.org: node 10.0.0.1:9042 ", "list of bob@example.org: node 10.0.0.2:9042 "
	if !alike(ann+"refused", bob+"refused") || alike(ann+"refused", bob+"timed out") || alike(ann, ann+"refused") {
		t.Error("texts of one error are two, or texts of two are one")
	}
}
