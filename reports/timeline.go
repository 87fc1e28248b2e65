package reports

import (
	"fmt"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// A gap is reported if it is at least gapLeast seconds long, and at least gapMissed operations
// would have ended in it at the phase's mean rate. If one operation ends in a minute, a minute
// without one tells nothing.
const (
	gapLeast  = 2.0
	gapMissed = 20
)

// LongestGap describes the longest time in which no operation was ok. It is "" if the gap is
// too short to be reported, or if the client itself stood still for half of it.
func LongestGap(c *results.Cell) string {
	if c.Gap == nil || c.Gap.Seconds < gapLeast || len(c.Timeline) == 0 {
		return ""
	}
	if e := c.Evidence; e != nil && e.Hiccups != nil && float64(e.Hiccups.Lateness.Max) >= c.Gap.Seconds*1e9/2 {
		return ""
	}
	var ok int64
	for i := range c.Timeline {
		ok += c.Timeline[i].OK
	}
	if pace := float64(ok) / max(c.Seconds, 1e-9); ok > 0 && pace*c.Gap.Seconds < gapMissed {
		return ""
	}
	return fmt.Sprintf("longest gap without an operation that was ok: %.1f s at %s", c.Gap.Seconds, words.Clock(c.Gap.At))
}
