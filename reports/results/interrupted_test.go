package results

import "testing"

func TestInterruptedText(t *testing.T) {
	for _, c := range []struct {
		op     string
		places map[Leaves]int
		faults Faults // of the last place
		want   string
	}{
		{"move", nil, Faults{}, "it cannot break off half-way"},
		{
			"move",
			map[Leaves]int{LeavesNone: 1, LeavesSome: 10},
			Faults{},
			"of 11 places where it can break off, 1 leaves it undone, 10 leave some messages moved, none shows a message twice, none loses one",
		},
		{
			"move",
			map[Leaves]int{LeavesAll: 2, LeavesTwice: 1, LeavesLost: 3},
			Faults{Unreferenced: 1, Dangling: 1, Broken: 1, Drift: 1},
			"of 6 places where it can break off, 2 leave all messages moved, 1 shows a message twice, 3 lose one; audits find rows that " +
				"nothing refers to in 1, dangling index entries in 1, broken bodies in 1, counters adrift in 1",
		},
		{
			"delete",
			map[Leaves]int{LeavesSome: 1},
			Faults{Drift: 1},
			"of 1 place where it can break off, 1 leaves some messages deleted; audits find counters adrift in 1",
		},
	} {
		i := Interrupted{Op: c.op}
		for left, n := range c.places {
			for range n {
				i.Add(left, Faults{})
			}
		}
		if i.Places > 0 { // the faults are those of one place
			i.Faults = c.faults
		}
		if got := i.Text(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	var i Interrupted
	i.Add(LeavesLost, Faults{Drift: 1})
	i.Add(LeavesNone, Faults{Drift: 1, Dangling: 1})
	if want := (Interrupted{Places: 2, None: 1, Lost: 1, Faults: Faults{Dangling: 1, Drift: 2}}); i != want {
		t.Errorf("%+v, want %+v", i, want)
	}
}
