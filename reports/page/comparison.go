package page

import (
	"io"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/glossary"
)

// comparisonView shows two sides: what is worse, what is better, and the rest.
type comparisonView struct {
	*compare.Comparison
	Changed, Rest       []comparisonLine
	Operations, Columns []glossary.Term
}

// Bad reports whether a figure fails the comparison.
func (v *comparisonView) Bad() bool { return len(v.Regressions) > 0 }

type comparisonLine struct {
	*compare.Line
	Bar *ratioBar
}

// Bad reports whether the figure is worse.
func (l comparisonLine) Bad() bool { return l.Verdict == compare.Worse }

// ratioBar draws a ratio with its interval on a logarithmic axis from a half to the double.
type ratioBar struct {
	Width, Height, Middle float64
	From, To              float64 // the band within the limit
	Low, High, At         float64 // the interval and the ratio
}

// Comparison writes the page of a comparison: what differs first, the worst above.
func Comparison(w io.Writer, c *compare.Comparison) error {
	v := &comparisonView{Comparison: c, Operations: glossary.Operations(), Columns: glossary.Columns()}
	lines := c.Lines()
	for i := range lines {
		l := comparisonLine{&lines[i], newRatioBar(lines[i].Figure)}
		if l.Changed() {
			v.Changed = append(v.Changed, l)
		} else {
			v.Rest = append(v.Rest, l)
		}
	}
	rank := func(l comparisonLine) int {
		switch {
		case l.Bad() && l.Gate:
			return 0
		case l.Bad():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(v.Changed, func(a, b comparisonLine) int { return rank(a) - rank(b) })
	return execute(w, "comparison", v)
}

// newRatioBar is nil without a ratio.
func newRatioBar(f *compare.Figure) *ratioBar {
	if f.Ratio == nil || *f.Ratio <= 0 {
		return nil
	}
	b := &ratioBar{Width: 120, Height: 14, Middle: 7}
	x := func(ratio float64) float64 {
		return (1 + min(1, max(-1, math.Log2(ratio)))) / 2 * b.Width
	}
	b.From, b.To, b.At = x(1/(1+f.Limit)), x(1+f.Limit), x(*f.Ratio)
	b.Low, b.High = b.At, b.At
	if f.Low != nil && f.High != nil {
		b.Low, b.High = x(*f.Low), x(*f.High)
	}
	return b
}

// Band is the width of the band within the limit.
func (b *ratioBar) Band() float64 { return b.To - b.From }
