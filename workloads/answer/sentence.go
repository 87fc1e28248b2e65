// Package answer fills in the sentences with which a workload answers its question. A sentence is text
// with figures of the results in braces:
//
//	{list.calls of james at 1000}                     a figure of an operation
//	{list.p50 of oracle / list.p50 of james}          how many times the second the first is
//	{from list.p50 of james < list.p50 of oracle}     the value of the sweep from which on that holds
//	{move.atomic in hundred}                          "atomic", or "not atomic"
//	{move.interrupted in broken}                      what it leaves where it is interrupted
//	{row-cache.hits of elasticinbox}                  the share of reads that the engine's cache of rows answered
//	{smallest}, {largest}                             the first and the last value of the sweep
//
// of names a model, in a measured phase, and at a value of the sweep (also smallest or largest). A
// sentence that names no model is said of each. A sentence is replaced by "inconclusive" and the
// reason, if a metric is not known or a difference is within the noise (package trials).
package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/results"
)

// Sentence is a sentence as it was written.
type Sentence struct{ parts []part }

// part is plain text, or the text in braces.
type part struct {
	kind kind
	text string
	a, b figure
}

type kind uint8

const (
	plain    kind = iota
	value         // a
	ratio         // a / b
	from          // from a < b
	smallest      // of the sweep's values
	largest
)

// figure names a figure of an operation. Model, phase and point are "" where the sentence does not say.
type figure struct {
	op, name, model, phase, point string
}

// atomic says whether an operation is all or nothing.
const atomic = "atomic"

// interrupted says what an interrupted operation leaves.
const interrupted = "interrupted"

// rowCache replaces the operation of others: the cache is the engine's, for all operations of a phase.
const (
	rowCache = "row-cache"
	hits     = "hits"
)

// The words for the ends of a sweep.
const (
	first = "smallest"
	last  = "largest"
)

// figures are the names of all figures of operations.
var figures = []string{
	string(results.Calls), string(results.Examined), string(results.Rows), string(results.Bytes),
	string(results.BytesRead), string(results.BytesWritten), string(results.P50), string(results.P99), atomic,
	interrupted,
}

// String is the figure as one writes it.
func (f figure) String() string {
	s := f.op + "." + f.name
	for _, q := range [][2]string{{" of ", f.model}, {" in ", f.phase}, {" at ", f.point}} {
		if q[1] != "" {
			s += q[0] + q[1]
		}
	}
	return s
}

// Parse reads a sentence.
func Parse(text string) (*Sentence, error) {
	s := &Sentence{}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("a } has no { before it")
		}
		if before != "" {
			s.parts = append(s.parts, part{text: before})
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("{%s has no closing }", after)
		}
		p, err := parsePart(inside)
		if err != nil {
			return nil, fmt.Errorf("{%s}: %w", inside, err)
		}
		s.parts, rest = append(s.parts, p), behind
	}
	return s, nil
}

// parsePart reads the text in braces.
func parsePart(text string) (part, error) {
	words := strings.Fields(text)
	p := part{kind: value, text: text}
	switch {
	case len(words) == 1 && words[0] == first:
		return part{kind: smallest, text: first}, nil
	case len(words) == 1 && words[0] == last:
		return part{kind: largest, text: last}, nil
	case len(words) > 0 && words[0] == "from":
		p.kind, words = from, words[1:]
	}
	sign := map[kind]string{value: "/", from: "<"}[p.kind]
	at := slices.Index(words, sign)
	if at < 0 && p.kind == from {
		return p, fmt.Errorf("expected two metrics with < between them, such as list.calls < open.calls")
	}
	var err error
	if at >= 0 {
		if p.kind == value {
			p.kind = ratio
		}
		if p.b, err = parseFigure(words[at+1:]); err != nil {
			return p, err
		}
		words = words[:at]
	}
	if p.a, err = parseFigure(words); err != nil {
		return p, err
	}
	if at >= 0 && (p.a.name != p.b.name || slices.Contains([]string{atomic, interrupted, hits}, p.a.name)) {
		return p, fmt.Errorf("%s and %s cannot be compared; expected one metric, such as p50, of both", p.a.name, p.b.name)
	}
	return p, nil
}

// parseFigure reads OPERATION.FIGURE and what may follow it.
func parseFigure(words []string) (f figure, err error) {
	if len(words) == 0 {
		return f, fmt.Errorf("expected a metric such as list.calls")
	}
	var ok bool
	if f.op, f.name, ok = strings.Cut(words[0], "."); !ok {
		return f, fmt.Errorf("%q is no metric; expected one such as list.calls, %s or %s", words[0], first, last)
	}
	known := figures
	switch f.op {
	case results.PartitionOp:
		known = []string{string(results.PartitionSize)}
	case rowCache:
		known = []string{hits}
	}
	if !slices.Contains(known, f.name) {
		return f, strict.Unknown("metric", f.name, known...)
	}
	for rest := words[1:]; len(rest) > 0; rest = rest[2:] {
		to := map[string]*string{"of": &f.model, "in": &f.phase, "at": &f.point}[rest[0]]
		if to == nil {
			return f, strict.Unknown("word", rest[0], "of", "in", "at")
		}
		if len(rest) < 2 || *to != "" {
			return f, fmt.Errorf("expected one name after %q", rest[0])
		}
		*to = rest[1]
	}
	return f, nil
}

// figures are the figures of the sentence.
func (s *Sentence) figures() (all []figure) {
	for _, p := range s.parts {
		if p.kind == value || p.kind == ratio || p.kind == from {
			all = append(all, p.a)
		}
		if p.kind == ratio || p.kind == from {
			all = append(all, p.b)
		}
	}
	return all
}
