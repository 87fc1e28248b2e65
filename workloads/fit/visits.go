package fit

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// visits writes the operations of users as sessions, and deliveries as a stream of their own.
// It returns false, and writes nothing, if the trace does not show sessions or has operations
// that the workload cannot do.
func (w *writer) visits(files, folders bool) bool {
	all, pause, ok := w.s.sessions()
	if !ok || len(all) < smallSample {
		return false
	}
	for op := range w.s.mix {
		if w.s.mix.Has(workloads.Op(op)) && w.needs(workloads.Op(op), files, folders) != "" {
			return false
		}
	}
	best, transitions, lengths := bestForm(all)
	operations := 0
	var starts []float64
	var thinks []int64
	for i := range all {
		operations += len(all[i].ops)
		starts = append(starts, all[i].start)
		for _, t := range all[i].think {
			thinks = append(thinks, int64(math.Round(t*1e6)))
		}
	}
	w.text("      # Users work in sessions: %s of %s. A pause of more than %s, or another folder, begins one.",
		amount(operations, "operation"), amount(len(all), "session"), microseconds(pause*1e6))
	w.text("      # Sessions of the trace have %.4g operations on average. Their lengths fit those below with D %.3f.",
		float64(operations)/float64(len(all)), lengths)
	w.text("      # A share of %.3f of the transitions between operations differs from the session below.", transitions)
	if transitions > limit(len(all)) || lengths > limit(len(all)) {
		w.text("      #   does not fit: the order of operations is not that of a session with one repetition")
	}
	w.text("      streams:\n        - name: sessions")
	w.indented(func(in *writer) { in.arrivals(starts, "sessions") })
	w.text("          think: %s", w.think(thinks))
	w.text("          session:")
	w.steps("            ", best.before)
	if best.chance > 0 {
		head := step{op: best.head, chance: best.chance, times: best.rounds}
		if len(best.body) == 0 {
			w.steps("            ", []step{head})
		} else {
			w.text("            - repeat:\n                times: %s", best.rounds)
			if best.chance < 1 {
				w.text("                chance: %s", number(best.chance))
			}
			w.text("                steps:\n                  - %s", best.head)
			w.steps("                  ", best.body)
		}
	}
	w.steps("            ", best.after)
	if len(w.s.delivered) > 0 {
		w.text("        - name: inbound")
		w.indented(func(in *writer) { in.arrivals(w.s.delivered, "deliveries") })
		w.text("          mix: {deliver: 1}")
	}
	return true
}

// indented writes the text of do, indented by four more columns.
func (w *writer) indented(do func(in *writer)) {
	in := &writer{s: w.s, exact: true}
	do(in)
	for line := range strings.Lines(in.String()) {
		w.WriteString("    " + line)
	}
}

// steps writes steps of a session.
func (w *writer) steps(indent string, all []step) {
	for _, s := range all {
		var how []string
		if s.times != nil && s.times.Max() > 1 {
			how = append(how, "times: "+fmt.Sprint(s.times))
		}
		if s.chance < 1 {
			how = append(how, "chance: "+number(s.chance))
		}
		if about := clip(w.s.about[s.op], workloads.MaxMessages); len(about) > 0 && sorted(about).high() > 1 {
			how = append(how, "messages: "+fmt.Sprint(choose(sorted(about))[0].dist))
		}
		if len(how) == 0 {
			w.text("%s- %s", indent, s.op)
		} else {
			w.text("%s- %s: {%s}", indent, s.op, strings.Join(how, ", "))
		}
	}
}

// think writes how well distributions fit think times in microseconds. It returns the one to
// take, as the language writes it.
func (w *writer) think(values []int64) string {
	if len(values) == 0 {
		w.text("          # think: not measured")
		return "1s"
	}
	s := sorted(values)
	var words []string
	var best *candidate
	all := choose(s)
	for i := range all {
		if all[i].name == "zipf" {
			continue // the language has it for counts only
		}
		words = append(words, fmt.Sprintf("%s %.3f", all[i].name, all[i].distance))
		if best == nil {
			best = &all[i]
		}
	}
	w.text("          # think: %s, mean %s; mean of the distribution %s", amount(len(s), "pause"), microseconds(s.mean()),
		microseconds(best.dist.Mean()))
	w.text("          #   D: %s", strings.Join(words, ", "))
	if best.distance > limit(len(s)) {
		w.text("          #   does not fit: the nearest distribution has D %.3f", best.distance)
	}
	return timesText(best.dist)
}

// timesText writes a distribution of microseconds as the language writes times.
func timesText(d random.Dist) string {
	us := func(v random.Size) string { return microseconds(float64(v)) }
	switch d := d.(type) {
	case random.Uniform:
		return fmt.Sprintf("{uniform: {min: %s, max: %s}}", us(d.Low), us(d.High))
	case random.Lognormal:
		return fmt.Sprintf("{lognormal: {median: %s, p99: %s}}", us(d.Median), us(d.P99))
	case random.Pareto:
		return fmt.Sprintf("{pareto: {min: %s, alpha: %s, max: %s}}", us(d.Low), number(d.Alpha), us(d.High))
	case random.Empirical:
		var points []string
		for _, p := range d {
			points = append(points, fmt.Sprintf("[%s, %s]", us(p.Value), number(p.Fraction)))
		}
		return "{empirical: [" + strings.Join(points, ", ") + "]}"
	case random.Constant:
		return us(d.Value)
	}
	return microseconds(d.Mean())
}

func microseconds(us float64) string { return time.Duration(max(1, math.Round(us)) * 1e3).String() }
