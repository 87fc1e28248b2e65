package page

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/document"
)

// sectionView is a section of a document as the template shows it.
type sectionView struct {
	*document.Section
	Place    string          // what its name ends with
	Groups   []span          // titles over several columns; none if no column has one
	Ticks    []document.Tick // of the axis of ranges, in the units of rangeWidth
	Drawn    string          // explains ranges or shades
	Min, Max float64         // values beyond these are drawn there, with an arrow
	ranges   scale           // the axis of ranges
	Charts   []chart
	Legend   []line
	Made     *provenance
}

// First reports whether the section is on the first screen.
func (v *sectionView) First() bool { return !v.Fold && v.Made == nil }

// Listed reports whether the list of sections has this one.
func (v *sectionView) Listed() bool { return v.Title != "" && (v.Open || !v.First()) && v.Place == "" }

// span is a title over several columns.
type span struct {
	Text  string
	Width int
}

// rangeWidth is the width of the chart of ranges.
const rangeWidth = 300

// groups are the titles over several columns; none if no column has one.
func (v *sectionView) groups() (all []span) {
	some := false
	for from := 0; from < len(v.Table.Columns); {
		to, group := v.Table.Span(from), v.Table.Columns[from].Group
		all, some = append(all, span{group, to - from}), some || group != ""
		from = to
	}
	if !some {
		return nil
	}
	return all
}

// Heading is the group of a row, if it is not that of the row before.
func (v *sectionView) Heading(row int) string {
	if row > 0 && v.Table.Rows[row-1].Group == v.Table.Rows[row].Group {
		return ""
	}
	return v.Table.Rows[row].Group
}

// X is the place of a value on the axis of ranges, in the units of rangeWidth.
func (v *sectionView) X(value float64) float64 { return v.ranges.Place(min(max(value, v.Min), v.Max)) }

// Box is the width of the box of a range.
func (v *sectionView) Box(r document.Range) float64 {
	return max(1, v.X(r.ThreeQuarters)-v.X(r.Quarter))
}

// farthest is how far an axis of ratios goes from 1, to both sides: a few large ones would leave the others no room.
const farthest = 2

// axis is the logarithmic axis of all ranges of the table, and the text that explains ranges or shades.
func (v *sectionView) axis() {
	low, high := math.Inf(1), 0.0
	axis := document.Axis{Scale: document.Log}
	v.Min, v.Max = 0, math.Inf(1)
	for _, r := range v.Table.Rows {
		for i, c := range r.Cells {
			if slices.Contains(document.Shades[:], c.Style) {
				v.Drawn = v.Table.Columns[i].Help
			}
			if c.Range == nil {
				continue
			}
			low = min(low, c.Range.Low, c.Range.Quarter, c.Range.Typical)
			high = max(high, c.Range.High, c.Range.ThreeQuarters)
			column := &v.Table.Columns[i]
			v.Drawn = column.Title + ": " + column.Help + ", on a logarithmic axis"
			if column.Unit != "ms" { // ratios
				v.Min, v.Max = 1.0/farthest, farthest
				axis.Ticks = []document.Tick{{At: v.Min, Label: "0.5"}, {At: 1, Label: "1"}, {At: v.Max, Label: "2"}}
			}
		}
	}
	if high > 0 {
		const margin = 1.2
		axis.From, axis.To = max(low, v.Min)/margin, min(high, v.Max)*margin
		v.ranges = newScale(&axis, nil, 0, rangeWidth)
		v.Ticks = v.ranges.Ticks
	}
}

// draw draws the charts, with a legend that has each name once.
func (v *sectionView) draw(colors *palette) {
	for i := range v.Section.Charts {
		ch := draw(&v.Section.Charts[i], colors)
		if ch == nil {
			continue
		}
		v.Charts = append(v.Charts, *ch)
		for _, l := range ch.Lines {
			if !slices.ContainsFunc(v.Legend, func(o line) bool { return o.Name == l.Name }) {
				v.Legend = append(v.Legend, line{Name: l.Name, Series: l.Series})
			}
		}
	}
}
