package drive

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
)

const (
	// loggedTicks is how many of a phase's first ticks are a window of the log each.
	loggedTicks = 64
	// A later window lasts at least 1/loggedPart of the phase until the window's end. An
	// hour has about 130 windows.
	loggedPart = 16
)

// logged holds the ticks of a window that the log has not got yet. Its memory does not
// grow with the phase.
type logged struct {
	windows int       // windows that the log has got
	from    time.Time // begin of the window, if waits
	waits   bool      // the window has ticks
	ops     []latency.Op
	hiccups *hdr.Histogram
}

// writeLog gives a tick to the log, together with those before it that waited. A window
// that is too short for the phase's age waits for the next tick. Histograms add exactly, so
// the sum of the windows is the same however ticks are put together.
func (c *collector) writeLog(ops []latency.Op, hiccups *hdr.Histogram, from, to time.Time, last bool) {
	if c.Log == nil {
		return
	}
	l := &c.logged
	if l.waits {
		from = l.from
	}
	if full := last || l.windows < loggedTicks || loggedPart*to.Sub(from) >= to.Sub(c.began); !full {
		l.add(ops, hiccups, from)
		return
	}
	l.windows++
	if !l.waits {
		c.Log(ops, hiccups, from, to)
		return
	}
	l.add(ops, hiccups, from)
	c.Log(l.ops, l.hiccups, from, to)
	l.reset()
}

// add adds a tick to the window that begins at from.
func (l *logged) add(ops []latency.Op, hiccups *hdr.Histogram, from time.Time) {
	if l.ops == nil {
		l.ops = make([]latency.Op, len(ops))
		l.hiccups = newLateness()
	}
	l.from, l.waits = from, true
	for i := range ops {
		l.ops[i].Add(&ops[i])
	}
	l.hiccups.Merge(hiccups)
}

// reset begins a new window.
func (l *logged) reset() {
	l.waits = false
	for i := range l.ops {
		l.ops[i].Reset()
	}
	l.hiccups.Reset()
}
