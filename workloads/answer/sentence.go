// Package answer fills in the sentences with which a workload answers its question. A sentence is text
// with metrics of the results in braces:
//
//	{list.requests of james at 1000}                  a metric of an operation
//	{list.p50 of oracle / list.p50 of james}          how many times the second the first is
//	{move.atomic in hundred}                          "atomic", or "not atomic"
//	{move.interrupted in broken}                      the state after an interruption
//	{smallest}, {largest}                             the first and the last value of the sweep
//
// of names a model, in a measured phase, and at a value of the sweep (also smallest or largest). A
// sentence that names no model is said of each. A sentence is replaced by "inconclusive" and the
// reason, if a metric is not known or a difference is within the noise (package trials).
package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/results"
)

// Sentence is a sentence as it was written.
type Sentence struct {
	parts []part
	named bool // its metrics name models
}

// part is plain text, which is followed by the text in braces, if there is one: a word, a metric, or the two
// metrics of a ratio.
type part struct {
	text, inside string
	metrics      []metric
}

// metric names a metric of an operation. Model, phase and point are "" where the sentence does not say.
type metric struct{ op, name, model, phase, point string }

// Metrics that are said in words, and so have no ratio.
const (
	atomic      = "atomic"
	interrupted = "interrupted"
)

// The words for the ends of a sweep.
const (
	first = "smallest"
	last  = "largest"
)

// metrics are the names of all metrics of operations.
var metrics = []string{
	string(results.Requests), string(results.Examined), string(results.Rows), string(results.Bytes),
	string(results.BytesRead), string(results.BytesWritten), string(results.P50), string(results.P99), atomic,
	interrupted,
}

var (
	braces     = regexp.MustCompile(`\{([^{}]*)\}`)
	metricForm = regexp.MustCompile(`^([^. ]+)\.(\S+)(?: of (\S+))?(?: in (\S+))?(?: at (\S+))?$`)
)

// String is the metric as one writes it.
func (m metric) String() string {
	s := m.op + "." + m.name
	for _, q := range [][2]string{{" of ", m.model}, {" in ", m.phase}, {" at ", m.point}} {
		if q[1] != "" {
			s += q[0] + q[1]
		}
	}
	return s
}

// Parse reads a sentence.
func Parse(text string) (*Sentence, error) {
	if strings.ContainsAny(braces.ReplaceAllString(text, ""), "{}") {
		return nil, fmt.Errorf("a { or } has no pair")
	}
	s, end := &Sentence{}, 0
	for _, at := range braces.FindAllStringSubmatchIndex(text, -1) {
		p := part{text: text[end:at[0]], inside: strings.Join(strings.Fields(text[at[2]:at[3]]), " ")}
		end = at[1]
		if p.inside != first && p.inside != last {
			for _, one := range strings.SplitN(p.inside, " / ", 2) {
				m, err := parseMetric(one)
				if err != nil {
					return nil, fmt.Errorf("{%s}: %w", p.inside, err)
				}
				p.metrics, s.named = append(p.metrics, m), s.named || m.model != ""
			}
		}
		if m := p.metrics; len(m) == 2 && (m[0].name != m[1].name || m[0].name == atomic || m[0].name == interrupted) {
			return nil, fmt.Errorf("{%s}: %s and %s cannot be compared; expected one metric, such as p50, of both", p.inside,
				m[0].name, m[1].name)
		}
		s.parts = append(s.parts, p)
	}
	s.parts = append(s.parts, part{text: text[end:]})
	return s, nil
}

// parseMetric reads OPERATION.METRIC and what may follow it.
func parseMetric(text string) (metric, error) {
	found := metricForm.FindStringSubmatch(text)
	if found == nil {
		return metric{}, fmt.Errorf("%q is no metric; expected one such as list.requests, or list.p50 of MODEL in PHASE at %s",
			text, last)
	}
	m := metric{found[1], found[2], found[3], found[4], found[5]}
	if !slices.Contains(metrics, m.name) {
		return m, strict.Unknown("metric", m.name, metrics...)
	}
	return m, nil
}
