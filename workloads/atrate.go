package workloads

import (
	"fmt"
	"time"
)

// AtRate returns the phase as an open loop of perSecond operations a second that lasts so
// long. A closed loop becomes a Poisson process, and a rate that changes becomes constant.
// Streams keep their shares. The error says why a phase has no rate to change.
func (p Phase) AtRate(perSecond float64, length time.Duration) (Phase, error) {
	switch {
	case p.Replay != nil:
		return p, fmt.Errorf("phase %s replays a trace and has no rate to change", p.Name)
	case len(p.Streams) > 0 && p.Rate.Count == 0:
		return p, fmt.Errorf("phase %s has streams of clients only, and no rate to change", p.Name)
	}
	factor := 1.0
	if p.Rate.Count > 0 {
		factor = perSecond / p.Rate.PerSecond()
	}
	streams := make([]Phase, 0, len(p.Streams))
	for _, s := range p.Streams {
		s.Rate, s.Shape = RateOf(factor*s.Rate.PerSecond()), nil
		streams = append(streams, s)
	}
	if p.Arrivals == Closed {
		p.Arrivals, p.Think = Poisson, nil
	}
	if p.Rate, p.Shape = RateOf(perSecond), nil; len(streams) > 0 {
		p.Streams = streams
	} else {
		p.Clients = 0
	}
	p.Duration, p.Operations = length, 0
	return p, nil
}
