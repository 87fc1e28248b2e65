package results

import "testing"

func TestInterruptedText(t *testing.T) {
	for want, i := range map[string]Interrupted{
		"it cannot break off half-way": {Op: "move"},
		"of 11 places where it can break off, 1 leaves it undone, 10 leave some messages moved, none shows a message twice, none loses one": {
			Op: "move", Places: 11, None: 1, Some: 10,
		},
		"of 6 places where it can break off, 2 leave all messages moved, 1 shows a message twice, 3 lose one; audits find rows that " +
			"nothing refers to in 1, dangling index entries in 2, broken bodies in 3, counters adrift in 4": {
			Op: "move", Places: 6, All: 2, Twice: 1, Lost: 3, Unreferenced: 1, Dangling: 2, Broken: 3, Drift: 4,
		},
		"of 1 place where it can break off, 1 leaves some messages deleted; audits find counters adrift in 1": {
			Op: "delete", Places: 1, Some: 1, Drift: 1,
		},
	} {
		if got := i.Text(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
