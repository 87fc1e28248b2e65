package answer

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// of is the model that a figure is of.
func (w *filling) of(f figure) string {
	if f.model != "" {
		return f.model
	}
	return w.model
}

// cells are those of the figure's model, point and phase.
func (w *filling) cells(f figure) iter.Seq[*results.Cell] {
	point := w.point(f.point)
	return func(yield func(*results.Cell) bool) {
		for i := range w.run.Cells {
			c := &w.run.Cells[i]
			wanted := c.Model == w.of(f) && c.Engine == w.engine && c.Point == point && (f.phase == "" || c.Phase == f.phase)
			if wanted && !yield(c) {
				return
			}
		}
	}
}

// column are the trials that have the operation of the figure.
func (w *filling) column(f figure) (cs trials.Column, why string) {
	ran := slices.ContainsFunc(w.run.Cells, func(c results.Cell) bool {
		return c.Model == w.of(f) && c.Engine == w.engine && c.Measured()
	})
	for c := range w.cells(f) {
		if _, ok := c.Ops[f.op]; ok && c.Measured() {
			cs = append(cs, c)
		}
	}
	row, ok := cs.Row(f.op)
	switch {
	case !ran:
		return nil, fmt.Sprintf("%s did not run on %s", w.of(f), w.engine)
	case !ok:
		return nil, fmt.Sprintf("%s was not measured", f)
	case !row.Op.Offered():
		return nil, fmt.Sprintf("%s does not support %s", w.of(f), f.op)
	case row.Op.Count == 0:
		return nil, fmt.Sprintf("no %s of %s was ok", f.op, w.of(f))
	}
	for _, name := range strings.Split(row.Op.Fallback, ", ") {
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
	if of.Counted() {
		v = cs.Counted(f.op, of)
	} else {
		v = cs.Timed(f.op, of)
	}
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
	s := w.schema(w.of(f))
	row, _ := cs.Row(f.op)
	changes, whole := 0.0, true
	for _, ran := range row.Op.Patterns {
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
		if p.Fallback != nil && slices.Contains(strings.Split(row.Op.Fallback, ", "), p.Fallback.Name) {
			p = p.Fallback
		}
		changes += ran.Calls
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
	for c := range w.cells(f) {
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
	for c := range w.cells(f) {
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

// schema is the schema that a model ran with, or nil.
func (w *filling) schema(model string) *schemas.Schema {
	if s, ok := w.schemas[model]; ok {
		return s
	}
	w.schemas[model] = nil
	for _, s := range w.run.Schemas {
		if s.Model == model {
			if parsed, err := schemas.Parse(s.Model, []byte(s.Text)); err == nil {
				w.schemas[model] = parsed
			}
		}
	}
	return w.schemas[model]
}
