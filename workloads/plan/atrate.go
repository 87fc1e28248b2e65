package plan

import (
	"fmt"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// AtRate returns the phase as an open loop of perSecond operations a second that lasts so
// long. A closed loop becomes a Poisson process, and a rate that changes becomes constant.
// Streams keep their shares. The error says why a phase has no rate to change.
func AtRate(p workloads.Phase, perSecond float64, length time.Duration) (workloads.Phase, error) {
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
	streams := make([]workloads.Phase, 0, len(p.Streams))
	for _, s := range p.Streams {
		s.Rate, s.Shape = workloads.RateOf(factor*s.Rate.PerSecond()), nil
		streams = append(streams, s)
	}
	if p.Arrivals == workloads.Closed {
		p.Arrivals, p.Think = workloads.Poisson, nil
	}
	if p.Rate, p.Shape = workloads.RateOf(perSecond), nil; len(streams) > 0 {
		p.Streams = streams
	} else {
		p.Clients = 0
	}
	p.Duration, p.Operations = length, 0
	return p, nil
}
