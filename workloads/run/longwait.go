package run

import "time"

// longWait is how long a wait for another shard lasts before it is noted, once. Without a
// terminal, nobody sees the progress line, and the run would say nothing for minutes.
const longWait = 10 * time.Second

// longWaits calls note once for each wait that is long.
type longWaits struct {
	now         func() time.Time
	note        func(string)
	what        string
	since, last time.Time
	noted       bool
}

// tell is called repeatedly while the run waits. What names the wait.
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
