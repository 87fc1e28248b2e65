package fit

import (
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/mailbench/mailbench/schemas/words"
)

// Bounds of written rates, and the rate for a measured one below them. A minute at the least
// rate must measure something, and a client must be able to offer the highest one.
const (
	leastRate = 1.0
	mostRate  = 100_000.0
	usualRate = 50.0
)

// parts is how many parts a trace is divided into to see whether its rate changes.
const parts = 20

// rate returns the rate to write for a measured one, and says so if they differ.
func (w *writer) rate(measured float64, what string) float64 {
	switch {
	case measured < leastRate:
		w.text("      # rate: %.4g/h of %s was measured. A minute of that measures nothing: it is raised to %g/s",
			measured*3600, what, usualRate)
		return usualRate
	case measured > mostRate:
		w.text("      # rate: %.4g/s of %s was measured; it is cut to %g/s", measured, what, mostRate)
		return mostRate
	}
	w.text("      # rate: %.4g/s of %s", measured, what)
	return measured
}

// arrivals writes rate and arrivals for the times of a trace's events. A rate that changes
// becomes steps.
func (w *writer) arrivals(times []float64, what string) {
	span := times[len(times)-1] - times[0]
	if span <= 0 {
		w.text("      # rate: not measured, as all %s have the same time\n      rate: %g/s", what, usualRate)
		return
	}
	measured := float64(len(times)-1) / span
	mean := w.rate(measured, what)
	counts := make([]float64, parts)
	for _, t := range times[1:] {
		counts[min(int((t-times[0])/span*parts), parts-1)]++
	}
	changes := len(times) >= smallSample && uneven(counts)
	if changes {
		var steps []string
		each := float64(len(times)-1) / parts
		for _, c := range counts {
			steps = append(steps, perSecond(mean*c/each))
		}
		w.text("      #   it changes: each step is the mean of %.4g s of the trace; all steps together are the phase",
			span/parts)
		w.text("      rate: {steps: [%s]}", strings.Join(steps, ", "))
	} else {
		w.text("      rate: %s", perSecond(mean))
	}
	// Gaps are measured on a scale of time that makes the rate constant.
	scaled := func(t float64) float64 {
		at := (t - times[0]) / span * parts
		if !changes {
			return at
		}
		part, n := min(int(at), parts-1), 0.0
		for _, c := range counts[:part] {
			n += c
		}
		return n + (at-float64(part))*counts[part]
	}
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		gaps[i] = scaled(times[i+1]) - scaled(times[i])
	}
	w.gaps(gaps)
}

// gaps writes the kind of arrivals that fits the gaps.
func (w *writer) gaps(gaps []float64) {
	mean, deviation := stat.PopMeanStdDev(gaps, nil)
	variation, distance := deviation/mean, exponential(gaps)
	w.text("      # arrivals: %s, D from a Poisson process %.3f, deviation %.2f of the mean gap",
		words.Plural(len(gaps), "gap"), distance, variation)
	switch {
	case variation < 0.5:
		w.text("      arrivals: constant")
		if variation > 0.05 {
			w.text("      #   does not fit: the gaps are not all the same")
		}
		return
	case distance > near:
		w.text("      #   does not fit: operations come more in bursts, or more evenly, than in a Poisson process")
	}
	w.text("      arrivals: poisson")
}

// mailArrivals writes rate and arrivals by the dates of mail: the course of the day, in
// the length of the phase.
func (w *writer) mailArrivals() {
	dates := slices.Clone(w.s.dates)
	slices.SortFunc(dates, func(a, b time.Time) int { return a.Compare(b) })
	// Some dates are nonsense; the earliest and the latest twentieth do not count.
	dates = dates[len(dates)/20 : len(dates)-len(dates)/20]
	if len(dates) < 2 || !dates[0].Before(dates[len(dates)-1]) {
		w.text("      # rate: not measured, as the mail has no two dates\n      rate: %g/s", usualRate)
		return
	}
	gaps := make([]float64, len(dates)-1)
	for i := range gaps {
		gaps[i] = dates[i+1].Sub(dates[i]).Seconds()
	}
	span := dates[len(dates)-1].Sub(dates[0]).Seconds()
	mean := w.rate(float64(len(gaps))/span, "messages")
	hours := make([]float64, 24)
	for _, d := range dates {
		hours[d.Hour()]++
	}
	if len(dates) >= smallSample && uneven(hours) {
		var parts []string
		for _, h := range hours {
			parts = append(parts, number(h))
		}
		w.text("      #   it follows the hours of the day where the senders were; the phase is one day")
		w.text("      rate: {day: {mean: %s, hours: [%s]}}", perSecond(mean), strings.Join(parts, ", "))
	} else {
		w.text("      rate: %s", perSecond(mean))
	}
	w.gaps(gaps)
}

// perSecond is a rate as the language writes it, to four digits. A step has a rate above 0.
func perSecond(v float64) string {
	v = max(v, 0.001)
	return number(round(v, max(0, 3-int(math.Floor(math.Log10(v)))))) + "/s"
}
