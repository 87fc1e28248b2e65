package reports

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

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
	out := bufio.NewWriter(w)                          // keeps the first error
	divides := strings.NewReplacer("/", "_", " ", "_") // or ends the name of a benchmark
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
	for _, cells := range Groups(r) {
		for _, c := range cells {
			for _, name := range results.OpsOf(cells) {
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
					model, op := divides.Replace(words.OneLine(c.Model)), divides.Replace(words.OneLine(name))
					fmt.Fprintf(out, "BenchmarkMail/model=%s/op=%s-%d\t%8d%s\n", model, op, e.MaxProcs, o.Count, values)
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
func benchValues(o *results.Op) (values string) {
	add := func(is bool, value, unit string) {
		if is {
			values += "\t" + value + " " + unit
		}
	}
	count := func(n int64, unit string) { add(n > 0, strconv.FormatInt(n, 10), unit) }
	add(o.Enough(0.5), strconv.FormatInt(o.OK().P50, 10), "p50-ns")
	add(o.Enough(0.99), strconv.FormatInt(o.OK().P99, 10), "p99-ns")
	add(o.Count > 0, float(o.Store.Of(results.Requests)), "requests/op")
	add(o.Count > 0, float(o.Store.Of(results.Bytes)), "B/op")
	if scanned := o.Store.RowsScanned; scanned != nil {
		add(o.Count > 0, float(*scanned), "scanned/op")
	}
	count(o.Failed, "failed")
	count(o.Unknown, "unknown")
	count(o.Dropped, "dropped")
	return values
}

// The form of JUnit's XML that CI systems read. Plugins of some refuse the attribute skipped at testsuites.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr,omitempty"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr,omitempty"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Cases     []junitCase `xml:"testcase"`
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
	s := junitSuite{
		Name: words.OneLine(r.Workload.Name), Timestamp: strings.TrimSuffix(r.Started, "Z"), Time: float(r.Seconds),
	}
	if r.Interrupted {
		const text = "interrupted: the results have the values measured until then"
		s.add(results.Key{Phase: "run"}, "", 0, stopped, "interrupted", text)
	}
	for c := range r.All {
		s.cell(c, r.Excused(c))
	}
	for i := range r.Searches {
		s.search(&r.Searches[i])
	}
	for i := range r.Audits {
		s.audit(&r.Audits[i])
	}
	return writeJUnit(w, junitSuites{Name: "mailbench", Suites: []junitSuite{s}})
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
		all.Suites = append(all.Suites, s)
	}
	return writeJUnit(w, all)
}

func writeJUnit(w io.Writer, all junitSuites) error {
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// junitState is how a test case ended.
type junitState int

const (
	failed junitState = iota
	passed
	stopped // an error: what was to be tested did not come to its end
	skipped
)

// add adds a test case: a phase, with the trial and segment that are not the first, or a part of it, and what is
// said of its state. CI systems divide the name of its class, a model on an engine, at the points.
func (s *junitSuite) add(k results.Key, part string, seconds float64, state junitState, kind, said string) {
	name := k.Where()
	if k.Trial > 1 {
		name += fmt.Sprintf(" #%d", k.Trial)
	}
	if k.Segment > 1 {
		name += fmt.Sprintf(" segment %d", k.Segment)
	}
	class := strings.Trim(s.Name+"."+words.OneLine(k.Model)+"."+words.OneLine(k.Engine), ".")
	c := junitCase{Class: class, Name: words.OneLine(name + part), Time: float(seconds)}
	bad := &junitOutcome{Message: words.OneLine(said), Type: kind}
	switch state {
	case passed:
		c.Out = bad.Message
	case failed:
		c.Failure, s.Failures = bad, s.Failures+1
	case stopped:
		c.Error, s.Errors = bad, s.Errors+1
	case skipped:
		c.Skipped, s.Skipped = bad, s.Skipped+1
	}
	s.Cases, s.Tests = append(s.Cases, c), s.Tests+1
}

// cell adds the test cases of a cell and of its objectives. Verdicts and states that are not named here are failed.
func (s *junitSuite) cell(c *results.Cell, excused bool) {
	verdicts := map[results.Verdict]junitState{results.OK: passed, results.Failed: stopped, results.Invalid: skipped}
	thresholds := map[results.Attainment]junitState{results.Met: passed, results.NoSuch: skipped}
	state, said := verdicts[c.Verdict], string(c.Verdict)
	if state == failed && excused {
		state = skipped
	}
	var doubts []string
	for i := range c.Doubts {
		doubts = append(doubts, "warning: "+words.OneLine(c.Doubts[i].String()))
	}
	if c.Reason != nil {
		said = c.Reason.Text
	}
	s.add(c.Key, "", c.Seconds, state, string(c.Verdict), said)
	s.Cases[len(s.Cases)-1].Out = strings.Join(doubts, "; ")
	for _, a := range c.Objectives {
		said := strings.TrimSuffix(strings.TrimPrefix(a.Shown+": "+a.Text, ": "), ": ")
		s.add(c.Key, ": "+a.Objective+" "+a.Bound, 0, thresholds[a.Verdict], string(a.Verdict), said)
	}
}

// search adds the test case of a search. It fails if the search makes the run's exit status another than 0.
func (s *junitSuite) search(of *results.Search) {
	seconds := 0.0
	for _, step := range of.Steps {
		seconds += step.Cell.Seconds
	}
	k := results.Key{Model: of.Model, Engine: of.Engine, Phase: of.Phase + ": highest rate", Trial: of.Trial}
	switch found := of.Found; {
	case found == nil:
		s.add(k, "", seconds, stopped, string(results.LimitUnfinished), "unfinished: "+of.Unfinished)
	case !found.OK():
		s.add(k, "", seconds, failed, string(found.Limit), found.Text)
	default:
		s.add(k, "", seconds, passed, "", found.Text)
	}
}

func (s *junitSuite) audit(a *results.Audit) {
	k := results.Key{Model: a.Model, Engine: a.Engine, Phase: "audit", Point: a.Point, Trial: a.Trial, Segment: a.Segment}
	said := strings.Join(append([]string{AuditSummary(a)}, a.Notes...), "; ")
	state, kind := passed, ""
	switch {
	case a.Wrong():
		state, kind = failed, "data"
	case a.Incomplete():
		state, kind = stopped, "unread"
	}
	s.add(k, "", 0, state, kind, said)
}
