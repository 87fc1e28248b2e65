package results

import "testing"

func TestInterruptedText(t *testing.T) {
	for want, i := range map[string]Interrupted{
		"no interruption point": {Op: "move"},
		"11 interruption points: 1 not applied, 10 partially applied, none lost": {
			Op: "move", Places: 11, None: 1, Some: 10,
		},
		"6 interruption points: 2 applied, 1 duplicated, 3 lost; verification finds orphaned rows in 1, broken references in 2, " +
			"broken bodies in 3, counter drift in 4": {
			Op: "move", Places: 6, All: 2, Twice: 1, Lost: 3, Unreferenced: 1, Dangling: 2, Broken: 3, Drift: 4,
		},
		"1 interruption point: 1 partially applied; verification finds counter drift in 1": {
			Op: "delete", Places: 1, Some: 1, Drift: 1,
		},
	} {
		if got := i.Text(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
