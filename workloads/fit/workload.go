// Package fit measures mail or a trace, and writes a workload whose distributions fit it.
// [Sample] holds the measurements: [Sample.ReadMbox], [Sample.ReadMaildir] and
// [Sample.ReadTrace] fill it, and [Sample.Workload] is the text of the workload. Comments in
// it say how well each distribution fits. No address, name or subject gets into it.
//
// A distribution is judged by the Kolmogorov-Smirnov distance D: the largest difference
// between the share of values up to some size in the sample, and in the distribution. The
// package takes the nearest distribution if that is near enough, and else a measured one
// (empirical).
//
// Operations of a trace become a mix with their rate.
package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

// writer writes the workload.
type writer struct {
	strings.Builder
	s *Sample
}

// Workload is the workload that fits the sample, which has messages or operations.
func (s *Sample) Workload() string {
	w := &writer{s: s}
	w.text("# D is the Kolmogorov-Smirnov distance: at no size do the shares of the sample and of")
	w.text("# the distribution differ by more. Up to %g a distribution fits, if its mean is near, too.", near)
	var what []string
	if n := len(s.bodies); n > 0 {
		what = append(what, words.Plural(n, "message"))
	}
	if n := len(s.times); n > 0 {
		what = append(what, words.Plural(n, "operation"))
	}
	w.text("version: 1\nname: fitted\ndescription: Fitted to %s", strings.Join(what, " and "))
	files := w.mail()
	folders := w.population()
	w.keys()
	w.phases(files, folders)
	return w.String()
}

func (w *writer) text(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// dist writes the distribution that fits, and how well it and others do. Without values it writes usual, which was not
// measured. It returns the distribution's mean, 0 without values.
func (w *writer) dist(indent, key string, values []int64, usual string) (mean float64) {
	if len(values) == 0 {
		w.text("%s# %s: not measured", indent, key)
		w.text("%s%s: %s", indent, key, usual)
		return 0
	}
	s := sorted(values)
	all := choose(s)
	best, several := &all[0], words.Plural(len(s), "value")
	if best.name == "constant" {
		w.text("%s# %s: the same in %s\n%s%s: %s", indent, key, several, indent, key, best.dist)
		return best.dist.Mean()
	}
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%s %.3f", c.name, c.distance))
	}
	w.text("%s# %s: %s from %d to %d, mean %.4g; mean of the distribution %.4g", indent, key, several, s.low(), s.high(),
		s.mean(), best.dist.Mean())
	w.text("%s#   D: %s", indent, strings.Join(parts, ", "))
	if len(s) < smallSample {
		w.text("%s#   %s are few: another distribution may be the right one", indent, several)
	}
	if best.distance > limit(len(s)) {
		w.text("%s#   does not fit: the nearest distribution has D %.3f", indent, best.distance)
	}
	if off := best.off(s); math.Abs(off) > nearMean {
		w.text("%s#   does not fit: its mean is off by %.0f%%", indent, 100*off)
	}
	zero := 0
	for _, v := range values {
		if v < 1 {
			zero++
		}
	}
	if zero > 0 {
		w.text("%s#   does not fit: %d of the values are 0, and drawn as 1", indent, zero)
	}
	w.text("%s%s: %s", indent, key, best.dist)
	return best.dist.Mean()
}

// header is about how many bytes the header of a generated message and the fields of its parts have.
const header = 900

// mail writes the sizes and parts of messages, and reports whether any have files.
func (w *writer) mail() bool {
	s := w.s
	w.text("mail:")
	bodies, sizes, with := s.bodies, s.fileSizes, len(s.files)
	if len(s.bodies) == 0 && len(s.sizes) > 0 {
		w.text("  # A trace has the size of the whole message. It is divided as a replay does: up to 64KiB")
		w.text("  # all but the header (%d bytes) is text; of a larger message 8KiB are, and the rest is a file.", header)
		for _, size := range s.sizes {
			if size > workloads.LargeMessage {
				bodies = append(bodies, workloads.LargeBody)
				sizes = append(sizes, (size-header-workloads.LargeBody)*3/4)
			} else {
				bodies = append(bodies, max(1, size-header))
			}
		}
		with = len(sizes)
	}
	fitted := w.dist("  ", "body", bodies, "{lognormal: {median: 6KB, p99: 200KB}}")
	if len(s.bodies) > 0 {
		w.text("  # html: messages with text and HTML: %d of %d", s.html, len(s.bodies))
		if s.htmlOnly > 0 {
			w.text("  #   does not fit: messages with HTML and no text, whose HTML counts as body: %d", s.htmlOnly)
		}
		w.text("  html: %s", share(s.html, len(s.bodies)))
	}
	if with > 0 {
		w.text("  attachments:")
		w.text("    # share: %d of %s", with, words.Plural(len(bodies), "message"))
		w.text("    share: %s", share(with, len(bodies)))
		count := 1.0
		if len(s.bodies) > 0 {
			count = w.dist("    ", "count", clip(s.files, 100), "")
		}
		fitted += float64(with) / float64(max(1, len(bodies))) * count * w.dist("    ", "size", sizes, "")
	}
	if real := mean(bodies, bodies) + mean(sizes, bodies); real > 0 {
		w.text("  # bytes of texts and files in a message: %s in the sample, %s fitted (%+.0f%%)",
			words.Size(real), words.Size(fitted), 100*(fitted/real-1))
	}
	if s.malformed > 0 {
		w.text("  # %s could be parsed only in part", words.Plural(s.malformed, "message"))
	}
	for _, note := range s.notes.Lines() {
		w.text("  # %s", note)
	}
	recipients := s.recipients
	if len(recipients) == 0 && len(s.shown) > 0 {
		w.text("  # recipients are those that headers name: a list counts as one, and blind copies are not seen")
		recipients = s.shown
	}
	recipients = clip(recipients, workloads.MaxRecipients)
	w.dist("  ", "recipients", recipients, "1")
	if users := max(len(s.folders), len(s.users)); len(recipients) > 0 && slices.Max(recipients) > int64(users) {
		w.text("  #   does not fit: a delivery goes to no more mailboxes than there are users, and they are %d", users)
	}
	return with > 0
}

// mean is the sum of the values for each of the others.
func mean(values, of []int64) (m float64) {
	for _, v := range values {
		m += float64(v) / float64(len(of))
	}
	return m
}

// population writes how many folders and messages users have, and reports whether any have
// several folders.
func (w *writer) population() bool {
	s := w.s
	users, folders := len(s.folders), s.folders
	w.text("population:")
	if len(s.times) > 0 {
		users, folders = len(s.users), nil
		for _, a := range s.users {
			folders = append(folders, int64(len(a.folders)))
		}
		w.text("  # users and folders are those of the trace; unused ones are not in it")
	}
	w.text("  users: %d", users)
	folders = clip(folders, 1000)
	moves := s.mix.Has(workloads.Move) || s.mix.Has(workloads.Label)
	if moves && len(folders) > 0 && slices.Max(folders) < 2 {
		w.text("  # The trace names one folder per user, but moves or labels messages: that needs at least 2")
		w.text("  folders: 2")
	} else {
		w.dist("  ", "folders", folders, "1")
	}
	w.dist("  ", "messages", s.counts, "100")
	return moves || len(folders) > 0 && slices.Max(folders) > 1
}

// keys writes how popular users and folders of a trace are.
func (w *writer) keys() {
	if len(w.s.times) == 0 {
		return
	}
	var users []float64
	var folders [][]float64
	for _, a := range w.s.users {
		users = append(users, a.asked)
		own := []float64{a.folders[""]}
		for name, n := range a.folders {
			if name != "" {
				own = append(own, n)
			}
		}
		slices.SortFunc(own[1:], func(a, b float64) int { return cmp.Compare(b, a) })
		folders = append(folders, own)
	}
	slices.SortFunc(users, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.SortFunc(folders, slices.Compare) // sums are rounded the same each time
	w.text("access:")
	if len(users) > 1 && uneven(users) {
		w.choice("users", "zipf", [][]float64{users})
	} else {
		w.text("  # users: none is used significantly more often than others\n  users: uniform")
	}
	w.choice("folders", "latest", folders)
	w.text("  # messages: not measured; a trace does not contain them")
}

// choice writes Zipf's law over ranks, and how well it fits.
func (w *writer) choice(key, name string, ranks [][]float64) {
	n := 0.0
	for _, g := range ranks {
		for _, count := range g {
			n += count
		}
	}
	if n == 0 {
		w.text("  # %s: not measured", key)
		return
	}
	t, distance := zipfLaw(2, ranks...)
	w.text("  # %s: %.0f operations, D %.3f", key, n, distance)
	if distance > near {
		w.text("  #   does not fit: their popularity is not that of Zipf's law")
	}
	if t <= 0.02 {
		w.text("  %s: uniform", key)
		return
	}
	w.text("  %s: {%s: {theta: %s}}", key, name, number(t))
}

// phases writes the phases: the mix at its rate for a minute.
func (w *writer) phases(files, folders bool) {
	s := w.s
	w.text("phases:\n  - load: {}\n  - settle: {}\n  - warmup: {duration: 10s}\n  - measure:\n      duration: 60s")
	w.arrivals()
	if len(s.times) == 0 {
		w.text("      # mix: not measured: mail has deliveries only. Add the operations of its readers (list: 50, open: 25, …),")
		w.text("      # or fit a trace with it: --trace")
		w.text("      mix: {deliver: 1}")
		return
	}
	w.text("      # mix: %s; each is drawn for itself, whatever came before", words.Plural(len(s.times), "operation"))
	var ops []workloads.Op
	for i, count := range s.mix {
		op := workloads.Op(i)
		if count == 0 {
			continue
		}
		lack := "" // why the workload cannot do the operation
		switch {
		case op == workloads.Attachment && !files:
			lack = "no message has a file"
		case op == workloads.Restore && !s.mix.Has(workloads.Delete):
			lack = "nothing is deleted"
		case (op == workloads.Move || op == workloads.Label) && !folders:
			lack = "users have one folder"
		}
		if lack != "" {
			w.text("      #   does not fit: %s (%.0f) is left out, as %s", op, count, lack)
			continue
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		w.text("      #   does not fit: nothing is left; deliveries take its place\n      mix: {deliver: 1}")
		return
	}
	w.text("      mix:")
	for _, op := range ops {
		weight := number(scalar.Round(100*s.mix.Share(op), 4))
		if about := clip(s.about[op], workloads.MaxMessages); len(about) > 0 && slices.Max(about) > 1 {
			w.text("        %s:\n          weight: %s", op, weight)
			w.dist("          ", "messages", about, "")
			continue
		}
		w.text("        %s: %s", op, weight)
	}
}

// clip cuts values to the most that the language takes.
func clip(values []int64, most int64) []int64 {
	values = slices.Clone(values)
	for i := range values {
		values[i] = min(values[i], most)
	}
	return values
}

func share(n, of int) string { return number(scalar.Round(float64(n)/float64(of), 4)) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

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

// arrivals writes rate and arrivals for the times of a trace's operations or, without a trace, for the dates of mail. A
// rate that changes becomes steps, or the course of a day in the length of the phase.
func (w *writer) arrivals() {
	times, what, none := w.s.times, "operations", "all operations have the same time"
	var counts []float64 // in each part of the trace, or hour of a day
	if len(times) == 0 {
		what, none, counts = "messages", "the mail has no two dates", make([]float64, 24)
		dates := slices.SortedFunc(slices.Values(w.s.dates), time.Time.Compare)
		// Some dates are nonsense; the earliest and the latest twentieth do not count.
		for _, d := range dates[len(dates)/20 : len(dates)-len(dates)/20] {
			times = append(times, float64(d.Unix()))
			counts[d.Hour()]++
		}
	}
	if len(times) < 2 || times[len(times)-1] <= times[0] {
		w.text("      # rate: not measured, as %s\n      rate: %g/s", none, usualRate)
		return
	}
	first, span, all := times[0], times[len(times)-1]-times[0], float64(len(times)-1)
	part := func(t float64) int { return min(int((t-first)/span*parts), parts-1) }
	trace := counts == nil
	if trace {
		counts = make([]float64, parts)
		for _, t := range times[1:] {
			counts[part(t)]++
		}
	}
	mean, changes := w.rate(all/span, what), len(times) >= smallSample && uneven(counts)
	scaled := func(t float64) float64 { return t } // makes the rate constant
	var each []string
	switch {
	case !changes:
		w.text("      rate: %s", perSecond(mean))
	case trace:
		for _, c := range counts {
			each = append(each, perSecond(mean*c/(all/parts)))
		}
		w.text("      #   it changes: each step is the mean of %.4g s of the trace; all steps together are the phase", span/parts)
		w.text("      rate: {steps: [%s]}", strings.Join(each, ", "))
		scaled = func(t float64) float64 {
			at := part(t)
			return floats.Sum(counts[:at]) + ((t-first)/span*parts-float64(at))*counts[at]
		}
	default:
		for _, c := range counts {
			each = append(each, number(c))
		}
		w.text("      #   it follows the hours of the day where the senders were; the phase is one day")
		w.text("      rate: {day: {mean: %s, hours: [%s]}}", perSecond(mean), strings.Join(each, ", "))
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
	variation, distance := deviation/mean, 0.0 // of the gaps from an exponential distribution of the same mean
	slices.Sort(gaps)
	for n, i := float64(len(gaps)), 0; i < len(gaps); i++ {
		p := distuv.Exponential{Rate: 1 / mean}.CDF(gaps[i])
		distance = max(distance, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
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

// perSecond is a rate as the language writes it, to four digits. A step has a rate above 0.
func perSecond(v float64) string {
	v = max(v, 0.001)
	return number(scalar.Round(v, max(0, 3-int(math.Floor(math.Log10(v)))))) + "/s"
}
