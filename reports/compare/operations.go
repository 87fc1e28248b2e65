package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// operation is what figures are of: an operation of a whole phase, or of one of the streams
// that the phase runs at once.
type operation struct{ stream, op string }

// String is the operation, or STREAM:OPERATION.
func (s operation) String() string {
	if s.stream == "" {
		return s.op
	}
	return results.StreamOp(s.stream, s.op)
}

func (f *Figure) operation() operation { return operation{f.Stream, f.Op} }

// of is the operation in the trial, and its cell. If the trial does not have the operation, it
// is one that was never attempted.
func (t *trial) of(s operation) (*results.Cell, results.Op) {
	if s.stream == "" {
		return t.cell, t.cell.Ops[s.op]
	}
	if one := t.cell.Stream(s.stream); one != nil {
		return t.cell.Alone(one), one.Ops[s.op]
	}
	return t.cell, results.Op{}
}

// streams are the names of the streams of some trials, in their order.
func streams(trials []trial) (names []string) {
	for _, t := range trials {
		for i := range t.cell.Streams {
			if name := t.cell.Streams[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// streamsAlone says which streams only one side has.
func (p *pair) streamsAlone() (notes []string) {
	base, fresh := streams(p.base), streams(p.new)
	for _, side := range []struct {
		name         string
		have, others []string
	}{{"base", base, fresh}, {"new", fresh, base}} {
		for _, name := range side.have {
			if !slices.Contains(side.others, name) {
				notes = append(notes, fmt.Sprintf("only %s has stream %s: its metrics are not compared", side.name, name))
			}
		}
	}
	return notes
}

// operations are the operations that both sides carried out: first the search for the highest
// rate, then operations of the phase, then those of its streams, each the most frequent first.
// An operation of a single stream is listed for that stream only: the phase has the same
// figures.
func (p *pair) operations() []operation {
	all := p.carriedOut("")
	var own []operation
	for _, name := range streams(p.base) {
		own = append(own, p.carriedOut(name)...)
	}
	all = slices.DeleteFunc(all, func(s operation) bool {
		return slices.ContainsFunc(own, func(of operation) bool { return of.op == s.op && p.onlyIn(of) })
	})
	if all = append(all, own...); p.searched() {
		all = append([]operation{searched}, all...)
	}
	return all
}

// carriedOut are the operations of a stream, or of the phase, that both sides carried out, the most
// frequent first.
func (p *pair) carriedOut(stream string) []operation {
	attempted := func(trials []trial) map[string]int64 {
		most := map[string]int64{}
		for _, t := range trials {
			ops := t.cell.Ops
			if stream != "" {
				ops = nil
				if one := t.cell.Stream(stream); one != nil {
					ops = one.Ops
				}
			}
			for name, o := range ops {
				most[name] = max(most[name], o.Attempted())
			}
		}
		return most
	}
	base, fresh := attempted(p.base), attempted(p.new)
	var all []operation
	for name, n := range base {
		if n > 0 && fresh[name] > 0 {
			all = append(all, operation{stream, name})
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(cmp.Compare(base[b.op], base[a.op]), cmp.Compare(a.op, b.op))
	})
	return all
}

// onlyIn reports whether in all trials all operations of that name were of that stream.
func (p *pair) onlyIn(s operation) bool {
	for _, t := range slices.Concat(p.base, p.new) {
		whole, own := t.cell.Ops[s.op], results.Op{}
		if _, own = t.of(s); own.Attempted() != whole.Attempted() {
			return false
		}
	}
	return true
}
