package drive

import (
	"fmt"
	"strings"
	"testing"
)

func TestErrorCounts(t *testing.T) {
	var e, other errorCounts
	for i := range 30 {
		e.add(fmt.Sprintf("node 10.0.0.%d: timed out after %d ms", i, i*i), 1)
	}
	for i := range 9 {
		e.add("refused: "+strings.Repeat("x", i), int64(1+i))
	}
	other.add("node 10.0.0.77: timed out after 3 ms", 5)
	other.add("another", 50)
	for _, c := range other {
		e.add(c.Text, c.Count)
	}
	got := fmt.Sprint(e.sorted())
	if want := "[{node 10.0.0.0: timed out after 0 ms 35} {refused: xxx 4} {refused: xx 3} {refused: x 2} {refused:  1} {other errors 85}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if a, b := shape("list of ann@example.org: node 10.0.0.1:9042 refused"), shape("list of bob@example.org: node 10.0.0.2:9042 refused"); a != b || a == shape("list of ann@example.org: node 10.0.0.1:9042 timed out") {
		t.Errorf("shapes %q and %q", a, b)
	}
}
