package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/growth"
)

// Counters depend on the code and on the messages that operations found. Runs
// with the same plan have the same operations, but which existing message an operation
// finds depends on what others did before it.
const (
	// knownErrors is how many standard errors two means must be apart. By chance that
	// happens to one counter in 10⁹, so no correction for many counters is needed.
	knownErrors = 6
	// knownOperations is how many operations it takes to know their deviation.
	knownOperations = 30
	// leastChange is a change of a mean that is more than rounding.
	leastChange = 1e-6
)

// count is a counter over all trials of a side. N is how many operations it is of.
type count struct{ mean, deviation, n float64 }

// pooled puts trials together.
func pooled(trials []observed, m *Measure) count {
	var n, sum, squares float64
	for i := range trials {
		o := &trials[i].op
		of := float64(o.Attempted())
		if of == 0 {
			continue
		}
		mean, deviation := m.count(o)
		n += of
		sum += of * mean
		squares += of * (deviation*deviation + mean*mean)
	}
	mean := sum / n
	return count{mean, math.Sqrt(max(0, squares/n-mean*mean)), n}
}

// judgeCount sets the verdict of a counter.
func (p *pair) judgeCount(f *Figure) {
	b, n := pooled(f.of.in[0], f.kind), pooled(f.of.in[1], f.kind)
	f.Base, f.New = &b.mean, &n.mean
	change := math.Abs(n.mean - b.mean)
	relative, floor, errors := change/b.mean, f.Limit*b.mean, f.Name == "errors"
	if errors { // errors are a share of operations already
		relative, floor = change, max(floor, f.Limit)
	} else if b.mean > 0 {
		ratio := n.mean / b.mean
		f.Ratio = &ratio
	}
	more, matters := n.mean > b.mean, relative >= f.Limit
	switch {
	case change <= leastChange*max(1, b.mean):
		f.Verdict = Same
		return
	case errors:
	case !f.of.equallyOften():
		f.cannotTell("the runs did not execute the same operations")
		return
	case p.sequential():
		f.Exact = true
		f.differs(more, matters)
		return
	case p.judgePaired(f, change, matters, b.mean, more):
		return
	}
	err := math.Hypot(b.deviation/math.Sqrt(b.n), n.deviation/math.Sqrt(n.n))
	switch {
	case min(b.n, n.n) < knownOperations:
		f.cannotTell(fmt.Sprintf("fewer than %d operations", knownOperations))
	case matters && change >= knownErrors*err:
		f.Exact = err == 0
		f.differs(more, true)
	case change+knownErrors*err <= floor:
		f.Verdict = Same
	default:
		f.cannotTell("which messages operations find is chance, and the difference is within it")
	}
}

// equallyOften reports whether both sides attempted the operation equally often in
// each trial. They do in an open loop, and if a phase ends after a number of operations.
func (s *series) equallyOften() bool {
	var attempted [2]int64
	for side, in := range s.in {
		for i := range in {
			attempted[side] += in[i].op.Attempted()
		}
	}
	return attempted[0]*int64(len(s.in[1])) == attempted[1]*int64(len(s.in[0]))
}

// judgePaired sets the verdict of a counter by trials of one number, which draw the same operations on both
// sides: there the counter differs by the code and by what operations found by chance. The trials themselves
// say how large that chance is: single operations differ much more from each other, since they are of
// unlike messages. It returns false if the sides do not have the same trials, each with the same number of
// operations, if there are fewer than leastTrials of them, or if they do not decide.
func (p *pair) judgePaired(f *Figure, change float64, matters bool, b float64, more bool) bool {
	base, new := slices.Clone(f.of.in[0]), slices.Clone(f.of.in[1])
	if len(base) < leastTrials || !p.sameTrials() {
		return false
	}
	byNumber := func(a, b observed) int { return a.cell.Trial - b.cell.Trial }
	slices.SortStableFunc(base, byNumber)
	slices.SortStableFunc(new, byNumber)
	differences := make([]float64, len(base))
	for i := range base {
		x, y := &base[i].op, &new[i].op
		if x.Attempted() == 0 || x.Attempted() != y.Attempted() {
			return false
		}
		was, _ := f.kind.count(x)
		is, _ := f.kind.count(y)
		differences[i] = is - was
	}
	// How far the mean of the differences may be from what more trials would give, with
	// a millionth of a doubt: 0 if all trials have the same difference.
	_, chance := growth.Mean(differences, 1e-6)
	switch {
	case matters && change > chance:
		f.Exact = chance <= leastChange*max(1, b)
		f.differs(more, true)
	case change+chance <= f.Limit*b:
		f.Verdict = Same
	default:
		return false
	}
	return true
}
