package drive

import "time"

// leastDelay is the least delay that is counted as one of the client. A shorter one is the
// usual cost of a timer.
const leastDelay = 500 * time.Microsecond

// undelayed is the latency: the response time that an operation would have had if this client had
// lost no time. In a closed loop it is the service time. Each worker keeps a second course of
// events, in which an operation starts when it is due and the worker's operation before has ended,
// and takes the same service time, less the hiccup at its end. Waiting for a slow store is in both
// courses. Late timers, a stopped process and the time that workers take to make operations are
// only in the real one. An operation dropped only in the real one is taken to last as long as the
// worker's others on average: beyond a store's capacity both courses drop nearly the same.
func (p *pace) undelayed(h *hiccups, due, start, end time.Duration) time.Duration {
	service := end - start
	if h.near(start, end) {
		service -= h.before(start, end)
	}
	if p.timer == nil {
		return service
	}
	p.idealEnd = max(due, p.idealEnd) + service
	return min(p.idealEnd, end) - due // never longer than it really took
}

// meanService is how long the worker's calls took on average.
func (s *stats) meanService() time.Duration {
	var started int64
	for i := range s.streams {
		started += s.streams[i].started
	}
	return s.busy / time.Duration(max(1, started))
}
