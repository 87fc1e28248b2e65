package compare

import (
	"slices"

	"github.com/mailbench/mailbench/reports/growth"
)

// Trials of one number draw the same operations on both sides. A counted figure of such trials
// differs by the code and by what operations found by chance. The trials themselves tell how
// large that chance is: single operations differ much more from each other, since they are of
// unlike messages.

// pairedMeans are the means of a counted figure in the trials of both sides, trial by trial. They
// are nil if the sides do not have the same trials, each with the same number of operations, or
// fewer than leastTrials of them.
func (p *pair) pairedMeans(s operation, f *figure) (base, new []float64) {
	if len(p.base) < leastTrials || len(p.base) != len(p.new) || !p.sameTrials() {
		return nil, nil
	}
	byNumber := func(trials []trial) []trial {
		sorted := slices.Clone(trials)
		slices.SortStableFunc(sorted, func(a, b trial) int { return a.cell.Trial - b.cell.Trial })
		return sorted
	}
	b, n := byNumber(p.base), byNumber(p.new)
	for i := range b {
		_, x := b[i].of(s)
		_, y := n[i].of(s)
		if x.Attempted() == 0 || x.Attempted() != y.Attempted() {
			return nil, nil
		}
		was, _, _ := f.count(&x)
		is, _, _ := f.count(&y)
		base, new = append(base, was), append(new, is)
	}
	return base, new
}

// pairedError is how far the mean of the differences may be from what more trials would give, with
// a millionth of a doubt: 0 if all trials have the same difference.
func pairedError(base, new []float64) float64 {
	differences := make([]float64, len(base))
	for i := range base {
		differences[i] = new[i] - base[i]
	}
	_, half := growth.Mean(differences, 1e-6)
	return half
}

// compareTurns compares a counted figure by the means of paired trials. It returns false if there
// are no such trials, or if they do not tell.
func (p *pair) compareTurns(f *Figure, change, relative, b float64, more bool) bool {
	base, new := p.pairedMeans(f.operation(), f.kind)
	if base == nil {
		return false
	}
	chance := pairedError(base, new)
	switch {
	case relative >= f.Limit && change > chance:
		f.Exact = chance <= leastChange*max(1, b)
		f.differs(more, true)
	case change+chance <= f.Limit*b:
		f.Verdict = Same
	default:
		return false
	}
	return true
}
