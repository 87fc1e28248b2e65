package reports

import (
	"fmt"
	"math"
	"strings"
)

// gapLeast is how long a gap is in seconds before it is worth words, and
// gapMissed how many operations would have ended in it at the phase's pace:
// where there is one in a minute, a minute without one is nothing.
const (
	gapLeast  = 2.0
	gapMissed = 20
)

// gap says for how long no operation was ok, or "".
func (c *Cell) gap() string {
	if c.Gap == nil || c.Gap.Seconds < gapLeast {
		return ""
	}
	var ok int64
	for i := range c.Timeline {
		ok += c.Timeline[i].OK
	}
	if pace := float64(ok) / max(c.Seconds, 1e-9); ok > 0 && pace*c.Gap.Seconds < gapMissed {
		return ""
	}
	return fmt.Sprintf("longest gap without an operation that was ok: %.1f s at %s", c.Gap.Seconds, clock(c.Gap.At))
}

// clock writes seconds since a phase began as minutes and seconds.
func clock(seconds float64) string {
	s := int(seconds)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// perSecond is a count of the interval as a rate.
func (in *Interval) perSecond(n int64) float64 { return float64(n) / max(in.Seconds, 1e-3) }

// timelineWidth is how many bars the text form of a timeline has at most; each
// stands for several intervals of a longer one.
const timelineWidth = 60

var levels = []rune(" ▁▂▃▄▅▆▇█")

// timeline draws how a phase went in which an engine was in trouble, in one line
// of bars and one of marks.
func (t *text) timeline(c *Cell) {
	gap, troubled := c.gap(), false
	for i := range c.Timeline {
		troubled = troubled || c.Timeline[i].Failed+c.Timeline[i].Unknown > 0
	}
	if gap == "" && !troubled {
		return
	}
	bars, marks, most, each := c.sketch(min(timelineWidth, t.width-6))
	head := fmt.Sprintf("%s over time: ok/s, a bar for %s, the highest %s", t.names.of(c), duration(each*1e9), amount(most))
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

// sketch is the cell's timeline as at most so many bars of ok operations a
// second, with the highest and the seconds that one bar stands for, and marks
// below them.
func (c *Cell) sketch(width int) (bars, marks string, most, each float64) {
	group := (len(c.Timeline) + width - 1) / width
	var sums []Interval
	for i, in := range c.Timeline {
		if i%group == 0 {
			sums = append(sums, Interval{})
		}
		s := &sums[len(sums)-1]
		s.Seconds += in.Seconds
		s.OK += in.OK
		s.Failed += in.Failed
		s.Unknown += in.Unknown
	}
	for i := range sums {
		most = max(most, sums[i].perSecond(sums[i].OK))
	}
	var b, m strings.Builder
	for i := range sums {
		s := &sums[i]
		// What is little is not shown as nothing.
		b.WriteRune(levels[int(math.Ceil(s.perSecond(s.OK)/max(most, 1e-9)*float64(len(levels)-1)))])
		switch {
		case s.Failed > 0 && s.Unknown > 0:
			m.WriteByte('*')
		case s.Failed > 0:
			m.WriteByte('!')
		case s.Unknown > 0:
			m.WriteByte('?')
		default:
			m.WriteByte(' ')
		}
	}
	return b.String(), m.String(), most, sums[0].Seconds
}
