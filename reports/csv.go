package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// csvAll is the value of the column op for all operations together.
const csvAll = "all"

var csvHead = []string{
	"model", "engine", "phase", "trial", "shard", "kind", "verdict", "phase_started", "at_seconds", "seconds", "op",
	"ok", "not_found", "failed", "unknown", "dropped", "too_large", "p50_ns", "p99_ns", "max_ns", "point",
}

// WriteCSV writes the timelines of all phases as CSV (RFC 4180). Each interval has a row for
// all operations together, then one for each operation, and then one for each stream, whose
// op is STREAM/all. The figures are those of run.json. A field is empty if the figure was not
// counted, or if it is a latency and no operation succeeded.
func WriteCSV(w io.Writer, r *results.Run) error {
	out := csv.NewWriter(w) // keeps the first error
	_ = out.Write(csvHead)
	for i := range r.Cells {
		c := &r.Cells[i]
		times := func(ok int64, ns ...int64) []string { return times(ok > 0, ns...) }
		for j := range c.Timeline {
			in := &c.Timeline[j]
			row := func(op string, counts ...string) {
				_ = out.Write(append([]string{
					field(c.Model), field(c.Engine), field(c.Phase), strconv.Itoa(c.Trial), strconv.Itoa(c.Shard),
					field(c.Kind), field(string(c.Verdict)), field(c.Started), float(in.At), float(in.Seconds), op,
				}, counts...))
			}
			row(csvAll, append([]string{integer(in.OK), "", integer(in.Failed), integer(in.Unknown), integer(in.Dropped), ""},
				append(times(in.OK, in.P50, in.P99, in.Max), field(c.Point))...)...)
			each := func(op string, o results.OpInterval) {
				row(field(op), append([]string{
					integer(o.OK), integer(o.NotFound), integer(o.Failed), integer(o.Unknown), integer(o.Dropped), integer(o.TooLarge),
				}, append(times(o.OK, o.P50, o.P99, o.Max), field(c.Point))...)...)
			}
			for _, name := range sortedOps(in.Ops) {
				each(name, in.Ops[name])
			}
			for _, name := range sortedOps(in.Streams) {
				each(name+"/"+csvAll, in.Streams[name])
			}
		}
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write CSV: %w", out.Error())
	}
	return nil
}

func sortedOps(ops map[string]results.OpInterval) []string {
	var names []string
	for name := range ops {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// field writes a text of the results, which may be from somebody else. Spreadsheets run what
// begins like a formula, so such a text gets an apostrophe before it. No name of mailbench's
// begins so.
func field(text string) string {
	text = words.OneLine(text)
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// times are empty if they are not known.
func times(known bool, ns ...int64) []string {
	all := make([]string, len(ns))
	for i, n := range ns {
		if known {
			all[i] = integer(n)
		}
	}
	return all
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// float writes all digits of a number.
func float(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
