package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// The form of JUnit's XML that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	// Plugins of CI systems refuse the attribute skipped at testsuites, and take it at testsuite.
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  *int   `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitOutcome `xml:"failure"`
		Error   *junitOutcome `xml:"error"`
		Skipped *junitOutcome `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitOutcome struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
	}
)

// WriteJUnit writes the outcome of the run as JUnit XML, for CI systems: a test case for each
// cell, each objective of a cell, each search, and each audit. A cell that failed is an error.
// All else that by default ends a run with another exit status than 0 is a failure: another verdict
// than invalid, an objective that is missed or unclear, data that is wrong or lost. A cell that is
// invalid, or that the run is excused from, is skipped.
func WriteJUnit(w io.Writer, r *results.Run) error {
	s := junitSuite{Name: junitText(r.Workload.Name), Timestamp: strings.TrimSuffix(r.Started, "Z")}
	if r.Interrupted {
		s.Cases = append(s.Cases, junitCase{
			Class: s.Name, Name: "run", Time: "0",
			Error: &junitOutcome{"interrupted: the results have the values measured until then", "interrupted"},
		})
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		s.Cases = append(s.Cases, junitCell(r, c, s.Name))
		for j := range c.Objectives {
			s.Cases = append(s.Cases, junitObjective(&c.Objectives[j], s.Name, c))
		}
	}
	for i := range r.Searches {
		s.Cases = append(s.Cases, junitSearch(&r.Searches[i], s.Name))
	}
	for i := range r.Audits {
		s.Cases = append(s.Cases, junitAudit(&r.Audits[i], s.Name))
	}
	s.count(r.Seconds)
	all := junitSuites{Name: "mailbench", junitCounts: s.junitCounts, Suites: []junitSuite{s}}
	all.Skipped = nil
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// count counts the outcomes of the suite's cases.
func (s *junitSuite) count(seconds float64) {
	s.Tests, s.Time, s.Skipped = len(s.Cases), float(seconds), new(int)
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
}

func junitCell(r *results.Run, c *results.Cell, workload string) junitCase {
	one := junitCase{Class: junitClass(workload, c.Model, c.Engine), Name: junitName(c.Key), Time: float(c.Seconds)}
	if c.Verdict != results.OK {
		bad := &junitOutcome{Message: string(c.Verdict), Type: string(c.Verdict)}
		if c.Reason != nil {
			bad.Message = junitText(c.Reason.Text)
		}
		switch {
		case c.Verdict == results.Failed:
			one.Error = bad
		case r.Excused(c), c.Verdict == results.Invalid:
			one.Skipped = bad
		default:
			one.Failure = bad
		}
	}
	var doubts []string
	for i := range c.Doubts {
		doubts = append(doubts, "warning: "+junitText(c.Doubts[i].String()))
	}
	one.Out = strings.Join(doubts, "\n")
	return one
}

// junitName names the phase of the cell, and the trial and shard that are not the first.
func junitName(k results.Key) string {
	name := junitText(k.Where())
	if k.Trial > 1 {
		name += fmt.Sprintf(" #%d", k.Trial)
	}
	if k.Shard > 1 {
		name += fmt.Sprintf(" shard %d", k.Shard)
	}
	return name
}

func junitObjective(a *results.Attained, workload string, c *results.Cell) junitCase {
	one := junitCase{
		Class: junitClass(workload, c.Model, c.Engine), Time: "0",
		Name: junitName(c.Key) + ": " + junitText(a.Objective+" "+a.Bound),
	}
	said := junitText(strings.Join(slices.DeleteFunc([]string{a.Shown, a.Text}, func(s string) bool {
		return s == ""
	}), ": "))
	switch a.Verdict {
	case results.Met:
		one.Out = said
	case results.NoSuch:
		one.Skipped = &junitOutcome{Message: said}
	default:
		one.Failure = &junitOutcome{said, string(a.Verdict)}
	}
	return one
}

// junitSearch is the test case of a search. It fails if the search makes the run's exit status
// another than 0.
func junitSearch(s *results.Search, workload string) junitCase {
	one := junitCase{Class: junitClass(workload, s.Model, s.Engine), Name: junitText(s.Phase) + ": highest rate"}
	seconds := 0.0
	if s.Trial > 1 {
		one.Name += fmt.Sprintf(" #%d", s.Trial)
	}
	for _, step := range s.Steps {
		seconds += step.Cell.Seconds
	}
	one.Time = float(seconds)
	switch {
	case s.Found == nil:
		one.Error = &junitOutcome{junitText("unfinished: " + s.Unfinished), string(results.LimitUnfinished)}
	case !s.Found.OK():
		one.Failure = &junitOutcome{junitText(s.Found.Text), string(s.Found.Limit)}
	default:
		one.Out = junitText(s.Found.Text)
	}
	return one
}

func junitAudit(a *results.Audit, workload string) junitCase {
	key := results.Key{Phase: "audit", Point: a.Point, Trial: a.Trial, Shard: a.Shard}
	one := junitCase{Class: junitClass(workload, a.Model, a.Engine), Name: junitName(key), Time: "0"}
	var notes []string
	for _, n := range append([]string{AuditSummary(a)}, a.Notes...) {
		notes = append(notes, junitText(n))
	}
	one.Out = strings.Join(notes, "\n")
	switch {
	case a.Wrong():
		one.Failure = &junitOutcome{notes[0], "data"}
	case a.Incomplete():
		one.Error = &junitOutcome{notes[0], "unread"}
	}
	return one
}

// junitClass names a model on an engine. CI systems divide such names at their points.
func junitClass(workload, model, engine string) string {
	return workload + "." + junitText(model) + "." + junitText(engine)
}

func junitText(s string) string { return words.OneLine(s) }
