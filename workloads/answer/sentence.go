// Package answer fills in the sentences with which a workload answers its question. A sentence is text
// with figures of the results in braces:
//
//	{list.requests of james at 1000}                     a figure of an operation
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
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Sentence is a sentence as it was written.
type Sentence struct {
	parts   []part
	figures []figure // of operations
}

// part is plain text, or the text in braces.
type part struct {
	kind kind
	text string
	a, b figure
}

type kind uint8

const (
	plain kind = iota
	value      // a
	ratio      // a / b
	from       // from a < b
	end        // the smallest or the largest of the sweep's values
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
	string(results.Requests), string(results.Examined), string(results.Rows), string(results.Bytes),
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
		if s.parts, rest = append(s.parts, p), behind; p.kind != end {
			s.figures = append(s.figures, p.a)
		}
		if p.kind == ratio || p.kind == from {
			s.figures = append(s.figures, p.b)
		}
	}
	return s, nil
}

// parsePart reads the text in braces.
func parsePart(text string) (part, error) {
	words := strings.Fields(text)
	p := part{kind: value, text: text}
	switch {
	case len(words) == 1 && (words[0] == first || words[0] == last):
		return part{kind: end, text: words[0]}, nil
	case len(words) > 0 && words[0] == "from":
		p.kind, words = from, words[1:]
	}
	sign := map[kind]string{value: "/", from: "<"}[p.kind]
	at := slices.Index(words, sign)
	if at < 0 && p.kind == from {
		return p, fmt.Errorf("expected two metrics with < between them, such as list.requests < open.requests")
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
		return f, fmt.Errorf("expected a metric such as list.requests")
	}
	var ok bool
	if f.op, f.name, ok = strings.Cut(words[0], "."); !ok {
		return f, fmt.Errorf("%q is no metric; expected one such as list.requests, %s or %s", words[0], first, last)
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

// of is the model that a figure is of.
func (w *filling) of(f figure) string {
	if f.model != "" {
		return f.model
	}
	return w.model
}

// cells are those of the figure's model, point and phase.
func (w *filling) cells(f figure) []*results.Cell {
	point := w.point(f.point)
	return w.run.Select(func(c *results.Cell) bool {
		return c.Model == w.of(f) && c.Engine == w.engine && c.Point == point && (f.phase == "" || c.Phase == f.phase)
	})
}

// column are the trials that have the operation of the figure.
func (w *filling) column(f figure) (cs trials.Column, why string) {
	ran := slices.ContainsFunc(w.run.Cells, func(c results.Cell) bool {
		return c.Model == w.of(f) && c.Engine == w.engine && c.Measured()
	})
	for _, c := range w.cells(f) {
		if _, ok := c.Ops[f.op]; ok && c.Measured() {
			cs = append(cs, c)
		}
	}
	row := cs.Row(f.op)
	switch {
	case !ran:
		return nil, fmt.Sprintf("%s did not run on %s", w.of(f), w.engine)
	case row.Trials == 0:
		return nil, fmt.Sprintf("%s was not measured", f)
	case !row.Sum.Offered():
		return nil, fmt.Sprintf("%s does not support %s", w.of(f), f.op)
	case row.Sum.Count == 0:
		return nil, fmt.Sprintf("no %s of %s succeeded", f.op, w.of(f))
	}
	for _, name := range strings.Split(row.Sum.Fallback, ", ") {
		if name != "" && !slices.Contains(w.emulated, name) {
			w.emulated = append(w.emulated, name)
		}
	}
	return cs, ""
}

// figure is the value of a figure, or why it is not known.
func (w *filling) figure(f figure) (v trials.Value, why string) {
	if f.op == results.PartitionOp {
		return w.partition(f)
	}
	cs, why := w.column(f)
	if why != "" {
		return v, why
	}
	of := results.Figure(f.name)
	v = cs.Value(f.op, of)
	switch {
	case v.Known && !math.IsInf(v.Median, 1):
		return v, ""
	case v.Known:
		return v, fmt.Sprintf("%s lies among operations that never ended", f)
	case !of.Counted():
		for _, c := range cs {
			if c.Verdict != results.OK {
				return v, fmt.Sprintf("%s is not compared, since the verdict is %s", f, c.Verdict)
			}
		}
		return v, fmt.Sprintf("%s is not known well enough", f)
	}
	return v, fmt.Sprintf("%s is not known", f)
}

// partition is the forecast of the largest partition.
func (w *filling) partition(f figure) (v trials.Value, why string) {
	if w.run.Sweep != nil {
		for _, p := range w.run.Sweep.Points {
			for _, part := range p.Partitions {
				if p.Value == w.point(f.point) && part.Model == w.of(f) && part.Engine == w.engine {
					return trials.Of([]float64{part.Bytes}), ""
				}
			}
		}
	}
	return v, fmt.Sprintf("there is no forecast of %s", f)
}

// atomic says whether an operation changes all or nothing: it makes one change, which is one write or
// an atomic batch.
func (w *filling) atomic(f figure) (text, why string) {
	cs, why := w.column(f)
	if why != "" {
		return "", why
	}
	var s *schemas.Schema
	for _, stored := range w.run.Schemas {
		if stored.Model == w.of(f) {
			s, _ = schemas.ParseStored(stored.Model, []byte(stored.Text)) // nil if it cannot be read
		}
	}
	row := cs.Row(f.op)
	changes, whole := 0.0, true
	for _, ran := range row.Sum.Patterns {
		var p *schemas.Pattern
		if s != nil {
			p = s.Pattern(ran.Name)
		}
		if p == nil {
			return "", fmt.Sprintf("the schema of %s does not declare %s", w.of(f), ran.Name)
		}
		if p.Kind.Reads() {
			continue
		}
		if p.Fallback != nil && slices.Contains(strings.Split(row.Sum.Fallback, ", "), p.Fallback.Name) {
			p = p.Fallback
		}
		changes += ran.Requests
		whole = whole && (p.Kind != schemas.Batch || p.Atomic != schemas.AtomicNone)
	}
	switch {
	case changes == 0:
		return "", fmt.Sprintf("%s of %s changes nothing", f.op, w.of(f))
	case whole && changes <= 1+1e-9:
		return "atomic", ""
	}
	return "not atomic", ""
}

// interrupted says what an operation leaves where it is interrupted, if that is the same in all trials.
func (w *filling) interrupted(f figure) (text, why string) {
	for _, c := range w.cells(f) {
		for j := range c.Interrupted {
			one := &c.Interrupted[j]
			switch {
			case one.Op != f.op:
			case text != "" && text != one.Text():
				return "", fmt.Sprintf("the trials of %s differ in the state after a %s", w.of(f), f.op)
			default:
				text = one.Text()
			}
		}
	}
	if text == "" {
		return "", fmt.Sprintf("no %s of %s on %s was interrupted", f.op, w.of(f), w.engine)
	}
	return text, ""
}

// rowCache is which share of the reads that used the engine's cache of rows it answered during a phase.
func (w *filling) rowCache(f figure) (text, why string) {
	var asked, found int64
	for _, c := range w.cells(f) {
		if c.Measured() && c.Before != nil && c.Engines != nil {
			asked += c.Engines.RowCacheReads - c.Before.RowCacheReads
			found += c.Engines.RowCacheHits - c.Before.RowCacheHits
		}
	}
	if asked <= 0 {
		return "", fmt.Sprintf("no read of %s used a row cache; on %s there is none, or it has no size", w.of(f), w.engine)
	}
	return fmt.Sprintf("%.0f%%", 100*float64(found)/float64(asked)), ""
}
