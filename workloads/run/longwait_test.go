package run

import (
	"slices"
	"testing"
	"time"
)

// A wait of 10 seconds is noted once, and two short ones are not taken for one.
func TestLongWaits(t *testing.T) {
	now := time.Now()
	var noted []string
	w := longWaits{now: func() time.Time { return now }, note: func(what string) { noted = append(noted, what) }}
	wait := func(what string, seconds int) {
		for range 10 * seconds {
			w.notify(what)
			now = now.Add(100 * time.Millisecond)
		}
	}
	wait("waits for segment 2", 8)
	now = now.Add(time.Minute) // a phase
	wait("waits for segment 2", 8)
	wait("waits for segment 3", 8)
	if len(noted) > 0 {
		t.Errorf("short waits are noted: %q", noted)
	}
	wait("waits for segment 3", 60)
	now = now.Add(time.Minute)
	wait("waits for segment 3", 12)
	if want := []string{"waits for segment 3", "waits for segment 3"}; !slices.Equal(noted, want) {
		t.Errorf("noted %q, want %q", noted, want)
	}
}
