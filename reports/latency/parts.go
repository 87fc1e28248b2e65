package latency

import (
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// PartTime is how long one part of an operation took, such as a call of an access pattern.
type PartTime struct {
	Name string
	Took time.Duration
}

// Part are the times of one part of an operation.
type Part struct {
	Name  string
	Times *hdr.Histogram
}

// partBytes is the size of the counts of the few parts that an operation has.
const partBytes = 4 * 31 << 10

// partCounts are what a worker recorded of one part of an operation.
type partCounts struct {
	name  string
	times *counts
}

// RecordParts adds the parts of an operation that was ok. It allocates only for the first time of
// each part.
func (w *Worker) RecordParts(op int, parts []PartTime) {
	w.mu.Lock()
	for i := range parts {
		w.part(op, parts[i].Name).add(uint64(min(max(parts[i].Took, 0), Highest)))
	}
	w.mu.Unlock()
}

// part returns the counts of a part of an operation.
func (w *Worker) part(op int, name string) *counts {
	of := w.parts[op]
	for i := range of {
		if of[i].name == name {
			return of[i].times
		}
	}
	c := newCounts(digitsRough)
	w.parts[op] = append(of, partCounts{name, c})
	return c
}

// Parts are the parts of some operations together, when the workers have ended.
func (r *Recorder) Parts(ops ...int) (all []Part) {
	for _, w := range r.workers {
		w.mu.Lock()
		for _, op := range ops {
			for _, p := range w.parts[op] {
				at := slices.IndexFunc(all, func(have Part) bool { return have.Name == p.name })
				if at < 0 {
					at, all = len(all), append(all, Part{p.name, hdr.New(1, int64(Highest), digitsRough)})
				}
				p.times.addTo(all[at].Times)
			}
		}
		w.mu.Unlock()
	}
	return all
}
