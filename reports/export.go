package reports

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// csvAll is the value of the column op for all operations together.
const csvAll = "all"

// WriteCSV writes the timelines of all phases as CSV (RFC 4180). Each interval has a row for
// all operations together, then one for each operation, and then one for each stream, whose
// op is STREAM/all. The figures are those of run.json. A latency is empty if no operation succeeded.
func WriteCSV(w io.Writer, r *results.Run) error {
	out := document.NewCSV(w,
		"model", "engine", "phase", "trial", "segment", "kind", "verdict", "phase_started", "at_seconds", "seconds", "op",
		"ok", "not_found", "failed", "unknown", "dropped", "too_large", "p50_ns", "p99_ns", "max_ns", "point")
	for c := range r.All {
		for j := range c.Timeline {
			in := &c.Timeline[j]
			write := func(op string, o results.Outcomes) {
				var p50, p99, most any = o.P50, o.P99, o.Slowest()
				if o.OK == 0 {
					p50, p99, most = "", "", ""
				}
				out.Line(c.Model, c.Engine, c.Phase, c.Trial, c.Segment, c.Kind, c.Verdict, c.Started, in.At, in.Seconds, op,
					o.OK, o.NotFound, o.Failed, o.Unknown, o.Dropped, o.TooLarge, p50, p99, most, c.Point)
			}
			write(csvAll, in.Outcomes)
			for _, name := range slices.Sorted(maps.Keys(in.Ops)) {
				write(name, in.Ops[name])
			}
			for _, name := range slices.Sorted(maps.Keys(in.Streams)) {
				write(name+"/"+csvAll, in.Streams[name])
			}
		}
	}
	return out.End()
}

// float writes all digits of a number.
func float(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// BenchFile is the file of benchmark lines in a run directory.
const BenchFile = "bench.txt"

// WriteBench writes the measured phases as Go benchmark lines for benchstat and similar
// tools. A name is a model and an operation; trials are repeated lines. Configuration lines
// say what else a figure depends on, and benchstat does not compare figures that differ in
// them. Benchstat prints one table for each unit, with a line for each name. WriteBench leaves
// out what differs from run to run.
func WriteBench(w io.Writer, r *results.Run) error {
	out := bufio.NewWriter(w) // keeps the first error
	inForce := map[string]string{}
	config := func(key, value string) {
		if value = words.OneLine(value); value != inForce[key] {
			inForce[key] = value
			fmt.Fprintf(out, "%s: %s\n", key, value)
		}
	}
	e := &r.Environment
	config("goos", e.OS)
	config("goarch", e.Arch)
	config("cpu", e.CPU)
	config("pkg", "github.com/mailbench/mailbench")
	config("workload", r.Workload.Name)
	for _, s := range Sections(r) {
		for _, c := range s.Cells {
			for _, name := range s.Ops {
				o := c.Ops[name]
				if !c.Measured() || o.Count+o.Others() == 0 {
					continue
				}
				config("engine", c.Engine)
				config("phase", c.Where())
				config("load", LoadLine(c))
				config("durability", c.Durability)
				config("verdict", string(c.Verdict))
				if values := benchValues(&o); values != "" {
					fmt.Fprintf(out, "BenchmarkMail/model=%s/op=%s-%d\t%8d%s\n", benchName(c.Model), benchName(name), e.MaxProcs,
						o.Count, values)
				}
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write benchmark lines: %w", err)
	}
	return nil
}

// benchValues are the values of one operation. Its latencies are those of operations that were ok. Operations that
// failed, were dropped or have no known outcome are counted, if there are any. Percentiles of too few operations
// are left out.
func benchValues(o *results.Op) string {
	var values strings.Builder
	add := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&values, "\t"+format, args...)
		}
	}
	add(o.Enough(0.5), "%d p50-ns", o.OK().P50)
	add(o.Enough(0.99), "%d p99-ns", o.OK().P99)
	add(o.Count > 0, "%s requests/op", float(o.Store.Of(results.Requests)))
	add(o.Count > 0, "%s B/op", float(o.Store.Of(results.Bytes)))
	if scanned := o.Store.RowsScanned; scanned != nil {
		add(o.Count > 0, "%s scanned/op", float(*scanned))
	}
	add(o.Failed > 0, "%d failed", o.Failed)
	add(o.Unknown > 0, "%d unknown", o.Unknown)
	add(o.Dropped > 0, "%d dropped", o.Dropped)
	return values.String()
}

// benchName replaces the slashes and spaces of a name. A benchmark's name ends at a
// space, and slashes divide it.
func benchName(s string) string {
	return strings.NewReplacer("/", "_", " ", "_").Replace(words.OneLine(s))
}

// The form of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr,omitempty"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
	}
	// Plugins of CI systems refuse the attribute skipped at testsuites, and take it at testsuite.
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  *int   `xml:"skipped,attr"`
		Time     string `xml:"time,attr,omitempty"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr,omitempty"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitOutcome `xml:"failure"`
		Error   *junitOutcome `xml:"error"`
		Skipped *junitOutcome `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitOutcome struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the outcome of the run as JUnit XML, for CI systems: a test case for each
// cell, each objective of a cell, each search, and each audit. A cell that failed is an error.
// All else that by default ends a run with another exit status than 0 is a failure: another verdict
// than invalid, an objective that is missed or unclear, data that is wrong or lost. A cell that is
// invalid, or that the run is excused from, is skipped.
func WriteJUnit(w io.Writer, r *results.Run) error {
	s := junitSuite{Name: words.OneLine(r.Workload.Name), Timestamp: strings.TrimSuffix(r.Started, "Z")}
	if r.Interrupted {
		s.Cases = append(s.Cases, junitCase{
			Class: s.Name, Name: "run", Time: "0",
			Error: outcomeOf("interrupted", "interrupted: the results have the values measured until then"),
		})
	}
	for c := range r.All {
		s.cell(c, r.Excused(c))
		for j := range c.Objectives {
			s.objective(c, &c.Objectives[j])
		}
	}
	for i := range r.Searches {
		s.search(&r.Searches[i])
	}
	for i := range r.Audits {
		s.audit(&r.Audits[i])
	}
	s.Tests, s.Time, s.Skipped = len(s.Cases), float(r.Seconds), new(int)
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			*s.Skipped++
		}
	}
	all := junitSuites{Name: "mailbench", junitCounts: s.junitCounts, Suites: []junitSuite{s}}
	all.Skipped = nil
	return all.write(w)
}

// WriteJUnitLint writes reports of lint as JUnit XML: a suite is a schema, and each error or warning that is not
// accepted is a failed test.
func WriteJUnitLint(w io.Writer, checked []*lint.Report) error {
	var all junitSuites
	for _, r := range checked {
		s := junitSuite{Name: r.Name, Cases: []junitCase{{Class: r.Name, Name: "schema lint", File: lint.PathOf(r.File)}}}
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Fails() {
				s.Cases = append(s.Cases, junitCase{
					Class: r.Name, Name: f.Rule.ID + " " + f.Subject(), File: lint.PathOf(f.File), Line: f.Line,
					Failure: &junitOutcome{f.Message, f.Severity.String(), fmt.Sprintf("%s: %s\nDo: %s", f.In(r.File), f, f.Do)},
				})
			}
		}
		s.Tests, s.Failures = len(s.Cases), len(s.Cases)-1
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Suites = append(all.Suites, s)
	}
	return all.write(w)
}

func (all *junitSuites) write(w io.Writer) error {
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// test adds a test case: a phase, with the trial and segment that are not the first, or a part of it. CI systems divide
// the name of its class, a model on an engine, at the points.
func (s *junitSuite) test(k results.Key, part string, seconds float64) *junitCase {
	name := k.Where()
	if k.Trial > 1 {
		name += fmt.Sprintf(" #%d", k.Trial)
	}
	if k.Segment > 1 {
		name += fmt.Sprintf(" segment %d", k.Segment)
	}
	s.Cases = append(s.Cases, junitCase{
		Class: s.Name + "." + words.OneLine(k.Model) + "." + words.OneLine(k.Engine), Name: words.OneLine(name + part),
		Time: float(seconds),
	})
	return &s.Cases[len(s.Cases)-1]
}

func outcomeOf(kind, message string) *junitOutcome {
	return &junitOutcome{Message: words.OneLine(message), Type: kind}
}

func (s *junitSuite) cell(c *results.Cell, excused bool) {
	one, why := s.test(c.Key, "", c.Seconds), string(c.Verdict)
	if c.Reason != nil {
		why = c.Reason.Text
	}
	switch bad := outcomeOf(string(c.Verdict), why); {
	case c.Verdict == results.OK:
	case c.Verdict == results.Failed:
		one.Error = bad
	case excused, c.Verdict == results.Invalid:
		one.Skipped = bad
	default:
		one.Failure = bad
	}
	var doubts []string
	for i := range c.Doubts {
		doubts = append(doubts, "warning: "+words.OneLine(c.Doubts[i].String()))
	}
	one.Out = strings.Join(doubts, "\n")
}

func (s *junitSuite) objective(c *results.Cell, a *results.Attained) {
	one := s.test(c.Key, ": "+a.Objective+" "+a.Bound, 0)
	said := strings.TrimSuffix(strings.TrimPrefix(a.Shown+": "+a.Text, ": "), ": ")
	switch a.Verdict {
	case results.Met:
		one.Out = words.OneLine(said)
	case results.NoSuch:
		one.Skipped = outcomeOf("", said)
	default:
		one.Failure = outcomeOf(string(a.Verdict), said)
	}
}

// search is the test case of a search. It fails if the search makes the run's exit status another than 0.
func (s *junitSuite) search(of *results.Search) {
	seconds, found := 0.0, of.Found
	for _, step := range of.Steps {
		seconds += step.Cell.Seconds
	}
	k := results.Key{Model: of.Model, Engine: of.Engine, Phase: of.Phase + ": highest rate", Trial: of.Trial}
	one := s.test(k, "", seconds)
	switch {
	case found == nil:
		one.Error = outcomeOf(string(results.LimitUnfinished), "unfinished: "+of.Unfinished)
	case !found.OK():
		one.Failure = outcomeOf(string(found.Limit), found.Text)
	default:
		one.Out = words.OneLine(found.Text)
	}
}

func (s *junitSuite) audit(a *results.Audit) {
	k := results.Key{Model: a.Model, Engine: a.Engine, Phase: "audit", Point: a.Point, Trial: a.Trial, Segment: a.Segment}
	one := s.test(k, "", 0)
	var notes []string
	for _, n := range append([]string{AuditSummary(a)}, a.Notes...) {
		notes = append(notes, words.OneLine(n))
	}
	one.Out = strings.Join(notes, "\n")
	switch {
	case a.Wrong():
		one.Failure = outcomeOf("data", notes[0])
	case a.Incomplete():
		one.Error = outcomeOf("unread", notes[0])
	}
}
