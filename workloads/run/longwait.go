package run

import "time"

// Where nobody sees the line of progress, a run that waits for another shard says nothing
// for minutes. So a wait that is long is noted, once.
const longWait = 10 * time.Second

// longWaits tells of waits that are long.
type longWaits struct {
	now         func() time.Time
	note        func(string)
	what        string
	since, last time.Time
	noted       bool
}

// tell is called again and again while the run waits.
func (w *longWaits) tell(what string) {
	now := w.now()
	if what != w.what || now.Sub(w.last) > longWait/2 { // another wait than the one before
		w.what, w.since, w.noted = what, now, false
	}
	w.last = now
	if !w.noted && now.Sub(w.since) >= longWait {
		w.noted = true
		w.note(what)
	}
}
