package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// writer writes the workload.
type writer struct {
	strings.Builder
	s *Sample
}

// Workload is the workload that fits the sample, which has messages or operations.
func (s *Sample) Workload() string {
	w := &writer{s: s}
	w.text("version: 1\nname: fitted\ndescription: Fitted to %d messages and %d operations", len(s.bodies), len(s.times))
	w.mail()
	severalFolders := w.population()
	if len(s.times) > 0 {
		w.access()
	}
	w.text("phases:\n  - load: {}\n  - settle: {}\n  - warmup: {duration: 10s}\n  - measure:\n      duration: 60s")
	if len(s.times) > 0 {
		w.rate()
		w.mix(severalFolders)
	} else {
		w.text("      # rate and mix: not measured: mail has deliveries only. Add the operations of its readers")
		w.text("      # (list: 50, open: 25, …), or fit a trace with it: --trace")
		w.text("      rate: %s\n      mix: {deliver: 1}", written(usualRate))
	}
	return w.String()
}

func (w *writer) text(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// dist writes a key with the distribution of the values, and both means. Values are cut to what the language accepts.
// Without values it writes usual, which was not measured.
func (w *writer) dist(indent, key string, values []int64, most random.Size, usual string) {
	if len(values) == 0 {
		w.text("%s# %s: not measured\n%s%s: %s", indent, key, indent, key, usual)
		return
	}
	s, sum := make([]int64, len(values)), 0.0
	for i, v := range values {
		s[i] = min(max(1, v), int64(most))
		sum += float64(v)
	}
	d := distOf(s)
	w.text("%s# %s: %s, mean %.4g; mean of the distribution %.4g", indent, key, words.Plural(len(s), "value"),
		sum/float64(len(s)), d.Mean())
	w.text("%s%s: %s", indent, key, d)
}

// The quantiles of a measured distribution, and how many of the largest values it has, too: a few
// large files can have most of the bytes.
var quantiles = []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}

const largest = 5

// distOf is the distribution of values from 1 on. At each of its values it has the share of smaller ones and
// that up to the value, so that a frequent one is drawn as often as it is in the sample. It sorts the values.
func distOf(s []int64) random.Dist {
	slices.Sort(s)
	var at []int64
	for _, q := range quantiles {
		at = append(at, s[int(q*float64(len(s)))])
	}
	at = append(at, s[max(0, len(s)-largest):]...)
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) == 1 {
		return random.Constant{Value: random.Size(at[0])}
	}
	digits := max(4, len(strconv.Itoa(len(s)))) // with which the share of one value is above 0
	var d random.Empirical
	for _, v := range at {
		below, _ := slices.BinarySearch(s, v)
		upTo, _ := slices.BinarySearch(s, v+1)
		for _, n := range []int{below, upTo} {
			d = append(d, random.Point{Value: random.Size(v), Fraction: scalar.Round(float64(n)/float64(len(s)), digits)})
		}
	}
	return slices.Compact(d)
}

// mail writes the sizes and parts of messages.
func (w *writer) mail() {
	s := w.s
	w.text("mail:")
	w.dist("  ", "body", s.bodies, workloads.MaxMessage, "{lognormal: {median: 6KB, p99: 200KB}}")
	if len(s.bodies) > 0 {
		w.text("  # html: messages with text and HTML: %d of %d", s.html, len(s.bodies))
		w.text("  html: %s", share(s.html, len(s.bodies)))
	}
	if len(s.files) > 0 {
		w.text("  attachments:\n    share: %s", share(len(s.files), len(s.bodies)))
		w.dist("    ", "count", s.files, 100, "")
		w.dist("    ", "size", s.fileSizes, workloads.MaxMessage, "")
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
	w.dist("  ", "recipients", recipients, workloads.MaxRecipients, "1")
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
	w.dist("  ", "folders", folders, workloads.MaxFolders, "1")
	w.dist("  ", "messages", s.counts, workloads.MaxFolderMessages, "100")
	return len(folders) > 0 && slices.Max(folders) > 1
}

// access writes how popular users of a trace are: by the exponent of Zipf's law. That is the slope of a line through
// the logarithms of their operations by rank, in which a user has the weight of the operations.
func (w *writer) access() {
	var counts, logs, ranks []float64
	for _, a := range w.s.users {
		counts = append(counts, a.asked+0.5) // none is 0
	}
	if len(counts) < 2 || !uneven(counts) {
		w.text("access:\n  # users: none is used significantly more often than others\n  users: uniform")
		return
	}
	slices.SortFunc(counts, func(a, b float64) int { return cmp.Compare(b, a) })
	for i, n := range counts {
		ranks, logs = append(ranks, math.Log(float64(i+1))), append(logs, math.Log(n))
	}
	_, slope := stat.LinearRegression(ranks, logs, counts, false)
	w.text("access:\n  users: {zipf: {theta: %s}}", number(scalar.Round(min(max(0.01, -slope), 20), 2)))
}

// uneven reports whether counts differ by more than chance: whether chi-square is more than
// five standard deviations above its mean.
func uneven(counts []float64) bool {
	even, k := slices.Repeat([]float64{stat.Mean(counts, nil)}, len(counts)), float64(len(counts)-1)
	return stat.ChiSquare(counts, even) > k+5*math.Sqrt(2*k)
}

// Bounds of written rates: the least that the language has, and the highest that a client is able to offer.
// usualRate is that of mail, which has none.
const (
	leastRate = 1.0 / 3600
	mostRate  = 100_000.0
	usualRate = 50.0
)

// rate writes the mean rate of a trace's operations.
func (w *writer) rate() {
	times := w.s.times
	rate := float64(len(times)-1) / max(times[len(times)-1]-times[0], 1e-9)
	w.text("      # rate: the mean is %.4g/s (here at least 1/h, at most %g/s); a replay has its changes", rate, mostRate)
	if rate < 1 {
		w.text("      # Few operations are measured at this rate: set a longer duration or a higher rate")
	}
	w.text("      rate: %s\n      arrivals: poisson", written(min(max(leastRate, rate), mostRate)))
}

// mix writes the operations of a trace, without those that the workload cannot do.
func (w *writer) mix(severalFolders bool) {
	s := w.s
	w.text("      # mix: %s; each is drawn for itself, and is about one message", words.Plural(len(s.times), "operation"))
	impossible := map[workloads.Op]bool{
		workloads.Attachment: len(s.files) == 0, workloads.Restore: !s.mix.Has(workloads.Delete),
		workloads.Move: !severalFolders, workloads.Label: !severalFolders,
	}
	var ops []workloads.Op
	for i, count := range s.mix {
		if op := workloads.Op(i); count > 0 && !impossible[op] {
			ops = append(ops, op)
		} else if count > 0 {
			w.text("      #   %s (%.0f) is left out: there are no files, deleted messages or other folders for it", op, count)
		}
	}
	if len(ops) == 0 {
		w.text("      mix: {deliver: 1}")
		return
	}
	w.text("      mix:")
	for _, op := range ops {
		weight := number(scalar.Round(100*s.mix.Share(op), 4))
		if op != workloads.Deliver || len(s.bodies) > 0 || len(s.sizes) == 0 {
			w.text("        %s: %s", op, weight)
			continue
		}
		w.text("        %s:\n          weight: %s", op, weight)
		w.dist("          ", "size", s.sizes, workloads.MaxMessage, "")
	}
}

func share(n, of int) string { return number(scalar.Round(float64(n)/float64(of), 4)) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// written is a rate a second as the language writes it.
func written(rate float64) string {
	unit, v := "/s", rate
	if v < 1 {
		unit, v = "/min", rate*60
	}
	if v < 1 {
		unit, v = "/h", max(1, rate*3600)
	}
	return number(scalar.Round(v, 3)) + unit
}
