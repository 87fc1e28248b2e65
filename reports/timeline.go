package reports

import (
	"fmt"
	"math"
	"strings"

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

// timelineWidth is how many bars a timeline has at most in text. A bar of a long
// timeline shows several intervals.
const timelineWidth = 60

var levels = []rune(" ▁▂▃▄▅▆▇█")

// timeline draws a phase in which an engine was in trouble: a line of bars, and a line of marks
// for failed and unknown operations.
func (t *text) timeline(c *results.Cell) {
	gap, troubled := LongestGap(c), false
	for i := range c.Timeline {
		troubled = troubled || c.Timeline[i].Failed+c.Timeline[i].Unknown > 0
	}
	if gap == "" && !troubled {
		return
	}
	bars, marks, most, each := sketch(c, min(timelineWidth, t.width-6))
	head := fmt.Sprintf("%s over time: ok/s, a bar for %s, the highest %s", t.names.Of(c),
		words.Duration(each*1e9), words.Amount(most))
	if troubled {
		head += "; below it ! failed, ? of unknown outcome, * both"
	}
	t.wrap("  ", 4, head)
	t.line("    |%s|", bars)
	if troubled {
		t.line("    |%s|", marks)
	}
	if gap != "" {
		t.wrap("    ", 4, gap)
	}
}

// sketch draws the cell's timeline with at most width bars of ok operations a
// second, and marks below them. It returns the highest rate and the seconds of one
// bar too. An interval belongs to the bar that its middle lies in. An interval that is
// longer than a bar, because its tick came late, fills the bars beside it too.
func sketch(c *results.Cell, width int) (bars, marks string, most, each float64) {
	last := &c.Timeline[len(c.Timeline)-1]
	rates := make([]float64, min(width, len(c.Timeline)))
	each = max(last.At+last.Seconds, 1e-9) / float64(len(rates))
	var m strings.Builder
	for i := range rates {
		from, to := float64(i)*each, float64(i+1)*each
		var in, across results.Interval
		for _, t := range c.Timeline {
			switch middle := t.At + t.Seconds/2; {
			case from <= middle && middle < to:
				in.Seconds += t.Seconds
				in.OK += t.OK
				in.Failed += t.Failed
				in.Unknown += t.Unknown
			case t.At <= (from+to)/2 && (from+to)/2 < t.At+t.Seconds:
				across = t
			}
		}
		if rates[i] = in.PerSecond(in.OK); in.Seconds == 0 {
			rates[i] = across.PerSecond(across.OK)
		}
		most = max(most, rates[i])
		switch {
		case in.Failed > 0 && in.Unknown > 0:
			m.WriteByte('*')
		case in.Failed > 0:
			m.WriteByte('!')
		case in.Unknown > 0:
			m.WriteByte('?')
		default:
			m.WriteByte(' ')
		}
	}
	var b strings.Builder
	for _, r := range rates { // a low rate is not shown as none
		b.WriteRune(levels[int(math.Ceil(r/max(most, 1e-9)*float64(len(levels)-1)))])
	}
	return b.String(), m.String(), most, each
}
